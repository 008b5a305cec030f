//! Jobs that are asked for later.

use std::time::Duration;

use ikkai::idempotency::Status;
use serde_json::{Value, json};

use crate::bench::{Bench, START, down, email, payload};

/// Ten minutes after the bench's start.
const IN_TEN_MINUTES: &str = "2027-01-15T08:10:00Z";

fn at(run_at: &str) -> Value {
    json!({"type": "email.send", "runAt": run_at, "payload": payload("m")})
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

#[tokio::test]
async fn the_queue_holds_the_message_back_and_the_record_knows_the_time() {
    let bench = Bench::new();
    let answer = bench.post("k", &at(IN_TEN_MINUTES)).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    assert_eq!(bench.sent()[0].delay, minutes(10));
    assert_eq!(bench.record().retry_at, Some(START + minutes(10)));
    assert_eq!(bench.get(answer.job_id()).await.body["runAt"], "2027-01-15T08:10:00.000Z");
    bench.change(|record| (record.status, record.retry_at) = (Status::Running, None));
    assert_eq!(bench.get(answer.job_id()).await.body.get("runAt"), None);
}

#[tokio::test]
async fn a_time_that_has_passed_is_now() {
    let bench = Bench::new();
    assert_eq!(bench.post("k", &at("2020-01-01T00:00:00Z")).await.status, 202);
    assert_eq!((bench.sent()[0].delay, bench.record().retry_at), (Duration::ZERO, None));
}

#[tokio::test]
async fn what_is_no_time_or_too_far_ahead_is_refused() {
    let bench = Bench::new();
    for (run_at, code) in [
        ("2027-01-15T08:15:00.001Z", "too_far_ahead"),
        ("2127-01-15T08:15:00Z", "too_far_ahead"),
        ("2027-01-15T08:10:00", "invalid_time"),
        ("in ten minutes", "invalid_time"),
    ] {
        let answer = bench.post("k", &at(run_at)).await;
        assert_eq!((answer.status, answer.code(), answer.pointers()), (400, "request_invalid", vec!["/runAt"]), "{run_at}");
        assert_eq!(answer.body["errors"][0]["code"], code, "{run_at}");
    }
    assert_eq!(bench.post("k", &at("2027-01-15T08:15:00Z")).await.status, 202, "exactly fifteen minutes");
    assert_eq!(bench.sent()[0].delay, minutes(15));
}

#[tokio::test]
async fn a_fifo_queue_cannot_hold_single_messages_back() {
    let bench = Bench::new();
    let report = json!({"type": "report.generate", "runAt": IN_TEN_MINUTES, "payload": payload("m"), "data": {}});
    let answer = bench.post("k", &report).await;
    assert_eq!((answer.status, answer.pointers()), (400, vec!["/runAt"]));
    assert_eq!(answer.body["errors"][0]["code"], "not_on_fifo");
}

#[tokio::test]
async fn a_send_that_is_repeated_waits_for_what_is_left() {
    let bench = Bench::new();
    bench.refuse_next_send(down());
    assert_eq!(bench.post("k", &at(IN_TEN_MINUTES)).await.status, 503);
    bench.advance(240);
    assert_eq!(bench.post("k", &at(IN_TEN_MINUTES)).await.status, 202);
    assert_eq!(bench.sent()[0].delay, minutes(6));
    assert_eq!(bench.record().retry_at, Some(START + minutes(10)));
}

#[tokio::test]
async fn the_same_request_is_recognised_before_and_after_its_time_in_any_notation() {
    let bench = Bench::new();
    let first = bench.post("k", &at(IN_TEN_MINUTES)).await;
    let other = bench.another_sandbox();
    for (seconds, notation) in [(1, "2027-01-15T09:10:00+01:00"), (3_600, IN_TEN_MINUTES)] {
        bench.advance(seconds);
        let again = bench.post("k", &at(notation)).await;
        assert_eq!((again.status, again.job_id()), (202, first.job_id()), "{notation}");
    }
    for (key, job) in [("k", email("m")), ("k", at("2027-01-15T08:10:01Z"))] {
        let answer = other.post(key, &job).await;
        assert_eq!((answer.status, answer.code()), (422, "idempotency_key_reused"), "{job}");
    }
}

#[tokio::test]
async fn each_job_of_a_batch_has_its_own_time() {
    let bench = Bench::new();
    let job =
        |key: &str, run_at: &str| json!({"type": "email.send", "idempotencyKey": key, "runAt": run_at, "payload": payload("m")});
    let answer =
        bench.post_batch(&json!([job("a", IN_TEN_MINUTES), job("b", "2027-01-15T08:01:00Z"), job("c", "no time")])).await;
    let statuses: Vec<_> = answer.body["jobs"].as_array().unwrap().iter().map(|job| job["status"].as_u64()).collect();
    assert_eq!(statuses, [Some(202), Some(202), Some(400)]);
    assert_eq!(answer.body["jobs"][2]["problem"]["errors"][0]["pointer"], "/jobs/2/runAt");
    let delays: Vec<_> = bench.sent().iter().map(|message| message.delay).collect();
    assert_eq!(delays, [minutes(10), minutes(1)]);
}

#[tokio::test]
async fn a_job_that_waits_for_its_time_can_be_cancelled() {
    let bench = Bench::new();
    let answer = bench.post("k", &at(IN_TEN_MINUTES)).await;
    assert_eq!(bench.delete(answer.job_id()).await.status, 200);
    assert_eq!(bench.record().status, Status::Cancelled);
}
