//! Sending messages into their queue: side by side, or one by one where order counts.

use ikkai::job::payload_digest;
use ikkai::queue::{OutgoingMessage, QueueError, SendVerdict, send_all};
use serde_json::json;

use super::page::PAUSE;
use crate::queues::StackQueue;

/// Sends `messages` in as few calls as possible. What failed in a way that may pass is sent once more: at worst the job has one
/// message too many.
pub(super) async fn send_together(queue: &StackQueue, messages: &[OutgoingMessage]) -> Vec<SendVerdict> {
    let mut verdicts = send_all(&*queue.queue, messages).await;
    let again: Vec<_> = (0..verdicts.len()).filter(|index| may_pass(&verdicts[*index])).collect();
    if again.is_empty() {
        return verdicts;
    }
    tokio::time::sleep(PAUSE).await;
    let second: Vec<_> = again.iter().map(|index| messages[*index].clone()).collect();
    for (index, verdict) in again.into_iter().zip(send_all(&*queue.queue, &second).await) {
        verdicts[index] = verdict;
    }
    verdicts
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
