//! Queues of a check, and their messages.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_sdk_sqs::types::{
    Message, MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};

use super::lab::Lab;
use super::ledger::Made;
use super::trouble::{Doing, Trouble, part};

/// A queue.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) url: String,
    pub(super) arn: String,
}

/// Attributes of a queue.
pub(super) type Attributes = Vec<(QueueAttributeName, String)>;

impl Lab {
    /// Makes a queue. A name that ends in `.fifo` makes a FIFO queue.
    pub(super) async fn queue(&self, what: &str, attributes: Attributes) -> Result<Queue, Trouble> {
        let name = self.name(what);
        self.note(Made::Queue(name.clone()));
        let mut all: HashMap<_, _> = attributes.into_iter().collect();
        if name.ends_with(".fifo") {
            all.insert(QueueAttributeName::FifoQueue, "true".to_owned());
        }
        let set = (!all.is_empty()).then_some(all);
        let made = self.clients.sqs.create_queue().queue_name(name).set_attributes(set).send().await.doing("CreateQueue")?;
        let url = part(made.queue_url, "CreateQueue", "URL")?;
        let arn = self.attribute(&url, QueueAttributeName::QueueArn).await?;
        Ok(Queue { url, arn })
    }

    /// Makes a queue and its dead-letter queue.
    pub(super) async fn queue_with_dead_letters(
        &self,
        what: &str,
        visibility_seconds: u32,
        most_receives: u32,
    ) -> Result<(Queue, Queue), Trouble> {
        let dead = self.queue(&format!("{what}-dlq"), Vec::new()).await?;
        let policy = redrive_policy(&dead, most_receives);
        let attributes = vec![
            (QueueAttributeName::VisibilityTimeout, visibility_seconds.to_string()),
            (QueueAttributeName::RedrivePolicy, policy),
        ];
        Ok((self.queue(what, attributes).await?, dead))
    }

    pub(super) async fn attribute(&self, url: &str, name: QueueAttributeName) -> Result<String, Trouble> {
        let answer = self.clients.sqs.get_queue_attributes().queue_url(url).attribute_names(name.clone()).send().await;
        let value = answer.doing("GetQueueAttributes")?.attributes.and_then(|mut all| all.remove(&name));
        part(value, "GetQueueAttributes", "attribute")
    }

    /// How many messages a queue holds: to be received, and in flight or delayed.
    pub(super) async fn held(&self, queue: &Queue) -> Result<u64, Trouble> {
        use QueueAttributeName::{
            ApproximateNumberOfMessages, ApproximateNumberOfMessagesDelayed, ApproximateNumberOfMessagesNotVisible,
        };
        let names = [ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible, ApproximateNumberOfMessagesDelayed];
        let answer = self.clients.sqs.get_queue_attributes().queue_url(&queue.url).set_attribute_names(Some(names.to_vec()));
        let counts = answer.send().await.doing("GetQueueAttributes")?.attributes.unwrap_or_default();
        Ok(names.iter().filter_map(|name| counts.get(name)?.parse::<u64>().ok()).sum())
    }

    /// Sends a message and returns its id.
    pub(super) async fn send(&self, queue: &Queue, body: impl Into<String>) -> Result<String, Trouble> {
        let sent = self.clients.sqs.send_message().queue_url(&queue.url).message_body(body).send().await.doing("SendMessage")?;
        part(sent.message_id, "SendMessage", "message id")
    }

    /// Sends a message with attributes and returns its id.
    pub(super) async fn send_with(
        &self,
        queue: &Queue,
        body: &str,
        attributes: HashMap<String, MessageAttributeValue>,
    ) -> Result<String, Trouble> {
        let call = self.clients.sqs.send_message().queue_url(&queue.url).message_body(body);
        let sent = call.set_message_attributes(Some(attributes)).send().await.doing("SendMessage")?;
        part(sent.message_id, "SendMessage", "message id")
    }

    /// Sends up to ten messages in one call.
    pub(super) async fn send_all(&self, queue: &Queue, bodies: &[String]) -> Result<(), Trouble> {
        for ten in bodies.chunks(10) {
            let entry = |(number, body): (usize, &String)| {
                SendMessageBatchRequestEntry::builder().id(number.to_string()).message_body(body).build().ok()
            };
            let entries: Vec<_> = ten.iter().enumerate().filter_map(entry).collect();
            let call = self.clients.sqs.send_message_batch().queue_url(&queue.url).set_entries(Some(entries));
            let sent = call.send().await.doing("SendMessageBatch")?;
            if let Some(failed) = sent.failed.first() {
                return Err(Trouble::Call {
                    call: "SendMessageBatch".to_owned(),
                    code: Some(failed.code.clone()),
                    status: Some(200),
                    told: failed.message.clone().unwrap_or_default(),
                });
            }
        }
        Ok(())
    }

    /// Receives up to `most` messages, waiting up to `wait_seconds` for the first.
    pub(super) async fn receive(&self, queue: &Queue, most: i32, wait_seconds: i32) -> Result<Vec<Message>, Trouble> {
        let call = self.clients.sqs.receive_message().queue_url(&queue.url).max_number_of_messages(most);
        let call = call.wait_time_seconds(wait_seconds).message_attribute_names("All");
        let call = call.message_system_attribute_names(MessageSystemAttributeName::All);
        Ok(call.send().await.doing("ReceiveMessage")?.messages.unwrap_or_default())
    }

    /// Receives one message, which must come.
    pub(super) async fn receive_one(&self, queue: &Queue) -> Result<Message, Trouble> {
        self.eventually("a message", async || Ok(self.receive(queue, 1, 1).await?.into_iter().next())).await
    }

    /// Receives and deletes until `wanted` messages have come, or none for `quiet`.
    pub(super) async fn take(&self, queue: &Queue, wanted: usize, quiet: Duration) -> Result<Vec<Message>, Trouble> {
        let mut taken: Vec<Message> = Vec::new();
        let mut last = Instant::now();
        while taken.len() < wanted && last.elapsed() < quiet {
            for message in self.receive(queue, 10, 1).await? {
                last = Instant::now();
                let handle = message.receipt_handle.clone();
                self.delete(queue, handle).await?;
                if !taken.iter().any(|known| known.message_id == message.message_id) {
                    taken.push(message);
                }
            }
        }
        Ok(taken)
    }

    pub(super) async fn delete(&self, queue: &Queue, handle: Option<String>) -> Result<(), Trouble> {
        let call = self.clients.sqs.delete_message().queue_url(&queue.url).set_receipt_handle(handle);
        call.send().await.map(|_| ()).doing("DeleteMessage")
    }

    /// Sets the visibility timeout of a received message.
    pub(super) async fn change_visibility(&self, queue: &Queue, message: &Message, seconds: i32) -> Result<(), Trouble> {
        let call = self.clients.sqs.change_message_visibility().queue_url(&queue.url);
        let call = call.set_receipt_handle(message.receipt_handle.clone()).visibility_timeout(seconds);
        call.send().await.map(|_| ()).doing("ChangeMessageVisibility")
    }
}

/// A redrive policy as SQS takes it.
pub(super) fn redrive_policy(dead: &Queue, most_receives: u32) -> String {
    serde_json::json!({ "deadLetterTargetArn": dead.arn, "maxReceiveCount": most_receives }).to_string()
}

/// One of SQS's own attributes of a message.
pub(super) fn system_attribute(message: &Message, name: &MessageSystemAttributeName) -> Option<String> {
    message.attributes.as_ref()?.get(name).cloned()
}
