//! A received message as a mapping hands it to a function.

use aws_lambda_events::sqs::SqsMessage;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::MemorySqsQueue;
use crate::queue::{AttributeData, ReceivedMessage};

impl MemorySqsQueue {
    /// The record that a function gets of a message received from this queue, so that a test can be the mapping between them.
    ///
    /// # Panics
    /// Never: the JSON is well-formed.
    #[must_use]
    pub fn record(&self, received: &ReceivedMessage) -> SqsMessage {
        let record = json!({
            "messageId": received.message_id,
            "receiptHandle": received.receipt_handle,
            "body": received.body,
            "attributes": system_attributes(received),
            "messageAttributes": message_attributes(received),
            "md5OfBody": "",
            "eventSource": "aws:sqs",
            "eventSourceARN": format!("arn:aws:sqs:us-east-1:000000000000:{}", self.name()),
            "awsRegion": "us-east-1"
        });
        serde_json::from_value(record).expect("an SQS record")
    }
}

fn system_attributes(received: &ReceivedMessage) -> Map<String, Value> {
    let arn = |name: &str| format!("arn:aws:sqs:us-east-1:000000000000:{name}");
    let attributes = [
        ("ApproximateReceiveCount", Some(received.receive_count.to_string())),
        ("SentTimestamp", received.sent_at.map(|at| at.as_i64().to_string())),
        ("AWSTraceHeader", received.trace_header.clone()),
        ("MessageGroupId", received.group_id.clone()),
        ("MessageDeduplicationId", received.deduplication_id.clone()),
        ("DeadLetterQueueSourceArn", received.source.as_ref().map(|source| arn(source.as_str()))),
    ];
    attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?)))).collect()
}

fn message_attributes(received: &ReceivedMessage) -> Map<String, Value> {
    let attributes = received.attributes.iter().map(|(name, attribute)| {
        let value = match &attribute.value {
            AttributeData::Text(text) => json!({"dataType": attribute.data_type, "stringValue": text}),
            AttributeData::Bytes(bytes) => json!({"dataType": attribute.data_type, "binaryValue": STANDARD.encode(bytes)}),
        };
        (name.clone(), value)
    });
    attributes.collect()
}
