//! Standard queues.

use std::time::Duration;

use ikkai::clock::Clock;
use ikkai::queue::{
    AttributeData, AttributeValue, Inbox, MAX_MESSAGE_BYTES, OutgoingMessage, Queue, QueueDepth, QueueError, VisibilityChange,
};
use ikkai::testing::{Departure, QueueRules, SqsOperation, Whereabouts};

use super::{HALF_A_MINUTE, bodies, body, receive, sqs};

#[tokio::test(start_paused = true)]
async fn a_message_is_hidden_from_its_receive_on_until_its_time_is_over() {
    let (sqs, clock) = sqs();
    let queue = sqs.create("email", QueueRules::default());
    queue.send(&[body("a"), body("b")]).await.unwrap();
    let first = receive(&queue).await;
    assert_eq!(bodies(&first), ["a", "b"]);
    assert!(receive(&queue).await.is_empty());
    assert_eq!(queue.depth().await.unwrap(), QueueDepth { visible: 0, in_flight: 2, delayed: 0 });
    tokio::time::advance(Duration::from_millis(29_999)).await;
    assert!(receive(&queue).await.is_empty());
    assert_eq!(sqs.messages("email")[0].whereabouts(clock.now()), Whereabouts::InFlight);
    tokio::time::advance(Duration::from_millis(1)).await;
    let second = receive(&queue).await;
    assert_eq!(bodies(&second), ["a", "b"]);
    assert_eq!((first[0].receive_count, second[0].receive_count), (1, 2));
    assert_ne!(first[0].receipt_handle, second[0].receipt_handle);
    assert_eq!(first[0].message_id, second[0].message_id);
}

#[tokio::test(start_paused = true)]
async fn an_old_handle_is_accepted_and_deletes_nothing() {
    let (sqs, _) = sqs();
    let queue = sqs.create("email", QueueRules::default());
    queue.send(&[body("a")]).await.unwrap();
    let old = receive(&queue).await.remove(0);
    tokio::time::advance(HALF_A_MINUTE).await;
    let new = receive(&queue).await.remove(0);
    assert_eq!(queue.delete(&[old.receipt_handle]).await.unwrap(), [Ok(())]);
    assert_eq!(sqs.messages("email").len(), 1);
    let handles = [new.receipt_handle.clone(), new.receipt_handle, "nonsense".to_owned()];
    assert_eq!(queue.delete(&handles).await.unwrap(), [Ok(()), Ok(()), Err(QueueError::ReceiptLost)]);
    assert!(sqs.messages("email").is_empty());
    assert_eq!(sqs.departed("email")[0].1, Departure::Deleted);
}

#[tokio::test(start_paused = true)]
async fn a_handle_whose_time_is_over_still_deletes_while_nobody_else_received() {
    let (sqs, _) = sqs();
    let queue = sqs.create("email", QueueRules::default());
    queue.send(&[body("a")]).await.unwrap();
    let late = receive(&queue).await.remove(0);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(queue.delete(&[late.receipt_handle]).await.unwrap(), [Ok(())]);
    assert!(sqs.messages("email").is_empty());
}

#[tokio::test(start_paused = true)]
async fn visibility_is_changed_with_the_handle_of_a_message_in_flight_only() {
    let (sqs, _) = sqs();
    let queue = sqs.create("email", QueueRules::default());
    queue.send(&[body("a")]).await.unwrap();
    let message = receive(&queue).await.remove(0);
    let change =
        |seconds| [VisibilityChange { receipt_handle: message.receipt_handle.clone(), visible_in: Duration::from_secs(seconds) }];
    assert_eq!(queue.change_visibility(&change(90)).await.unwrap(), [Ok(())]);
    tokio::time::advance(Duration::from_secs(89)).await;
    assert!(receive(&queue).await.is_empty());
    assert_eq!(queue.change_visibility(&change(0)).await.unwrap(), [Ok(())]);
    assert_eq!(queue.change_visibility(&change(90)).await.unwrap(), [Err(QueueError::ReceiptLost)]);
    assert_eq!(receive(&queue).await.len(), 1);
    assert_eq!(queue.change_visibility(&change(90)).await.unwrap(), [Err(QueueError::ReceiptLost)]);
}

