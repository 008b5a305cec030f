//! A message on its way into a queue, checked the way SQS counts.

use std::time::Duration;

use serde_json::Value;

use super::queue_api::QueueName;
use crate::job::{JobId, is_carried, payload_digest};

/// Most bytes of body and attributes together, for one message and for the sum of a batch
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>).
pub const MAX_MESSAGE_BYTES: usize = 1_048_576;

/// Most message attributes (same page).
pub const MAX_ATTRIBUTES: usize = 10;

/// A message attribute's value with its data type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeValue {
    /// `String`, `Number`, `Binary`, optionally with a `.suffix`.
    pub data_type: String,
    /// The value.
    pub value: AttributeData,
}

/// Text or bytes of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeData {
    /// Of a `String` or `Number`.
    Text(String),
    /// Of a `Binary`.
    Bytes(Vec<u8>),
}

/// Message attributes by name.
pub type MessageAttributes = Vec<(String, AttributeValue)>;

/// A message to send.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The body, byte for byte.
    pub body: String,
    /// Attributes with their types.
    pub attributes: MessageAttributes,
    /// The X-Ray header (`AWSTraceHeader`, a system attribute that does not count as bytes).
    pub trace_header: Option<String>,
    /// Up to 15 minutes; longer ones are cut.
    pub delay: Duration,
    /// FIFO group, or fair-queue group of a standard queue.
    pub group_id: Option<String>,
    /// FIFO deduplication id.
    pub deduplication_id: Option<String>,
}

/// Bodies stay out of logs: only sizes are shown.
impl std::fmt::Debug for OutgoingMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutgoingMessage")
            .field("body_bytes", &self.body.len())
            .field("attributes", &self.attributes.len())
            .field("delay", &self.delay)
            .finish_non_exhaustive()
    }
}

impl OutgoingMessage {
    /// Longest `DelaySeconds`.
    pub const MAX_DELAY: Duration = Duration::from_secs(900);

    /// A message with nothing but a body.
    #[must_use]
    pub fn new(body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            attributes: Vec::new(),
            trace_header: None,
            delay: Duration::ZERO,
            group_id: None,
            deduplication_id: None,
        }
    }

    /// The message in its place in `queue`. On a FIFO queue what has the same `line` runs in the order in which it was sent, and a job that is
    /// sent again within five minutes is there once
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html>). The group is a
    /// digest of the line, because SQS does not encrypt what it knows about a message. On a standard queue nothing changes.
    #[must_use]
    pub fn in_line(mut self, queue: &QueueName, line: &[&str], job_id: &JobId) -> Self {
        if queue.is_fifo() {
            self.group_id = Some(payload_digest(&Value::from(line)));
            self.deduplication_id = Some(job_id.as_str().to_owned());
        }
        self
    }

    /// Size as SQS counts it: the body's bytes and each attribute's name, data type and value.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let attributes = self.attributes.iter().map(|(name, attribute)| {
            let value = match &attribute.value {
                AttributeData::Text(text) => text.len(),
                AttributeData::Bytes(bytes) => bytes.len(),
            };
            name.len() + attribute.data_type.len() + value
        });
        self.body.len() + attributes.sum::<usize>()
    }

    /// Checks what SQS would refuse.
    ///
    /// # Errors
    /// When the message is larger than `max_bytes`, empty, has more than ten attributes or a character SQS does not carry.
    pub fn check(&self, max_bytes: usize) -> Result<(), MessageError> {
        let bytes = self.bytes();
        if bytes > max_bytes {
            return Err(MessageError::TooLarge { bytes, max_bytes });
        }
        if self.body.is_empty() {
            return Err(MessageError::Empty);
        }
        if self.attributes.len() > MAX_ATTRIBUTES {
            return Err(MessageError::TooManyAttributes { count: self.attributes.len() });
        }
        match self.body.chars().position(|character| !is_carried(character)) {
            Some(position) => Err(MessageError::Character { position }),
            None => Ok(()),
        }
    }
}

/// Why SQS would refuse a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Body and attributes are too many bytes.
    #[error(
        "the message has {bytes} bytes of body and attributes, more than {max_bytes}; put large inputs in S3 and send their key"
    )]
    TooLarge {
        /// What it has.
        bytes: usize,
        /// What is allowed.
        max_bytes: usize,
    },
    /// SQS takes no empty body.
    #[error("the message body is empty")]
    Empty,
    /// More attributes than SQS takes.
    #[error("the message has {count} attributes, SQS takes {MAX_ATTRIBUTES}; move some into the payload")]
    TooManyAttributes {
        /// What it has.
        count: usize,
    },
    /// A character SQS does not carry.
    #[error("the message body has a control character at position {position} that SQS does not carry; remove it")]
    Character {
        /// Position in characters.
        position: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_and_not_characters() {
        let body = "語".repeat(350_000);
        let message = OutgoingMessage::new(body);
        assert_eq!(message.bytes(), 1_050_000);
        assert_eq!(
            message.check(MAX_MESSAGE_BYTES),
            Err(MessageError::TooLarge { bytes: 1_050_000, max_bytes: MAX_MESSAGE_BYTES })
        );
    }

    #[test]
    fn only_fifo_queues_have_places_and_what_is_in_one_line_has_one_group() {
        let job = |key: &str| JobId::for_direct_sender("q", &"email.send".parse().unwrap(), &key.parse().unwrap());
        let placed =
            |queue: &str, line: &[&str], key: &str| OutgoingMessage::new("{}").in_line(&QueueName::new(queue), line, &job(key));
        assert_eq!(placed("mail", &["order-1"], "a"), OutgoingMessage::new("{}"));
        let (first, second) = (placed("mail.fifo", &["order-1"], "a"), placed("mail.fifo", &["order-1"], "b"));
        assert_eq!(first.group_id, second.group_id);
        assert_eq!(first.deduplication_id.as_deref(), Some(job("a").as_str()));
        assert_ne!(first.deduplication_id, second.deduplication_id);
        for other in [&["order-2"][..], &["shop", "order-1"], &["order", "-1"]] {
            assert_ne!(placed("mail.fifo", other, "a").group_id, first.group_id, "{other:?}");
        }
        let group = first.group_id.unwrap();
        assert!(!group.contains("order") && group.len() <= 128, "{group}");
    }

    #[test]
    fn attributes_count_with_name_type_and_value() {
        let mut message = OutgoingMessage::new("x".repeat(MAX_MESSAGE_BYTES - 12));
        let value = AttributeValue { data_type: "String".into(), value: AttributeData::Text("blue".into()) };
        message.attributes.push(("tint".into(), value));
        assert_eq!(
            message.check(MAX_MESSAGE_BYTES),
            Err(MessageError::TooLarge { bytes: 1_048_578, max_bytes: MAX_MESSAGE_BYTES })
        );
    }

    #[test]
    fn a_character_that_sqs_does_not_carry_is_named_by_position() {
        assert_eq!(OutgoingMessage::new("ab\u{0}").check(100), Err(MessageError::Character { position: 2 }));
        assert_eq!(OutgoingMessage::new("ab\u{FFFE}").check(100), Err(MessageError::Character { position: 2 }));
        assert_eq!(OutgoingMessage::new("tab\t line\n 😀").check(100), Ok(()));
    }
}
