//! A message on its way into a queue, checked the way SQS counts.

use std::time::Duration;

use crate::job::is_carried;

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
