//! The share of attempts that fail: what alarms and the dashboard take for "is something wrong here?".

use ikkai::consumer::Failure;
use ikkai::testing::{BatchRun, Bench, MessageBuilder};
use serde_json::Value;

use crate::script::{Scripted, Step, defer, permanent, retry, run, settings, unfinished};

/// The values of `AttemptsFailed` in a run, in ascending order.
fn values(run: &BatchRun) -> Vec<u64> {
    let lines = run.metrics.lines().map(|line| serde_json::from_str::<Value>(line).expect("a metric line is JSON"));
    let values = lines.filter_map(|line| line.get("AttemptsFailed").cloned());
    let mut values: Vec<u64> = values
        .flat_map(|value| match value {
            Value::Array(values) => values,
            one => vec![one],
        })
        .map(|value| value.as_u64().expect("a whole number"))
        .collect();
    values.sort_unstable();
    values
}

#[tokio::test]
async fn each_attempt_has_one_value_that_says_whether_it_failed() {
    let saves = [Step::Save(serde_json::json!({"rows": 1})), unfinished()];
    let handler = Scripted::new().on("retried", [retry()]).on("dead", [permanent()]).on("continued", saves);
    let bench = Bench::with(handler, settings());
    let batch = ["done", "retried", "dead", "continued"].map(MessageBuilder::email);
    let answer = run(&bench, batch.into_iter().chain([MessageBuilder::new("poison", "{")])).await;
    assert_eq!(values(&answer), [0, 0, 1, 1, 1], "done and continued; retried, dead and poison");
}

#[tokio::test]
async fn what_is_no_attempt_of_ours_has_none() {
    let of_target = Failure::retry("receiver_failed", "the receiver answered 500").of_one_target();
    let handler = Scripted::new().on("deferred", [defer(None)]).on("target", [Step::Fail(of_target)]);
    let bench = Bench::with(handler, settings());
    let done = MessageBuilder::email("done");
    assert_eq!(values(&run(&bench, [done.clone()]).await), [0]);
    let repeated = done.message_id("again");
    let answer = run(&bench, [repeated, MessageBuilder::email("deferred"), MessageBuilder::email("target")]).await;
    assert_eq!(values(&answer), [0; 0], "{}", answer.metrics);
}
