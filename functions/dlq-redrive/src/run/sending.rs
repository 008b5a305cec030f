//! Sending messages into their queue: side by side, or one by one where order counts.

use ikkai::job::payload_digest;
use ikkai::queue::{OutgoingMessage, QueueError, SendVerdict, send_all};
use serde_json::json;

use super::page::PAUSE;
use crate::queues::StackQueue;

/// Sends `messages` in as few calls as possible. What failed in a way that may pass is sent once more: at worst the job has one
/// message too many. What was refused together is sent once more by itself.
pub(super) async fn send_together(queue: &StackQueue, messages: &[OutgoingMessage]) -> Vec<SendVerdict> {
    let mut verdicts = send_all(&*queue.queue, messages).await;
    let again: Vec<_> = (0..verdicts.len()).filter(|index| may_pass(&verdicts[*index])).collect();
    if !again.is_empty() {
        tokio::time::sleep(PAUSE).await;
        let second: Vec<_> = again.iter().map(|index| messages[*index].clone()).collect();
        for (index, verdict) in again.into_iter().zip(send_all(&*queue.queue, &second).await) {
            verdicts[index] = verdict;
        }
    }
    for index in refused_together(&verdicts) {
        let alone = send_all(&*queue.queue, std::slice::from_ref(&messages[index])).await.pop();
        verdicts[index] = alone.unwrap_or_else(|| Err(unanswered()));
    }
    verdicts
}

/// Messages that share their refusal with another one: the call may have been refused and not they.
fn refused_together(verdicts: &[SendVerdict]) -> Vec<usize> {
    let is_of_message =
        |verdict: &SendVerdict| matches!(verdict, Err(error @ QueueError::Refused { .. }) if !concerns_queue(error));
    let is_shared = |verdict: &SendVerdict| verdicts.iter().filter(|other| *other == verdict).count() > 1;
    (0..verdicts.len()).filter(|index| is_of_message(&verdicts[*index]) && is_shared(&verdicts[*index])).collect()
}

/// Silence is a failure.
pub(super) fn unanswered() -> QueueError {
    QueueError::Unavailable { operation: "SendMessage", code: "no verdict for this message".to_owned() }
}

/// A deduplication id that no earlier sending of the message had, or a FIFO queue would swallow it, and that a repetition within
/// the run has again
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html>).
pub(super) fn deduplication_id(former: &str, run_id: &str) -> String {
    payload_digest(&json!([former, run_id]))
}

/// Whether a failure concerns the queue and not the message: it is gone, or its key or its policy keeps everybody out.
pub(super) fn concerns_queue(error: &QueueError) -> bool {
    let of_queue = ["NonExistentQueue", "QueueDoesNotExist", "AccessDenied", "KMS", "Kms", "InvalidSecurity", "InvalidAddress"];
    matches!(error, QueueError::Refused { code, .. } if of_queue.iter().any(|known| code.contains(known)))
}

const fn may_pass(verdict: &SendVerdict) -> bool {
    matches!(verdict, Err(QueueError::Unavailable { .. }))
}