#[tokio::test(start_paused = true)]
async fn a_message_moves_at_the_receive_after_its_last_one_and_keeps_id_and_age() {
    let (sqs, clock) = sqs();
    let (queue, dead) = sqs.create_pair("email", 2);
    let sent_at = clock.now();
    let mut message = body("a");
    message
        .attributes
        .push(("tint".into(), AttributeValue { data_type: "Binary".into(), value: AttributeData::Bytes(vec![0, 255]) }));
    message.trace_header = Some("Root=1".into());
    queue.send(std::slice::from_ref(&message)).await.unwrap();
    let first = receive(&queue).await.remove(0);
    for _ in 0..2 {
        tokio::time::advance(HALF_A_MINUTE).await;
        assert!(receive(&dead).await.is_empty());
        receive(&queue).await;
    }
    assert!(sqs.messages("email").is_empty());
    let moved = receive(&dead).await.remove(0);
    assert_eq!((moved.message_id.as_str(), moved.sent_at), (first.message_id.as_str(), Some(sent_at)));
    assert_eq!(moved.source.as_ref().unwrap().as_str(), "email");
    assert_eq!(moved.copy(), message);
    assert_eq!(sqs.messages("email-dlq")[0].attributes, message.attributes);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_message_comes_late_and_an_expired_one_never() {
    let (sqs, _) = sqs();
    let queue = sqs.create("email", QueueRules::default().retention(Duration::from_secs(120)));
    let mut late = body("late");
    late.delay = Duration::from_secs(60);
    queue.send(&[late, body("now")]).await.unwrap();
    assert_eq!(queue.depth().await.unwrap(), QueueDepth { visible: 1, in_flight: 0, delayed: 1 });
    assert_eq!(bodies(&receive(&queue).await), ["now"]);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(bodies(&receive(&queue).await), ["late", "now"]);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(receive(&queue).await.is_empty());
    assert_eq!(sqs.departed("email").iter().filter(|(_, how)| *how == Departure::Expired).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_age_goes_on_in_the_dead_letter_queue() {
    let (sqs, _) = sqs();
    let (queue, dead) = sqs.create_pair("email", 1);
    queue.send(&[body("a")]).await.unwrap();
    receive(&queue).await;
    tokio::time::advance(Duration::from_secs(13 * 86_400)).await;
    receive(&queue).await;
    assert_eq!(sqs.messages("email-dlq").len(), 1);
    tokio::time::advance(Duration::from_secs(86_400)).await;
    assert!(receive(&dead).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_receive_waits_for_a_first_message() {
    let (sqs, clock) = sqs();
    let queue = sqs.create("email", QueueRules::default());
    let sender = queue.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        sender.send(&[body("a")]).await.unwrap();
    });
    let start = clock.now();
    assert_eq!(queue.receive(10, HALF_A_MINUTE, Duration::from_secs(10)).await.unwrap().len(), 1);
    let waited = clock.now().since(start);
    assert!(waited >= Duration::from_secs(3) && waited < Duration::from_secs(4), "{waited:?}");
    assert!(queue.receive(10, HALF_A_MINUTE, Duration::from_secs(5)).await.unwrap().is_empty());
    assert!(clock.now().since(start) >= waited + Duration::from_secs(5));
    assert_eq!(sqs.count("email", SqsOperation::Receive), 2);
}

#[tokio::test(start_paused = true)]
async fn sizes_and_missing_queues_are_refused_as_sqs_does() {
    let (sqs, _) = sqs();
    let queue = sqs.create("email", QueueRules::default());
    let code = |error: &QueueError| match error {
        QueueError::Refused { code, .. } => code.clone(),
        other => panic!("{other:?}"),
    };
    let half = || OutgoingMessage::new("x".repeat(MAX_MESSAGE_BYTES / 2 + 1));
    assert_eq!(code(&queue.send(&[half(), half()]).await.unwrap_err()), "BatchRequestTooLong");
    let verdicts = queue.send(&[OutgoingMessage::new("x".repeat(MAX_MESSAGE_BYTES + 1))]).await.unwrap();
    assert_eq!(code(verdicts[0].as_ref().unwrap_err()), "InvalidParameterValue");
    assert_eq!(queue.send(&[OutgoingMessage::new("x".repeat(MAX_MESSAGE_BYTES))]).await.unwrap(), [Ok(())]);
    sqs.remove("email");
    assert_eq!(code(&queue.send(&[body("a")]).await.unwrap_err()), "QueueDoesNotExist");
    assert_eq!(code(&queue.depth().await.unwrap_err()), "QueueDoesNotExist");
}

#[tokio::test(start_paused = true)]
async fn what_sqs_moves_back_is_a_new_message_of_its_source() {
    let (sqs, clock) = sqs();
    let (email, _) = sqs.create_pair("email", 1);
    sqs.bury("email", &[body("one"), body("two")]);
    let before = sqs.messages("email-dlq");
    tokio::time::sleep(HALF_A_MINUTE).await;
    assert_eq!(sqs.move_back("email-dlq", 1), 1);
    let [back] = &sqs.messages("email")[..] else { panic!("one message") };
    assert_eq!((back.body.as_str(), back.receive_count, back.source.clone()), ("one", 0, None));
    assert!(back.sent_at == clock.now() && before.iter().all(|dead| dead.message_id != back.message_id));
    assert_eq!(sqs.next_due("email"), Some(clock.now()));
    assert!(sqs.holds(|queue, message| queue == "email-dlq" && message.body == "two"));
    assert_eq!(receive(&email).await.len(), 1);
    assert_eq!(sqs.move_back("email", 10), 0, "what has no source stays");
}
