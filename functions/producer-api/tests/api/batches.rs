//! Many jobs in one request.

use std::time::Duration;

use ikkai::idempotency::Status;
use ikkai::queue::QueueError;
use ikkai::testing::{QueueFault, StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::bench::{ANN, Bench, down, email, keyed, payload, request};

fn statuses(body: &Value) -> Vec<u64> {
    body["jobs"].as_array().unwrap().iter().map(|job| job["status"].as_u64().unwrap()).collect()
}

fn jobs(count: usize) -> Value {
    (0..count).map(|n| keyed(&format!("k-{n}"), &format!("m-{n}"))).collect()
}

#[tokio::test]
async fn each_job_has_its_verdict_in_order_and_ten_go_out_with_one_call() {
    let bench = Bench::new();
    let answer = bench.post_batch(&jobs(25)).await;
    assert_eq!((answer.status, statuses(&answer.body)), (207, vec![202; 25]));
    let mut calls = bench.send_calls();
    calls.sort_unstable();
    assert_eq!(calls, [5, 10, 10]);
    assert_eq!((bench.store.writes(), bench.store.reads()), (25, 0));
    for (place, record) in [(0, "k-0"), (24, "k-24")] {
        let job_id = answer.body["jobs"][place]["job"]["jobId"].as_str().unwrap();
        let stored = bench.records.all().into_iter().find(|stored| stored.job_id.as_str() == job_id).unwrap();
        assert_eq!(stored.idempotency_key.as_deref(), Some(record));
    }
}

#[tokio::test]
async fn a_bad_job_does_not_hold_back_the_others_and_is_named_by_its_place() {
    let bench = Bench::new();
    let batch = json!([
        keyed("a", "m"),
        {"type": "email.send", "idempotencyKey": "b", "payload": {"deliveryId": "m", "templateId": "w"}},
        email("without-key"),
        {"type": "email.sent", "idempotencyKey": "d", "payload": {}},
        7,
        keyed("f", "m")
    ]);
    let answer = bench.post_batch(&batch).await;
    assert_eq!(statuses(&answer.body), [202, 422, 400, 400, 400, 202]);
    assert_eq!(answer.body["jobs"][1]["problem"]["errors"][0]["pointer"], "/jobs/1/payload/userId");
    assert_eq!(answer.body["jobs"][2]["problem"]["code"], "idempotency_key_missing");
    assert_eq!(answer.body["jobs"][3]["problem"]["errors"][0]["pointer"], "/jobs/3/type");
    assert_eq!(answer.body["jobs"][4]["problem"]["errors"][0]["pointer"], "/jobs/4");
    assert_eq!(bench.send_calls(), [2]);
}

#[tokio::test]
async fn a_job_that_stands_twice_has_one_record_and_one_verdict() {
    let bench = Bench::new();
    let answer = bench.post_batch(&json!([keyed("k", "m"), keyed("k", "m"), keyed("k", "other"), keyed("l", "m")])).await;
    assert_eq!(statuses(&answer.body), [202, 202, 422, 202]);
    assert_eq!(answer.body["jobs"][0], answer.body["jobs"][1]);
    assert_eq!(answer.body["jobs"][2]["problem"]["code"], "idempotency_key_reused");
    assert_eq!((bench.records.all().len(), bench.sent().len()), (2, 2));
}

#[tokio::test]
async fn entries_that_the_queue_refuses_are_503_and_the_others_are_not() {
    let bench = Bench::new();
    bench.queue.fail_next(QueueFault::FailEntries(vec![
        (1, down()),
        (3, QueueError::Refused { operation: "SendMessageBatch", code: "x".into() }),
    ]));
    let answer = bench.post_batch(&jobs(5)).await;
    assert_eq!(statuses(&answer.body), [202, 503, 202, 503, 202]);
    assert_eq!(answer.body["jobs"][1]["problem"]["retryAfterSeconds"], 1);
    let again = bench.post_batch(&jobs(5)).await;
    assert_eq!(statuses(&again.body), [202; 5]);
    assert_eq!(bench.sent().len(), 5);
}

#[tokio::test]
async fn a_send_call_that_fails_is_503_for_its_own_ten_only() {
    let bench = Bench::new();
    bench.post("before", &email("m")).await;
    bench.queue.fail_next(QueueFault::Refuse(down()));
    let answer = bench.post_batch(&jobs(20)).await;
    let mut verdicts = statuses(&answer.body);
    verdicts.sort_unstable();
    assert_eq!(verdicts, [vec![202; 10], vec![503; 10]].concat());
    let again = bench.post_batch(&jobs(20)).await;
    assert!(statuses(&again.body).iter().all(|status| *status == 202));
    assert_eq!(bench.sent().len(), 21);
}

#[tokio::test]
async fn a_record_that_cannot_be_written_is_503_and_its_message_is_not_sent() {
    let bench = Bench::new();
    bench.store.fail_next(StoreCall::Create, StoreFault::Throttle);
    let answer = bench.post_batch(&jobs(3)).await;
    assert_eq!(statuses(&answer.body), [503, 202, 202]);
    assert_eq!(bench.send_calls(), [2]);
}

#[tokio::test]
async fn known_jobs_are_answered_from_their_records() {
    let bench = Bench::new();
    bench.post("k-1", &email("m-1")).await;
    bench.change(|record| record.status = Status::Dead);
    let answer = bench.post_batch(&jobs(3)).await;
    assert_eq!(statuses(&answer.body), [202, 200, 202]);
    assert_eq!(answer.body["jobs"][1]["job"]["status"], "dead");
    assert_eq!((&answer.body["jobs"][0]["replayed"], &answer.body["jobs"][1]["replayed"]), (&json!(false), &json!(true)));
    assert_eq!(bench.sent().len(), 3);
}

#[tokio::test]
async fn single_and_batch_name_the_same_job() {
    let bench = Bench::new();
    let single = bench.post("k", &email("m")).await;
    bench.advance(6);
    let batch = bench.post_batch(&json!([keyed("k", "m")])).await;
    assert_eq!(batch.body["jobs"][0]["job"]["jobId"], single.job_id());
}

#[tokio::test]
async fn every_job_goes_to_the_queue_of_its_type() {
    let bench = Bench::new();
    let report = json!({"type": "report.generate", "idempotencyKey": "r", "payload": payload("r"), "data": {}});
    let answer = bench.post_batch(&json!([keyed("a", "m"), report, keyed("b", "m")])).await;
    assert_eq!(statuses(&answer.body), [202, 202, 202]);
    assert_eq!((bench.sent().len(), bench.reports.sent().len()), (2, 1));
}

#[tokio::test]
async fn a_batch_has_one_to_a_hundred_jobs_and_nothing_else() {
    let bench = Bench::new();
    assert_eq!(bench.post_batch(&jobs(100)).await.status, 207);
    for wrong in [jobs(101), json!([]), json!({}), json!("x")] {
        let answer = bench.post_batch(&wrong).await;
        assert_eq!((answer.status, answer.code(), answer.pointers()), (400, "request_invalid", vec!["/jobs"]));
    }
    let extra = bench.event(&request(ANN, "POST", "/v1/jobs/batch", &[], &json!({"jobs": [keyed("a", "m")], "job": 1}))).await;
    assert_eq!((extra.status, extra.pointers()), (400, vec!["/job"]));
}

#[tokio::test]
async fn a_batch_refuses_a_key_for_the_whole() {
    let bench = Bench::new();
    let answer = bench
        .event(&request(ANN, "POST", "/v1/jobs/batch", &[("idempotency-key", "k")], &json!({"jobs": [keyed("a", "m")]})))
        .await;
    assert_eq!((answer.status, answer.code()), (400, "idempotency_key_invalid"));
}

#[tokio::test]
async fn a_thousand_jobs_in_batches_are_a_thousand_records_and_messages() {
    let bench = Bench::new();
    for batch in 0..10 {
        let jobs: Value = (0..100).map(|n| keyed(&format!("k-{batch}-{n}"), "m")).collect();
        assert_eq!(statuses(&bench.post_batch(&jobs).await.body), [202; 100]);
    }
    let bodies: std::collections::BTreeSet<_> = bench.sent().into_iter().map(|message| message.body).collect();
    assert_eq!((bench.records.all().len(), bodies.len(), bench.send_calls().len()), (1_000, 1_000, 100));
}

#[tokio::test(start_paused = true)]
async fn a_large_batch_needs_no_more_connections_than_the_function_opened_at_its_start() {
    let bench = Bench::new();
    bench.store.set_latency(Duration::from_millis(100));
    let batch = jobs(100);
    let mut posting = std::pin::pin!(bench.post_batch(&batch));
    for groups in 1..=9 {
        let waited = tokio::time::timeout(Duration::from_millis(if groups == 1 { 50 } else { 100 }), &mut posting).await;
        assert!(waited.is_err());
        assert_eq!(bench.store.calls().len(), groups * 10, "ten writes at a time");
    }
    assert_eq!(statuses(&posting.await.body), [202; 100]);
    assert_eq!(bench.send_calls(), [10; 10]);
}
