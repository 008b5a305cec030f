//! FIFO queues.

use std::time::Duration;

use ikkai::clock::Clock;
use ikkai::queue::{Inbox, OutgoingMessage, Queue, QueueError, ReceivedMessage, VisibilityChange};
use ikkai::testing::QueueRules;

use super::{HALF_A_MINUTE, bodies, body, receive, sqs};

fn in_group(text: &str, group: &str) -> OutgoingMessage {
    OutgoingMessage { group_id: Some(group.to_owned()), deduplication_id: Some(format!("of-{text}")), ..body(text) }
}

#[tokio::test(start_paused = true)]
async fn a_group_gives_out_nothing_while_one_of_its_messages_is_in_flight() {
    let (sqs, _) = sqs();
    let queue = sqs.create("mail.fifo", QueueRules::default());
    queue.send(&[in_group("a1", "a"), in_group("a2", "a"), in_group("b1", "b")]).await.unwrap();
    let first = queue.receive(1, HALF_A_MINUTE, Duration::ZERO).await.unwrap();
    assert_eq!(bodies(&first), ["a1"]);
    assert_eq!(bodies(&receive(&queue).await), ["b1"]);
    assert!(receive(&queue).await.is_empty());
    assert_eq!(queue.delete(&[first[0].receipt_handle.clone()]).await.unwrap(), [Ok(())]);
    assert_eq!(bodies(&receive(&queue).await), ["a2"]);
}

#[tokio::test(start_paused = true)]
async fn one_receive_hands_out_several_of_a_group_in_order() {
    let (sqs, _) = sqs();
    let queue = sqs.create("mail.fifo", QueueRules::default());
    queue.send(&[in_group("a1", "a"), in_group("b1", "b"), in_group("a2", "a")]).await.unwrap();
    assert_eq!(bodies(&receive(&queue).await), ["a1", "b1", "a2"]);
}

#[tokio::test(start_paused = true)]
async fn a_second_message_with_the_same_deduplication_id_is_swallowed_for_five_minutes() {
    let (sqs, _) = sqs();
    let queue = sqs.create("mail.fifo", QueueRules::default());
    queue.send(&[in_group("a", "g")]).await.unwrap();
    let message = receive(&queue).await.remove(0);
    queue.delete(&[message.receipt_handle]).await.unwrap();
    tokio::time::advance(Duration::from_secs(299)).await;
    assert_eq!(queue.send(&[in_group("a", "g")]).await.unwrap(), [Ok(())]);
    assert!(sqs.messages("mail.fifo").is_empty());
    tokio::time::advance(Duration::from_secs(1)).await;
    queue.send(&[in_group("a", "g")]).await.unwrap();
    assert_eq!(sqs.messages("mail.fifo").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_without_group_or_deduplication_id_and_one_with_a_delay_are_refused() {
    let (sqs, _) = sqs();
    let queue = sqs.create("mail.fifo", QueueRules::default());
    let without_id = OutgoingMessage { deduplication_id: None, ..in_group("a", "g") };
    let delayed = OutgoingMessage { delay: Duration::from_secs(1), ..in_group("b", "g") };
    let codes = |answers: Vec<Result<(), QueueError>>| {
        let code = |answer| match answer {
            Err(QueueError::Refused { code, .. }) => code,
            other => format!("{other:?}"),
        };
        answers.into_iter().map(code).collect::<Vec<_>>()
    };
    let answers = queue.send(&[body("x"), without_id.clone(), delayed]).await.unwrap();
    assert_eq!(codes(answers), ["MissingParameter", "InvalidParameterValue", "InvalidParameterValue"]);
    let rules = QueueRules { content_based_deduplication: true, ..QueueRules::default() };
    let by_content = sqs.create("other.fifo", rules);
    by_content.send(&[without_id.clone(), without_id]).await.unwrap();
    assert_eq!(sqs.messages("other.fifo").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn in_the_dead_letter_queue_the_message_id_deduplicates_and_the_age_starts_again() {
    let (sqs, clock) = sqs();
    let (queue, dead) = sqs.create_pair("mail.fifo", 1);
    queue.send(&[in_group("a", "g")]).await.unwrap();
    let first = receive(&queue).await.remove(0);
    tokio::time::advance(HALF_A_MINUTE).await;
    assert!(receive(&queue).await.is_empty());
    let moved = receive(&dead).await.remove(0);
    assert_eq!(moved.deduplication_id.as_deref(), Some(first.message_id.as_str()));
    assert_eq!((moved.group_id.as_deref(), moved.sent_at), (Some("g"), Some(clock.now())));
}

#[tokio::test(start_paused = true)]
async fn a_handle_whose_time_is_over_deletes_nothing_and_says_so() {
    let (sqs, _) = sqs();
    let queue = sqs.create("mail.fifo", QueueRules::default());
    queue.send(&[in_group("a", "g")]).await.unwrap();
    let message = receive(&queue).await.remove(0);
    tokio::time::advance(HALF_A_MINUTE).await;
    assert_eq!(queue.delete(&[message.receipt_handle]).await.unwrap(), [Err(QueueError::ReceiptLost)]);
    assert_eq!(sqs.messages("mail.fifo").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_released_message_waits_for_those_of_its_group_that_are_still_in_flight() {
    let (sqs, _) = sqs();
    let queue = sqs.create("mail.fifo", QueueRules::default());
    queue.send(&[in_group("a1", "a"), in_group("a2", "a")]).await.unwrap();
    let both = receive(&queue).await;
    let release = |message: &ReceivedMessage| {
        [VisibilityChange { receipt_handle: message.receipt_handle.clone(), visible_in: Duration::ZERO }]
    };
    queue.change_visibility(&release(&both[0])).await.unwrap();
    assert!(receive(&queue).await.is_empty());
    queue.change_visibility(&release(&both[1])).await.unwrap();
    assert_eq!(bodies(&receive(&queue).await), ["a1", "a2"]);
}
