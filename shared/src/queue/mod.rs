//! What Ikkai does with queues: send in batches, change visibility in batches, read depths, put fresh copies in, and take messages out by hand.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use ikkai::queue::{OutgoingMessage, send_all};
//! use ikkai::testing::MemoryQueue;
//!
//! let queue = MemoryQueue::new();
//! let messages: Vec<_> = (0..23).map(|n| OutgoingMessage::new(format!("message {n}"))).collect();
//! // One verdict a message, in their order, whatever SQS says about the batches they travelled in.
//! let verdicts = send_all(&queue, &messages).await;
//! assert_eq!(verdicts.iter().filter(|verdict| verdict.is_ok()).count(), 23);
//! assert_eq!(queue.calls().len(), 3, "SQS takes ten messages a call");
//! # });
//! ```

mod inbox;
mod message;
mod queue_api;
mod renewal;
mod send;
mod sqs;
mod visibility;

pub use inbox::{Inbox, ReceivedMessage};
pub use message::{
    AttributeData, AttributeValue, MAX_ATTRIBUTES, MAX_MESSAGE_BYTES, MessageAttributes, MessageError, OutgoingMessage,
};
pub use queue_api::{Queue, QueueDepth, QueueError, QueueName, VisibilityChange};
pub use renewal::copy_of;
pub use send::{MAX_ENTRIES, SendVerdict, send_all};
pub use sqs::SqsQueue;
pub use visibility::change_each;
