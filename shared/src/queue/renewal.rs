//! A fresh copy of a received message, whose receives start again at one.

use std::time::Duration;

use aws_lambda_events::sqs::SqsMessage;

use super::message::{AttributeData, AttributeValue, OutgoingMessage};

/// A copy of `message`: the body byte for byte, attributes with their types, trace header and group id. It arrives after `delay`,
/// at most 15 minutes.
#[must_use]
pub fn copy_of(message: &SqsMessage, delay: Duration) -> OutgoingMessage {
    let attributes = message.message_attributes.iter().filter_map(|(name, attribute)| {
        let data_type = attribute.data_type.clone().unwrap_or_else(|| "String".to_owned());
        let value = match (&attribute.string_value, &attribute.binary_value) {
            (Some(text), _) => AttributeData::Text(text.clone()),
            (None, Some(bytes)) => AttributeData::Bytes(bytes.0.clone()),
            (None, None) => return None,
        };
        Some((name.clone(), AttributeValue { data_type, value }))
    });
    let mut attributes: Vec<_> = attributes.collect();
    attributes.sort_by(|(left, _), (right, _)| left.cmp(right));
    OutgoingMessage {
        body: message.body.clone().unwrap_or_default(),
        attributes,
        trace_header: message.attributes.get("AWSTraceHeader").cloned(),
        delay: delay.min(OutgoingMessage::MAX_DELAY),
        group_id: message.attributes.get("MessageGroupId").cloned(),
        deduplication_id: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_body_attributes_types_trace_and_group() {
        let message: SqsMessage = serde_json::from_str(
            r#"{"messageId":"m","receiptHandle":"r","body":" {\"a\" : 1}\n","attributes":{"AWSTraceHeader":"Root=1-5","MessageGroupId":"g"},
                "messageAttributes":{"n":{"dataType":"Number.int","stringValue":"5"},"b":{"dataType":"Binary","binaryValue":"AAH/"}}}"#,
        )
        .unwrap();
        let copy = copy_of(&message, Duration::from_secs(4_000));
        assert_eq!(copy.body, " {\"a\" : 1}\n");
        assert_eq!(copy.delay, OutgoingMessage::MAX_DELAY);
        assert_eq!(copy.trace_header.as_deref(), Some("Root=1-5"));
        assert_eq!(copy.group_id.as_deref(), Some("g"));
        let expected = [
            ("b".to_owned(), AttributeValue { data_type: "Binary".into(), value: AttributeData::Bytes(vec![0, 1, 255]) }),
            ("n".to_owned(), AttributeValue { data_type: "Number.int".into(), value: AttributeData::Text("5".into()) }),
        ];
        assert_eq!(copy.attributes, expected);
    }
}
