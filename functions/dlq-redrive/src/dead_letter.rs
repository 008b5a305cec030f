//! A message of a dead-letter queue, with what it holds and what is recorded about it.

use ikkai::consumer::{MessageContent, contents};
use ikkai::idempotency::{JobRecord, JobStore, StoreError};
use ikkai::job::JobId;
use ikkai::queue::ReceivedMessage;

use crate::queues::StackQueue;

/// A message with its jobs and their records.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The message.
    pub message: ReceivedMessage,
    /// What it holds, in order; at least one place.
    pub places: Vec<Place>,
}

/// One place of a message.
#[derive(Debug, Clone)]
pub struct Place {
    /// What stands there.
    pub content: MessageContent,
    /// The record of it, where there is one.
    pub record: Option<JobRecord>,
}

impl Place {
    /// Key of the record.
    #[must_use]
    pub fn job_id(&self) -> Option<&JobId> {
        match &self.content {
            MessageContent::Job { job_id, .. } | MessageContent::Unreadable { job_id, .. } => Some(job_id),
            _ => None,
        }
    }
}

impl DeadLetter {
    /// Reads what the message holds and what is recorded about it: one read for each job, strongly consistent.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn read(message: ReceivedMessage, queue: &StackQueue, records: &dyn JobStore) -> Result<Self, StoreError> {
        let mut places = Vec::new();
        for content in contents(&message.body, queue.kind, queue.queue_name.as_str(), &message.message_id) {
            let record = match &content {
                MessageContent::Job { job_id, .. } | MessageContent::Unreadable { job_id, .. } => records.get(job_id).await?,
                _ => None,
            };
            places.push(Place { content, record });
        }
        Ok(Self { message, places })
    }

    /// The jobs in the message.
    pub fn job_ids(&self) -> impl Iterator<Item = &JobId> {
        self.places.iter().filter_map(Place::job_id)
    }
}
