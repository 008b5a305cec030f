use std::sync::Arc;

use ikkai::idempotency::Status;
use ikkai::queue::QueueError;
use ikkai::testing::{Bench, MemoryQueue, MessageBuilder, QueueFault};
use serde_json::json;

use crate::handler::NotifyPartner;

fn bench() -> (Arc<MemoryQueue>, Bench<NotifyPartner>, MessageBuilder) {
    let partner = Arc::new(MemoryQueue::new());
    let bench = Bench::new(NotifyPartner { partner: partner.clone() });
    let payload = json!({"partnerId": "partner-7", "eventId": "order-1001-paid"});
    (partner, bench, MessageBuilder::job("message-1", "partner.notify", "order-1001-paid", payload))
}

#[tokio::test]
async fn a_message_that_comes_twice_is_one_notice() {
    let (partner, bench, message) = bench();
    for _ in 0..2 {
        let run = bench.run_batch([message.build()]).await.unwrap();
        assert!(run.failed.is_empty(), "both deliveries are acknowledged");
    }
    assert_eq!(partner.sent().len(), 1);
    assert_eq!(bench.record_of(&message).unwrap().status, Status::Succeeded);
}

#[tokio::test]
async fn a_lost_answer_leaves_the_job_in_doubt_and_is_not_tried_again() {
    let (partner, bench, message) = bench();
    partner.fail_next(QueueFault::LoseAnswer);
    for _ in 0..2 {
        let run = bench.run_batch([message.build()]).await.unwrap();
        assert_eq!(run.failed, ["message-1"], "it goes to the dead-letter queue");
    }
    assert_eq!(partner.sent().len(), 1);
    assert_eq!(bench.record_of(&message).unwrap().status, Status::InDoubt);
}

#[tokio::test]
async fn a_partner_that_says_no_is_a_dead_job_with_a_reason() {
    let (partner, bench, message) = bench();
    partner.fail_next(QueueFault::Refuse(QueueError::Refused { operation: "SendMessage", code: "AccessDenied".into() }));
    bench.run_batch([message.build()]).await.unwrap();
    let record = bench.record_of(&message).unwrap();
    assert_eq!((record.status, record.last_error.unwrap().code.as_str()), (Status::Dead, "partner_refused"));
}
