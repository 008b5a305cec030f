//! Receiving and deleting by hand.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};

use super::{SqsQueue, queue_error, unavailable, verdicts};
use crate::aws::OPERATION_TIMEOUT;
use crate::clock::EpochMillis;
use crate::queue::inbox::{Inbox, ReceivedMessage};
use crate::queue::message::{AttributeData, AttributeValue, MessageAttributes};
use crate::queue::queue_api::{QueueError, QueueName};
use crate::visibility::visibility_seconds;

/// What is asked for beside the body.
const SYSTEM_ATTRIBUTES: [MessageSystemAttributeName; 6] = [
    MessageSystemAttributeName::ApproximateReceiveCount,
    MessageSystemAttributeName::AwsTraceHeader,
    MessageSystemAttributeName::DeadLetterQueueSourceArn,
    MessageSystemAttributeName::MessageDeduplicationId,
    MessageSystemAttributeName::MessageGroupId,
    MessageSystemAttributeName::SentTimestamp,
];

/// The longest wait of a receive.
const MAX_WAIT: Duration = Duration::from_secs(20);

#[async_trait]
impl Inbox for SqsQueue {
    async fn receive(&self, max: usize, visible_in: Duration, wait: Duration) -> Result<Vec<ReceivedMessage>, QueueError> {
        let url = self.connect().await?;
        let asked = self
            .client
            .receive_message()
            .queue_url(url)
            .max_number_of_messages(i32::try_from(max.clamp(1, 10)).unwrap_or(10))
            .visibility_timeout(visibility_seconds(visible_in))
            .wait_time_seconds(visibility_seconds(wait.min(MAX_WAIT)))
            .message_attribute_names("All")
            .set_message_system_attribute_names(Some(SYSTEM_ATTRIBUTES.to_vec()))
            .customize()
            .config_override(aws_sdk_sqs::Config::builder().timeout_config(patience(wait)));
        let answer = Box::pin(asked.send()).await.map_err(|error| queue_error("ReceiveMessage", &error))?;
        Ok(answer.messages.unwrap_or_default().into_iter().filter_map(received).collect())
    }

    async fn delete(&self, receipt_handles: &[String]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        if receipt_handles.is_empty() {
            return Ok(Vec::new());
        }
        let url = self.connect().await?;
        let mut entries = Vec::with_capacity(receipt_handles.len());
        for (index, handle) in receipt_handles.iter().enumerate() {
            let entry = DeleteMessageBatchRequestEntry::builder().id(index.to_string()).receipt_handle(handle).build();
            entries.push(entry.map_err(|_| unavailable("DeleteMessageBatch", "an entry could not be built"))?);
        }
        let sent = self.client.delete_message_batch().queue_url(url).set_entries(Some(entries)).send();
        let answer = Box::pin(sent).await.map_err(|error| queue_error("DeleteMessageBatch", &error))?;
        let done = answer.successful.iter().map(|entry| entry.id.as_str());
        Ok(verdicts("DeleteMessageBatch", receipt_handles.len(), done, &answer.failed))
    }
}

/// A receive that waits on purpose is not a call that hangs, and ten messages may have ten megabytes: giving up on them hides them.
const ARRIVES_WITHIN: Duration = Duration::from_secs(15);

fn patience(wait: Duration) -> TimeoutConfig {
    let attempt = wait.min(MAX_WAIT) + ARRIVES_WITHIN;
    TimeoutConfig::builder().operation_attempt_timeout(attempt).operation_timeout(attempt + OPERATION_TIMEOUT).build()
}

/// Without an id or a handle nothing can be done about a message; it comes out again.
fn received(message: Message) -> Option<ReceivedMessage> {
    let system = message.attributes.unwrap_or_default();
    let attribute = |name: MessageSystemAttributeName| system.get(&name).filter(|value| !value.is_empty()).cloned();
    Some(ReceivedMessage {
        message_id: message.message_id?,
        receipt_handle: message.receipt_handle?,
        body: message.body.unwrap_or_default(),
        attributes: attributes(message.message_attributes.unwrap_or_default()),
        trace_header: attribute(MessageSystemAttributeName::AwsTraceHeader),
        group_id: attribute(MessageSystemAttributeName::MessageGroupId),
        deduplication_id: attribute(MessageSystemAttributeName::MessageDeduplicationId),
        sent_at: attribute(MessageSystemAttributeName::SentTimestamp)
            .and_then(|time| time.parse().ok())
            .map(EpochMillis::from_i64),
        receive_count: attribute(MessageSystemAttributeName::ApproximateReceiveCount)
            .and_then(|count| count.parse().ok())
            .unwrap_or(1),
        source: attribute(MessageSystemAttributeName::DeadLetterQueueSourceArn).and_then(|arn| QueueName::from_arn(&arn)),
    })
}

fn attributes(found: std::collections::HashMap<String, aws_sdk_sqs::types::MessageAttributeValue>) -> MessageAttributes {
    let attributes = found.into_iter().filter_map(|(name, attribute)| {
        let is_binary = attribute.data_type.starts_with("Binary");
        let value = match (attribute.string_value, attribute.binary_value) {
            (_, Some(bytes)) if is_binary => AttributeData::Bytes(bytes.into_inner()),
            (Some(text), _) => AttributeData::Text(text),
            (None, Some(bytes)) => AttributeData::Bytes(bytes.into_inner()),
            (None, None) => return None,
        };
        Some((name, AttributeValue { data_type: attribute.data_type, value }))
    });
    let mut attributes: Vec<_> = attributes.collect();
    attributes.sort_by(|(left, _), (right, _)| left.cmp(right));
    attributes
}
