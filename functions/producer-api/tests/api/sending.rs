//! What can go wrong between the record and the queue.

use std::time::Duration;

use ikkai::idempotency::Status;
use ikkai::queue::QueueError;
use ikkai::testing::{QueueFault, StoreCall, StoreFault};
use serde_json::json;

use crate::bench::{Bench, down, email, keyed, post};

#[tokio::test]
async fn when_the_queue_is_down_the_answer_is_503_and_the_next_request_sends_at_once() {
    let bench = Bench::new();
    bench.refuse_next_send(down());
    let first = bench.post("k", &email("m")).await;
    assert_eq!((first.status, first.code(), first.header("retry-after")), (503, "queue_unavailable", Some("1")));
    assert_eq!((bench.record().status, bench.record().send_lease_until), (Status::Accepted, None));
    let second = bench.post("k", &email("m")).await;
    assert_eq!((second.status, second.job_id()), (202, bench.record().job_id.as_str()));
    assert_eq!(bench.sent().len(), 1);
}

#[tokio::test]
async fn a_request_that_could_not_be_served_is_counted_once_and_a_refused_one_is_not() {
    let bench = Bench::new();
    bench.post("before", &email("m")).await;
    bench.queue.fail_next(QueueFault::Refuse(down()));
    assert_eq!(bench.post("k", &email("m")).await.status, 503);
    assert_eq!(bench.counted("RequestsFailed"), 1);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
    assert_eq!(bench.post("k", &email("other")).await.status, 422);
    assert_eq!(bench.counted("RequestsFailed"), 0);
    bench.queue.fail_next(QueueFault::FailEntries(vec![(0, down()), (1, down())]));
    assert_eq!(bench.post_batch(&json!([keyed("a", "a"), keyed("b", "b"), keyed("c", "c")])).await.status, 207);
    assert_eq!(bench.counted("RequestsFailed"), 1, "one request, however many of its jobs");
}

#[tokio::test]
async fn a_send_call_that_fails_as_a_whole_is_503_too() {
    let bench = Bench::new();
    bench.post("before", &email("m")).await;
    bench.queue.fail_next(QueueFault::Refuse(down()));
    assert_eq!(bench.post("k", &email("m")).await.code(), "queue_unavailable");
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
}

#[tokio::test]
async fn a_queue_that_refuses_is_503_too() {
    let bench = Bench::new();
    bench.refuse_next_send(QueueError::Refused { operation: "SendMessage", code: "AccessDenied".into() });
    assert_eq!(bench.post("k", &email("m")).await.status, 503);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
}

#[tokio::test]
async fn a_send_whose_answer_is_lost_is_repeated_as_the_same_job() {
    let bench = Bench::new();
    bench.queue.fail_next(QueueFault::LoseAnswer);
    assert_eq!(bench.post("k", &email("m")).await.status, 503);
    assert_eq!(bench.sent().len(), 1, "the message is out");
    let second = bench.post("k", &email("m")).await;
    assert_eq!(second.status, 202);
    let sent = bench.sent();
    assert_eq!((sent.len(), &sent[0].body), (2, &sent[1].body));
    assert!(sent[0].body.contains(second.job_id()));
}

