//! What Ikkai does with queues: send in batches, change visibility in batches, read depths, put fresh copies in, and take messages out by hand.

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
