//! The seam between the kit and SQS.

use std::time::Duration;

use async_trait::async_trait;

use super::message::OutgoingMessage;

/// One queue. Batch calls take at most ten entries and answer for each of them: SQS answers 200 although entries failed
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html>).
#[async_trait]
pub trait Queue: Send + Sync + 'static {
    /// Sends up to ten messages; one verdict an entry, in order.
    ///
    /// # Errors
    /// When the whole call failed. Entries may have been sent all the same.
    async fn send(&self, messages: &[OutgoingMessage]) -> Result<Vec<Result<(), QueueError>>, QueueError>;

    /// Changes the visibility of up to ten received messages; one verdict an entry, in order.
    ///
    /// # Errors
    /// When the whole call failed.
    async fn change_visibility(&self, changes: &[VisibilityChange]) -> Result<Vec<Result<(), QueueError>>, QueueError>;

    /// How many messages there are. Numbers may lag by a minute
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>).
    ///
    /// # Errors
    /// When the queue does not answer.
    async fn depth(&self) -> Result<QueueDepth, QueueError>;
}

/// A new visibility timeout for one received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibilityChange {
    /// Handle of the last receive.
    pub receipt_handle: String,
    /// From now on, in whole seconds; zero makes it visible at once.
    pub visible_in: Duration,
}

/// Approximate numbers of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueDepth {
    /// Waiting.
    pub visible: u64,
    /// With a worker.
    pub in_flight: u64,
    /// Not yet due.
    pub delayed: u64,
}

impl QueueDepth {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.visible + self.in_flight + self.delayed
    }
}

/// A queue's name, taken out of its ARN.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueueName(String);

impl QueueName {
    /// A queue's name as configured.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The last part of `arn:aws:sqs:region:account:name`.
    #[must_use]
    pub fn from_arn(arn: &str) -> Option<Self> {
        let name = arn.split(':').nth(5)?;
        (arn.starts_with("arn:") && !name.is_empty()).then(|| Self(name.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// FIFO queues end in `.fifo`.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.0.ends_with(".fifo")
    }
}

/// Why a queue did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The receipt handle is no longer valid: the message came out again, or is gone.
    #[error("the receipt is no longer valid; the message was received again or deleted")]
    ReceiptLost,
    /// The queue refused the request or the entry.
    #[error("the queue refused {operation} ({code})")]
    Refused {
        /// The operation.
        operation: &'static str,
        /// The service's error code.
        code: String,
    },
    /// No answer, throttled, or an error on the queue's side.
    #[error("the queue could not be reached for {operation} ({code})")]
    Unavailable {
        /// The operation.
        operation: &'static str,
        /// The service's error code, or what happened.
        code: String,
    },
}
