//! A message as it came from the queue, with what the pipeline reads out of its envelope.

use std::collections::HashMap;

use aws_lambda_events::sqs::SqsMessage;

use super::batch::BatchError;
use crate::clock::EpochMillis;
use crate::observability::TraceHeader;
use crate::queue::QueueName;

/// One record of an invocation.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) message: SqsMessage,
    pub(super) message_id: String,
    pub(super) receipt_handle: Option<String>,
    pub(super) receive_count: u32,
    pub(super) sent_at: Option<EpochMillis>,
    pub(super) group_id: Option<String>,
    pub(super) trace: Option<TraceHeader>,
}

impl Received {
    /// Reads a record. Null and missing parts are tolerated, and garbage counts read as one; only an id is a must, because without
    /// it nothing can be reported: an empty `itemIdentifier` fails the whole batch
    /// (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>).
    pub(super) fn new(message: SqsMessage, queue: &QueueName) -> Result<Self, BatchError> {
        if message.event_source.as_deref().is_some_and(|source| source != "aws:sqs") {
            return Err(BatchError::NotFromSqs);
        }
        if let Some(source) = message.event_source_arn.as_deref().and_then(QueueName::from_arn)
            && source != *queue
        {
            return Err(BatchError::OtherQueue {
                configured: queue.as_str().to_owned(),
                source_queue: source.as_str().to_owned(),
            });
        }
        let message_id = message.message_id.clone().filter(|id| !id.trim().is_empty()).ok_or(BatchError::RecordWithoutId)?;
        let attribute = |name: &str| message.attributes.get(name);
        Ok(Self {
            message_id,
            receipt_handle: message.receipt_handle.clone().filter(|handle| !handle.is_empty()),
            receive_count: attribute("ApproximateReceiveCount").and_then(|count| count.parse().ok()).unwrap_or(1).max(1),
            sent_at: attribute("SentTimestamp").and_then(|time| time.parse().ok()).map(EpochMillis::from_i64),
            group_id: attribute("MessageGroupId").cloned(),
            trace: attribute("AWSTraceHeader").and_then(|header| TraceHeader::parse(header)),
            message,
        })
    }

    pub(super) fn body(&self) -> &str {
        self.message.body.as_deref().unwrap_or_default()
    }
}

/// Each message of a batch once, where it stood first. A standard queue may hand a message out twice, also into one batch
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues-at-least-once-delivery.html>):
///
/// ```text
/// the first appearance claims the job, fails, and waits for its backoff
/// the second one finds the job claimed, and waits for the end of the lease: its call comes last and is what SQS keeps
/// ```
///
/// So there is one run, one visibility and one report; and what the first appearance has done is known to be done. The newest receipt counts,
/// because SQS may ignore an older one. Equal ids over different bodies are not SQS's doing: nothing is known about one from the other.
pub(super) fn each_once(all: Vec<Received>) -> Vec<Received> {
    let mut places: HashMap<String, Vec<usize>> = HashMap::with_capacity(all.len());
    let mut once: Vec<Received> = Vec::with_capacity(all.len());
    for received in all {
        let of_this_id = places.entry(received.message_id.clone()).or_default();
        match of_this_id.iter().copied().find(|&place| once[place].message.body == received.message.body) {
            Some(place) if received.receive_count >= once[place].receive_count => once[place] = received,
            Some(_) => {}
            None => {
                of_this_id.push(once.len());
                once.push(received);
            }
        }
    }
    once
}
