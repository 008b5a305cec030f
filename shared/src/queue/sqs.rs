//! The [`Queue`] on Amazon SQS.

mod inbox;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, MessageAttributeValue, MessageSystemAttributeNameForSends,
    MessageSystemAttributeValue, QueueAttributeName, SendMessageBatchRequestEntry,
};
use tokio::sync::OnceCell;

use super::message::{AttributeData, AttributeValue, OutgoingMessage};
use super::queue_api::{Queue, QueueDepth, QueueError, QueueName, VisibilityChange};
use crate::visibility::visibility_seconds;

/// One SQS queue, known by name: its URL is looked up once, because hosts differ between regions, endpoints and local engines.
#[derive(Debug)]
pub struct SqsQueue {
    client: Client,
    name: QueueName,
    url: OnceCell<String>,
}

impl SqsQueue {
    /// The queue called `name`; nothing is asked yet.
    #[must_use]
    pub fn new(client: Client, name: QueueName) -> Self {
        Self { client, name, url: OnceCell::new() }
    }

    /// Looks the URL up, if it is not known yet. A function does this while it starts, which also opens its connection.
    ///
    /// # Errors
    /// When there is no such queue, or it does not answer.
    pub async fn connect(&self) -> Result<&str, QueueError> {
        let lookup = || async {
            let found = self.client.get_queue_url().queue_name(self.name.as_str()).send();
            let found = Box::pin(found).await.map_err(|error| queue_error("GetQueueUrl", &error))?;
            found.queue_url.ok_or_else(|| unavailable("GetQueueUrl", "the answer holds no URL"))
        };
        self.url.get_or_try_init(lookup).await.map(String::as_str)
    }

    async fn send_one(&self, url: &str, message: &OutgoingMessage) -> Result<(), QueueError> {
        let sent = self
            .client
            .send_message()
            .queue_url(url)
            .message_body(&message.body)
            .set_delay_seconds(delay_seconds(message))
            .set_message_attributes(attributes(message))
            .set_message_system_attributes(system_attributes(message))
            .set_message_group_id(message.group_id.clone())
            .set_message_deduplication_id(message.deduplication_id.clone())
            .send();
        Box::pin(sent).await.map(drop).map_err(|error| queue_error("SendMessage", &error))
    }
}

#[async_trait]
impl Queue for SqsQueue {
    async fn send(&self, messages: &[OutgoingMessage]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        let url = self.connect().await?;
        match messages {
            [] => return Ok(Vec::new()),
            [only] => return self.send_one(url, only).await.map(|()| vec![Ok(())]),
            _ => {}
        }
        let mut entries = Vec::with_capacity(messages.len());
        for (index, message) in messages.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(&message.body)
                .set_delay_seconds(delay_seconds(message))
                .set_message_attributes(attributes(message))
                .set_message_system_attributes(system_attributes(message))
                .set_message_group_id(message.group_id.clone())
                .set_message_deduplication_id(message.deduplication_id.clone())
                .build();
            entries.push(entry.map_err(|_| unavailable("SendMessageBatch", "an entry could not be built"))?);
        }
        let sent = self.client.send_message_batch().queue_url(url).set_entries(Some(entries)).send();
        let answer = Box::pin(sent).await.map_err(|error| queue_error("SendMessageBatch", &error))?;
        let done = answer.successful.iter().map(|entry| entry.id.as_str());
        Ok(verdicts("SendMessageBatch", messages.len(), done, &answer.failed))
    }

    async fn change_visibility(&self, changes: &[VisibilityChange]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let url = self.connect().await?;
        let mut entries = Vec::with_capacity(changes.len());
        for (index, change) in changes.iter().enumerate() {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(index.to_string())
                .receipt_handle(&change.receipt_handle)
                .visibility_timeout(visibility_seconds(change.visible_in))
                .build();
            entries.push(entry.map_err(|_| unavailable("ChangeMessageVisibilityBatch", "an entry could not be built"))?);
        }
        let sent = self.client.change_message_visibility_batch().queue_url(url).set_entries(Some(entries)).send();
        let answer = Box::pin(sent).await.map_err(|error| queue_error("ChangeMessageVisibilityBatch", &error))?;
        let done = answer.successful.iter().map(|entry| entry.id.as_str());
        Ok(verdicts("ChangeMessageVisibilityBatch", changes.len(), done, &answer.failed))
    }

    async fn depth(&self) -> Result<QueueDepth, QueueError> {
        let url = self.connect().await?;
        let asked = self
            .client
            .get_queue_attributes()
            .queue_url(url)
            .attribute_names(QueueAttributeName::ApproximateNumberOfMessages)
            .attribute_names(QueueAttributeName::ApproximateNumberOfMessagesNotVisible)
            .attribute_names(QueueAttributeName::ApproximateNumberOfMessagesDelayed)
            .send();
        let answer = Box::pin(asked).await.map_err(|error| queue_error("GetQueueAttributes", &error))?;
        let number = |name: QueueAttributeName| {
            answer.attributes.as_ref().and_then(|all| all.get(&name)).and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        Ok(QueueDepth {
            visible: number(QueueAttributeName::ApproximateNumberOfMessages),
            in_flight: number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
            delayed: number(QueueAttributeName::ApproximateNumberOfMessagesDelayed),
        })
    }
}