#[tokio::test]
async fn a_consumer_that_was_faster_than_the_lost_answer_is_not_set_back() {
    let bench = Bench::new();
    bench.queue.fail_next(QueueFault::LoseAnswer);
    bench.store.fail_next(StoreCall::Replace, StoreFault::Unreachable);
    assert_eq!(bench.post("k", &email("m")).await.status, 503);
    bench.change(|record| (record.status, record.accept_token, record.send_lease_until) = (Status::Running, None, None));
    let second = bench.post("k", &email("m")).await;
    assert_eq!((second.status, second.body["status"].as_str()), (202, Some("running")));
    assert_eq!(bench.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_between_record_and_send_blocks_the_key_for_one_lease_only() {
    let bench = Bench::new();
    bench.queue.fail_next(QueueFault::Delay(Duration::from_secs(3_600)));
    let event = post("k", &email("m"));
    // The request is dropped while it waits for the queue, as a killed process would.
    assert!(tokio::time::timeout(Duration::from_millis(100), bench.event(&event)).await.is_err());
    assert_eq!((bench.record().status, bench.sent().len()), (Status::Accepted, 0));
    bench.advance(4);
    assert_eq!(bench.event(&event).await.status, 409);
    bench.advance(2);
    assert_eq!(bench.event(&event).await.status, 202);
    assert_eq!(bench.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_send_that_hangs_ends_with_its_lease() {
    let bench = Bench::new();
    bench.queue.fail_next(QueueFault::Delay(Duration::from_secs(3_600)));
    let answer = bench.post("k", &email("m")).await;
    assert_eq!((answer.status, answer.code()), (503, "queue_unavailable"));
    assert_eq!(bench.record().send_lease_until, None);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_uses_up_the_function_s_time_is_answered_before_it_is_killed() {
    let bench = Bench::new();
    bench.store.fail_next(StoreCall::Create, StoreFault::Delay(Duration::from_secs(60)));
    let call = producer_api::Call { budget: Some(Duration::from_secs(9)), ..Default::default() };
    let answer = bench.called(&post("k", &email("m")), &call).await;
    assert_eq!((answer.status, answer.code(), answer.header("retry-after")), (503, "out_of_time", Some("1")));
}

#[tokio::test]
async fn when_the_table_is_down_nothing_is_sent() {
    for fault in [StoreFault::Throttle, StoreFault::Unreachable] {
        let bench = Bench::new();
        bench.store.fail_next(StoreCall::Create, fault);
        let answer = bench.post("k", &email("m")).await;
        assert_eq!((answer.status, answer.code(), answer.header("retry-after")), (503, "store_unavailable", Some("1")));
        assert!(bench.queue.sent().is_empty());
        assert_eq!(bench.post("k", &email("m")).await.status, 202);
    }
}

#[tokio::test]
async fn a_record_whose_write_was_not_answered_is_taken_over_after_the_lease() {
    let bench = Bench::new();
    bench.store.fail_next(StoreCall::Create, StoreFault::LoseAnswer);
    assert_eq!(bench.post("k", &email("m")).await.status, 503);
    assert_eq!(bench.post("k", &email("m")).await.status, 409);
    bench.advance(6);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
    assert_eq!(bench.sent().len(), 1);
}

#[tokio::test]
async fn a_write_that_the_sdk_repeated_after_a_lost_answer_is_still_ours() {
    let bench = Bench::new();
    bench.store.fail_next(StoreCall::Create, StoreFault::RepeatAfterLostAnswer);
    let answer = bench.post("k", &email("m")).await;
    assert_eq!((answer.status, answer.header("idempotent-replayed"), bench.sent().len()), (202, None, 1));
}

#[tokio::test]
async fn a_takeover_that_cannot_be_written_sends_nothing() {
    let bench = Bench::new();
    bench.post("k", &email("m")).await;
    bench.advance(6);
    let other = bench.another_sandbox();
    other.store.fail_next(StoreCall::Replace, StoreFault::Unreachable);
    assert_eq!(other.post("k", &email("m")).await.status, 503);
    assert_eq!(bench.sent().len(), 1);
    assert_eq!(other.post("k", &email("m")).await.status, 202);
}

#[tokio::test]
async fn a_repeated_send_that_cannot_be_confirmed_is_answered_all_the_same() {
    let bench = Bench::new();
    bench.refuse_next_send(down());
    bench.post("k", &email("m")).await;
    let (take_over, confirm) = (StoreFault::Delay(Duration::ZERO), StoreFault::Unreachable);
    bench.store.fail_next(StoreCall::Replace, take_over);
    bench.store.fail_next(StoreCall::Replace, confirm);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
    assert_eq!((bench.sent().len(), bench.record().enqueued_at), (1, None));
    bench.advance(6);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
    assert_eq!(bench.sent().len(), 1, "this sandbox saw the message going out");
    assert_eq!(bench.another_sandbox().post("k", &email("m")).await.status, 202);
    assert_eq!(bench.sent().len(), 2, "elsewhere it is one more copy of the same job, and no blocked key");
}
