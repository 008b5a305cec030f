//! A job is looked up, or cancelled.

use std::time::Duration;

use ikkai::clock::EpochSeconds;
use ikkai::idempotency::{ErrorClass, LastError, Status};
use ikkai::testing::{StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::bench::{ANN, BOB, Bench, START, email, payload, request};

#[tokio::test]
async fn a_job_shows_where_it_stands_and_nothing_private() {
    let bench = Bench::new();
    let job = json!({"type": "report.generate", "businessId": "order-1", "accountId": "acme", "payload": payload("r"), "data": {"secret": "x"}});
    let posted = bench.post("private-key", &job).await;
    bench.advance(61);
    bench.change(|record| {
        record.status = Status::RetryScheduled;
        record.attempts = 1;
        record.updated_at = START + Duration::from_secs(61);
        record.retry_at = Some(START + Duration::from_secs(90));
        record.lease_token = Some("token".to_owned());
        record.last_error = Some(LastError::new(ErrorClass::Transient, "timeout", "the provider did not answer in time"));
    });
    let shown = bench.get(posted.job_id()).await;
    assert_eq!(shown.status, 200);
    assert_eq!(
        shown.body,
        json!({"jobId": posted.job_id(), "type": "report.generate", "schemaVersion": 1, "status": "retry_scheduled", "attempts": 1,
            "generation": 0, "businessId": "order-1", "accountId": "acme", "createdAt": "2027-01-15T08:00:00.000Z",
            "updatedAt": "2027-01-15T08:01:01.000Z", "nextAttemptAt": "2027-01-15T08:01:30.000Z",
            "reason": {"class": "transient", "code": "timeout", "message": "the provider did not answer in time"}})
    );
}

#[tokio::test]
async fn a_finished_job_shows_its_result_and_until_when_its_key_is_remembered() {
    let bench = Bench::new();
    let posted = bench.post("k", &email("m")).await;
    bench.change(|record| {
        record.status = Status::Succeeded;
        record.result = Some(json!({"messageId": "0100"}));
        record.expires_at = Some(EpochSeconds::from_i64(1_801_728_000));
    });
    let shown = bench.get(posted.job_id()).await;
    assert_eq!(
        (&shown.body["result"], &shown.body["rememberedUntil"]),
        (&json!({"messageId": "0100"}), &json!("2027-02-04T08:00:00.000Z"))
    );
    let head = bench.event(&request(ANN, "HEAD", &format!("/v1/jobs/{}", posted.job_id()), &[], &Value::Null)).await;
    assert_eq!((head.status, head.body), (200, Value::Null));
    bench.clock.set(EpochSeconds::from_i64(1_801_728_000).to_millis());
    assert_eq!(bench.get(posted.job_id()).await.status, 404, "forgotten, although it was not removed yet");
}

#[tokio::test]
async fn another_caller_s_job_looks_like_none() {
    let bench = Bench::new();
    let posted = bench.post("k", &email("m")).await;
    let path = format!("/v1/jobs/{}", posted.job_id());
    let unknown = bench.get("email.send-aaaaaaaaaaaaaaaaaaaaaaaaaa").await;
    assert_eq!((unknown.status, unknown.code()), (404, "job_not_found"));
    for method in ["GET", "DELETE"] {
        let of_bob = bench.event(&request(BOB, method, &path, &[], &Value::Null)).await;
        assert_eq!((of_bob.status, &of_bob.body), (404, &unknown.body));
    }
    assert_eq!(bench.record().status, Status::Accepted);
}

#[tokio::test]
async fn ids_that_the_api_never_hands_out_are_not_looked_up() {
    let bench = Bench::new();
    for id in ["x", "email.send-", "email.send-msg-0b1c", "email.send-AAAAAAAAAAAAAAAAAAAAAAAAAA", "%2e%2e", "-"] {
        assert_eq!(bench.get(id).await.status, 404, "{id}");
        assert_eq!(bench.delete(id).await.status, 404, "{id}");
    }
    assert!(bench.store.calls().is_empty());
}

#[tokio::test]
async fn a_job_that_is_not_at_work_can_be_cancelled_and_cancelling_twice_is_the_same() {
    for status in [Status::Accepted, Status::RetryScheduled, Status::Dead] {
        let bench = Bench::new();
        let posted = bench.post("k", &email("m")).await;
        bench.change(|record| record.status = status);
        for _ in 0..2 {
            let cancelled = bench.delete(posted.job_id()).await;
            assert_eq!(
                (cancelled.status, cancelled.body),
                (200, json!({"jobId": posted.job_id(), "status": "cancelled"})),
                "{status}"
            );
        }
        let record = bench.record();
        assert_eq!((record.status, record.data), (Status::Cancelled, None));
        assert_eq!(record.expires_at, Some((START + Duration::from_secs(1_728_000)).to_seconds_ceil()));
        assert_eq!(bench.get(posted.job_id()).await.body["status"], "cancelled");
    }
}

#[tokio::test]
async fn a_job_at_work_or_done_is_not_cancelled_and_the_answer_says_why() {
    for status in [Status::Running, Status::Succeeded, Status::InDoubt] {
        let bench = Bench::new();
        let posted = bench.post("k", &email("m")).await;
        bench.change(|record| record.status = status);
        let answer = bench.delete(posted.job_id()).await;
        assert_eq!(
            (answer.status, answer.code(), answer.body["jobStatus"].as_str()),
            (409, "not_cancellable", Some(status.as_str()))
        );
        assert!(answer.body["detail"].as_str().unwrap().contains(status.as_str()), "{}", answer.body);
        assert_eq!(bench.record().status, status);
    }
}

#[tokio::test]
async fn when_the_table_is_down_both_calls_are_503() {
    let bench = Bench::new();
    let posted = bench.post("k", &email("m")).await;
    bench.store.fail_next(StoreCall::Get, StoreFault::Unreachable);
    assert_eq!(bench.get(posted.job_id()).await.code(), "store_unavailable");
    bench.store.fail_next(StoreCall::Get, StoreFault::Throttle);
    assert_eq!(bench.delete(posted.job_id()).await.status, 503);
    bench.store.fail_next(StoreCall::Replace, StoreFault::Unreachable);
    assert_eq!(bench.delete(posted.job_id()).await.status, 503);
}
