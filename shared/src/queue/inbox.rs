//! Taking messages out of a queue by hand, as operators' tools do. Consumers never do: their mapping does it for them.

use std::time::Duration;

use async_trait::async_trait;

use super::message::{MessageAttributes, OutgoingMessage};
use super::queue_api::{Queue, QueueError, QueueName};
use crate::clock::EpochMillis;

/// A queue whose messages are received and deleted by hand.
#[async_trait]
pub trait Inbox: Queue {
    /// Receives up to `max` messages (1 to 10), hidden from everybody else for `visible_in`, and waits up to `wait` (at most 20 s) for the
    /// first one. One empty answer does not mean an empty queue: without a wait, SQS asks a part of its hosts only
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>).
    ///
    /// # Errors
    /// When the call failed. Messages may have been received and stay hidden until their time is over.
    async fn receive(&self, max: usize, visible_in: Duration, wait: Duration) -> Result<Vec<ReceivedMessage>, QueueError>;

    /// Deletes up to ten received messages; one verdict an entry, in order. An old handle may be accepted and delete nothing
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html>).
    ///
    /// # Errors
    /// When the whole call failed. Entries may have been deleted all the same.
    async fn delete(&self, receipt_handles: &[String]) -> Result<Vec<Result<(), QueueError>>, QueueError>;
}

/// A message that was received by hand, with everything that a copy of it has to keep.
#[derive(Clone, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// SQS's id of the message: another one after every sending.
    pub message_id: String,
    /// Handle of this receive.
    pub receipt_handle: String,
    /// The body, byte for byte.
    pub body: String,
    /// Attributes with their types, by name.
    pub attributes: MessageAttributes,
    /// The X-Ray header.
    pub trace_header: Option<String>,
    /// FIFO group, or fair-queue group.
    pub group_id: Option<String>,
    /// FIFO deduplication id.
    pub deduplication_id: Option<String>,
    /// When SQS took the message (`SentTimestamp`); the move into a dead-letter queue does not change it on a standard queue.
    pub sent_at: Option<EpochMillis>,
    /// How often it was received, this time included.
    pub receive_count: u32,
    /// The queue that SQS moved it from (`DeadLetterQueueSourceArn`); `None` for a message that somebody sent here.
    pub source: Option<QueueName>,
}

impl ReceivedMessage {
    /// A copy to send: the body byte for byte, attributes with their types, trace header and group id. Nothing is added; a FIFO queue needs a
    /// new deduplication id, which the sender of the copy gives it.
    #[must_use]
    pub fn copy(&self) -> OutgoingMessage {
        OutgoingMessage {
            body: self.body.clone(),
            attributes: self.attributes.clone(),
            trace_header: self.trace_header.clone(),
            delay: Duration::ZERO,
            group_id: self.group_id.clone(),
            deduplication_id: None,
        }
    }
}

/// Bodies stay out of logs.
impl std::fmt::Debug for ReceivedMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceivedMessage")
            .field("message_id", &self.message_id)
            .field("body_bytes", &self.body.len())
            .field("receive_count", &self.receive_count)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
