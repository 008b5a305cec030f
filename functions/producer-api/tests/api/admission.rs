//! A queue that is too deep.

use std::time::Duration;

use ikkai::clock::Clock as _;
use ikkai::idempotency::Status;
use ikkai::queue::QueueDepth;
use ikkai::testing::{QueueFault, StoreCall};
use serde_json::json;

use crate::bench::{Bench, down, email, keyed};

fn deep() -> Bench {
    let bench = Bench::with([("IKKAI_MAX_QUEUE_DEPTH", "10")]);
    bench.queue.set_depth(QueueDepth { visible: 10, ..QueueDepth::default() });
    bench
}

#[tokio::test]
async fn new_jobs_are_refused_with_a_time_to_come_back_and_nothing_is_recorded() {
    let bench = deep();
    let answer = bench.post("k", &email("m")).await;
    assert_eq!((answer.status, answer.code()), (429, "queue_too_deep"));
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((30..=45).contains(&seconds), "{seconds}");
    assert_eq!(answer.body["retryAfterSeconds"], seconds);
    assert!(bench.records.all().is_empty() && bench.sent().is_empty());
    assert_eq!(bench.store.calls(), [StoreCall::Get], "looked up, because a replay would be let in");
}

#[tokio::test]
async fn refusals_are_counted() {
    let bench = deep();
    bench.post("k", &email("m")).await;
    bench.post("l", &email("m")).await;
    let mut lines = Vec::new();
    bench.metrics.flush(bench.clock.now(), &mut lines).unwrap();
    let line: serde_json::Value = serde_json::from_slice(&lines).unwrap();
    assert_eq!((&line["AdmissionRejected"], &line["JobType"]), (&json!(2), &json!("email.send")));
}

#[tokio::test]
async fn replays_and_reads_are_exempt() {
    let bench = Bench::with([("IKKAI_MAX_QUEUE_DEPTH", "10")]);
    let first = bench.post("k", &email("m")).await;
    bench.queue.set_depth(QueueDepth { in_flight: 10, ..QueueDepth::default() });
    bench.advance(6);
    assert_eq!(bench.post("k", &email("m")).await.status, 202, "the depth is read beside this one");
    assert_eq!(bench.post("other", &email("m")).await.status, 429);
    bench.change(|record| record.status = Status::Running);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
    assert_eq!(bench.post("k", &email("n")).await.code(), "idempotency_key_reused");
    assert_eq!(bench.get(first.job_id()).await.status, 200);
}

#[tokio::test]
async fn a_failed_send_may_be_repeated_although_the_queue_is_deep() {
    let bench = Bench::with([("IKKAI_MAX_QUEUE_DEPTH", "10")]);
    bench.post("warm", &email("m")).await;
    bench.queue.fail_next(QueueFault::Refuse(down()));
    assert_eq!(bench.post("k", &email("m")).await.status, 503);
    bench.queue.set_depth(QueueDepth { visible: 10, ..QueueDepth::default() });
    bench.advance(6);
    assert_eq!(bench.post("warm", &email("m")).await.status, 202);
    assert_eq!(bench.post("new", &email("m")).await.status, 429);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
}

#[tokio::test]
async fn an_unreadable_depth_lets_jobs_in() {
    let bench = deep();
    bench.queue.fail_next(QueueFault::Refuse(down()));
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
}

#[tokio::test]
async fn in_a_batch_new_jobs_are_refused_and_known_ones_answered() {
    let bench = Bench::with([("IKKAI_MAX_QUEUE_DEPTH", "10")]);
    bench.post("k", &email("m")).await;
    bench.change(|record| record.status = Status::Succeeded);
    bench.queue.set_depth(QueueDepth { visible: 11, ..QueueDepth::default() });
    bench.advance(6);
    bench.post("k", &email("m")).await;
    let answer = bench.post_batch(&json!([keyed("k", "m"), keyed("new", "m")])).await;
    assert_eq!((answer.status, &answer.body["jobs"][0]["status"]), (207, &json!(202)));
    assert_eq!(
        (&answer.body["jobs"][1]["status"], &answer.body["jobs"][1]["problem"]["code"]),
        (&json!(429), &json!("queue_too_deep"))
    );
}

#[tokio::test(start_paused = true)]
async fn only_the_first_request_of_a_sandbox_waits_for_the_depth() {
    let bench = Bench::with([("IKKAI_MAX_QUEUE_DEPTH", "10")]);
    bench.post("first", &email("m")).await;
    bench.advance(6);
    bench.store.set_latency(Duration::from_millis(20));
    bench.queue.set_depth_latency(Duration::from_millis(20));
    let begun = tokio::time::Instant::now();
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
    assert!(begun.elapsed() < Duration::from_millis(30), "the depth is read while the record is written");
}
