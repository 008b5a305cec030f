//! A message as a queue in memory keeps it.

use crate::clock::EpochMillis;
use crate::queue::{MessageAttributes, QueueName, ReceivedMessage};

/// A message in a queue, seen from inside: nothing is received by looking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// SQS's id, kept on the way into a dead-letter queue.
    pub message_id: String,
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
    /// When it was sent. On a standard queue the move into a dead-letter queue does not change it.
    pub sent_at: EpochMillis,
    /// Receives from the queue it is in.
    pub receive_count: u32,
    /// The queue it was moved from, in a dead-letter queue.
    pub source: Option<QueueName>,
    /// From when on it can be received.
    pub visible_at: EpochMillis,
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// It can be received.
    Visible,
    /// Somebody has received it and its time is not over.
    InFlight,
    /// It was sent with a delay that is not over.
    Delayed,
}

/// How a message left a queue for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// It was deleted by hand.
    Deleted,
    /// The queue's retention was over.
    Expired,
}

impl StoredMessage {
    /// Where it stands.
    #[must_use]
    pub fn whereabouts(&self, now: EpochMillis) -> Whereabouts {
        match (self.visible_at <= now, self.receive_count) {
            (true, _) => Whereabouts::Visible,
            (false, 0) => Whereabouts::Delayed,
            (false, _) => Whereabouts::InFlight,
        }
    }

    pub(super) fn received(&self, receipt_handle: String) -> ReceivedMessage {
        ReceivedMessage {
            message_id: self.message_id.clone(),
            receipt_handle,
            body: self.body.clone(),
            attributes: self.attributes.clone(),
            trace_header: self.trace_header.clone(),
            group_id: self.group_id.clone(),
            deduplication_id: self.deduplication_id.clone(),
            sent_at: Some(self.sent_at),
            receive_count: self.receive_count,
            source: self.source.clone(),
        }
    }
}