/// One verdict an entry: done, refused, or not mentioned at all (which counts as failed).
fn verdicts<'a>(
    operation: &'static str,
    count: usize,
    done: impl Iterator<Item = &'a str>,
    failed: &[BatchResultErrorEntry],
) -> Vec<Result<(), QueueError>> {
    let mut verdicts: Vec<_> =
        (0..count).map(|_| Err(unavailable(operation, "the answer names no verdict for this entry"))).collect();
    let mut put = |id: &str, verdict| {
        if let Some(slot) = id.parse::<usize>().ok().and_then(|index| verdicts.get_mut(index)) {
            *slot = verdict;
        }
    };
    for id in done {
        put(id, Ok(()));
    }
    for entry in failed {
        put(&entry.id, Err(entry_error(operation, &entry.code, entry.sender_fault)));
    }
    verdicts
}

fn entry_error(operation: &'static str, code: &str, sender_fault: bool) -> QueueError {
    if is_receipt_lost(operation, code) {
        QueueError::ReceiptLost
    } else if sender_fault {
        QueueError::Refused { operation, code: code.to_owned() }
    } else {
        unavailable(operation, code)
    }
}

fn queue_error<E>(operation: &'static str, error: &SdkError<E, HttpResponse>) -> QueueError
where
    E: ProvideErrorMetadata,
{
    match error {
        SdkError::ServiceError(refused) => {
            let code = refused.err().code().unwrap_or("no error code").to_owned();
            let status = refused.raw().status().as_u16();
            // Codes differ between protocols and endpoints; the status says whose fault it is.
            let is_passing = status >= 500 || status == 429 || code.contains("Throttl") || code.ends_with("OverLimit");
            if is_receipt_lost(operation, &code) {
                QueueError::ReceiptLost
            } else if is_passing {
                QueueError::Unavailable { operation, code }
            } else {
                QueueError::Refused { operation, code }
            }
        }
        SdkError::TimeoutError(_) => unavailable(operation, "timed out"),
        SdkError::DispatchFailure(_) => unavailable(operation, "no connection"),
        _ => unavailable(operation, "no readable answer"),
    }
}

/// A parameter that is invalid is the receipt where there is one, and something else in a message that is sent.
fn is_receipt_lost(operation: &str, code: &str) -> bool {
    let has_receipt = matches!(operation, "ChangeMessageVisibilityBatch" | "DeleteMessageBatch");
    has_receipt
        && ["ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"].iter().any(|known| code.ends_with(known))
}

fn unavailable(operation: &'static str, code: &str) -> QueueError {
    QueueError::Unavailable { operation, code: code.to_owned() }
}

fn delay_seconds(message: &OutgoingMessage) -> Option<i32> {
    let seconds = visibility_seconds(message.delay.min(OutgoingMessage::MAX_DELAY));
    (seconds > 0).then_some(seconds)
}

fn attributes(message: &OutgoingMessage) -> Option<std::collections::HashMap<String, MessageAttributeValue>> {
    let built = message.attributes.iter().filter_map(|(name, AttributeValue { data_type, value })| {
        let builder = MessageAttributeValue::builder().data_type(data_type);
        let builder = match value {
            AttributeData::Text(text) => builder.string_value(text),
            AttributeData::Bytes(bytes) => builder.binary_value(Blob::new(bytes.clone())),
        };
        Some((name.clone(), builder.build().ok()?))
    });
    (!message.attributes.is_empty()).then(|| built.collect())
}

fn system_attributes(
    message: &OutgoingMessage,
) -> Option<std::collections::HashMap<MessageSystemAttributeNameForSends, MessageSystemAttributeValue>> {
    let header = message.trace_header.as_ref()?;
    let value = MessageSystemAttributeValue::builder().data_type("String").string_value(header).build().ok()?;
    Some(std::collections::HashMap::from([(MessageSystemAttributeNameForSends::AwsTraceHeader, value)]))
}
