//! One row of the outcome table, as the rest of the world sees it.

use std::ops::RangeInclusive;
use std::time::Duration;

use ikkai::testing::{Bench, MessageBuilder};

use crate::script::{Scripted, captured, counted, line_of, run, visible_in};

const COUNTERS: [&str; 10] = [
    "JobsSucceeded",
    "JobsDuplicate",
    "JobsRetried",
    "JobsContinued",
    "JobsDeferred",
    "JobsRenewed",
    "JobsDead",
    "JobsInDoubt",
    "PoisonSeen",
    "LeaseLost",
];

/// What the rest of the world sees of one message.
pub(crate) struct Seen {
    /// Range of the visibility that was set last; `None`: it was left alone.
    pub(crate) visible_in: Option<RangeInclusive<Duration>>,
    pub(crate) reported: bool,
    pub(crate) metric: Option<&'static str>,
    pub(crate) line: &'static str,
    pub(crate) outcome: &'static str,
}

pub(crate) fn exactly(time: Duration) -> Option<RangeInclusive<Duration>> {
    Some(time..=time)
}

/// Runs `message` alone and compares.
pub(crate) async fn expect(bench: &Bench<Scripted>, message: &MessageBuilder, seen: Seen) {
    let logs = captured();
    let run = run(bench, [message.clone()]).await;
    let id = message.build().message_id.unwrap();
    assert_eq!(run.failed, if seen.reported { vec![id.clone()] } else { Vec::new() }, "the report");
    match (visible_in(bench, message), seen.visible_in) {
        (set, None) => assert_eq!(set, None, "the visibility is left alone"),
        (set, Some(range)) => assert!(set.is_some_and(|set| range.contains(&set)), "visibility {set:?} is not in {range:?}"),
    }
    for counter in COUNTERS {
        assert_eq!(counted(&run, counter), u64::from(seen.metric == Some(counter)), "{counter} in {}", run.metrics);
    }
    let line = line_of(&logs, &id);
    assert_eq!(line["message"], seen.line);
    assert_eq!(line["outcome"], seen.outcome);
    assert_eq!(line["request_id"], "request-1");
    assert_eq!(line["job_type"], "email.send");
}
