//! Any number of messages, sent in as few calls as SQS allows.

use super::message::{MAX_MESSAGE_BYTES, OutgoingMessage};
use super::queue_api::{Queue, QueueError};

/// Most entries of a batch call.
pub const MAX_ENTRIES: usize = 10;

/// What became of one message.
pub type SendVerdict = Result<(), QueueError>;

/// Sends `messages` in batches of at most ten entries and 1 MiB, and reads the verdict on every entry. A failed call fails its own
/// entries only; whether those went out is then unknown.
pub async fn send_all(queue: &dyn Queue, messages: &[OutgoingMessage]) -> Vec<SendVerdict> {
    let mut verdicts = Vec::with_capacity(messages.len());
    for batch in batches(messages) {
        match queue.send(batch).await {
            Ok(answers) => {
                let missing = batch.len().saturating_sub(answers.len());
                verdicts.extend(answers);
                verdicts.extend((0..missing).map(|_| Err(unanswered())));
            }
            Err(error) => verdicts.extend(batch.iter().map(|_| Err(error.clone()))),
        }
    }
    verdicts
}

fn batches(messages: &[OutgoingMessage]) -> Vec<&[OutgoingMessage]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, message) in messages.iter().enumerate() {
        let size = message.bytes();
        if index > start && (index - start == MAX_ENTRIES || bytes + size > MAX_MESSAGE_BYTES) {
            batches.push(&messages[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += size;
    }
    if start < messages.len() {
        batches.push(&messages[start..]);
    }
    batches
}

fn unanswered() -> QueueError {
    QueueError::Unavailable { operation: "SendMessageBatch", code: "the answer names no verdict for this entry".to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_size(bytes: usize) -> OutgoingMessage {
        OutgoingMessage::new("x".repeat(bytes))
    }

    #[test]
    fn twenty_five_small_messages_take_three_calls() {
        let messages: Vec<_> = (0..25).map(|_| of_size(10)).collect();
        assert_eq!(batches(&messages).iter().map(|batch| batch.len()).collect::<Vec<_>>(), [10, 10, 5]);
    }

    proptest! {
        #[test]
        fn batches_keep_order_and_both_limits(sizes in proptest::collection::vec(1usize..700_000, 0..40)) {
            let messages: Vec<_> = sizes.iter().copied().map(of_size).collect();
            let batches = batches(&messages);
            for batch in &batches {
                prop_assert!((1..=MAX_ENTRIES).contains(&batch.len()));
                prop_assert!(batch.iter().map(OutgoingMessage::bytes).sum::<usize>() <= MAX_MESSAGE_BYTES);
            }
            let joined: Vec<_> = batches.into_iter().flatten().map(OutgoingMessage::bytes).collect();
            prop_assert_eq!(joined, sizes);
        }
    }
}
