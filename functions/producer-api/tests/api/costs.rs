//! What a request costs in calls.

use ikkai::idempotency::Status;
use ikkai::testing::{QueueCall, StoreCall};

use crate::bench::{Bench, down, email};

fn depth_reads(bench: &Bench) -> usize {
    bench.queue.calls().iter().filter(|call| **call == QueueCall::Depth).count()
}

#[tokio::test]
async fn an_accepted_job_is_one_write_and_one_send() {
    let bench = Bench::new();
    for n in 0..20 {
        assert_eq!(bench.post(&format!("k-{n}"), &email("m")).await.status, 202);
    }
    assert_eq!(bench.store.calls(), [StoreCall::Create; 20]);
    assert_eq!(bench.send_calls(), [1; 20]);
    assert_eq!((bench.queue.calls().len(), depth_reads(&bench)), (21, 1), "the depth is read once for all of them");
}

#[tokio::test]
async fn a_replay_is_one_refused_write() {
    for status in Status::ALL {
        let bench = Bench::new();
        bench.post("k", &email("m")).await;
        bench.change(|record| record.status = status);
        bench.store.forget();
        bench.post("k", &email("m")).await;
        assert_eq!(bench.store.calls(), [StoreCall::Create], "{status}");
        assert_eq!(bench.send_calls(), [1]);
    }
}

#[tokio::test]
async fn a_failed_send_costs_one_write_more() {
    let bench = Bench::new();
    bench.refuse_next_send(down());
    bench.post("k", &email("m")).await;
    assert_eq!(bench.store.calls(), [StoreCall::Create, StoreCall::Replace]);
}

#[tokio::test]
async fn a_repeated_send_is_a_refused_write_and_two_more_and_no_read() {
    let bench = Bench::new();
    bench.post("k", &email("m")).await;
    bench.advance(6);
    let other = bench.another_sandbox();
    other.post("k", &email("m")).await;
    assert_eq!(other.store.calls(), [StoreCall::Create, StoreCall::Replace, StoreCall::Replace]);
}

#[tokio::test]
async fn a_refused_request_costs_nothing() {
    let bench = Bench::new();
    bench.post("k", &serde_json::json!({"type": "email.send", "payload": {}})).await;
    bench.get("email.send-nonsense").await;
    assert!(bench.store.calls().is_empty() && bench.queue.calls().is_empty());
}
