//! The library without Lambda: a program that takes messages from a queue by itself.
//!
//! [`Poller::round`] is what Lambda's mapping does: it receives, has the batch worked on, and deletes what did not fail. Everything else is
//! the kit's: idempotency in DynamoDB, retries by visibility, renewal, reasons of dead jobs. What did not succeed becomes visible again when
//! the kit says so, and goes to the dead-letter queue after the queue's receives.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::sqs::SqsMessage;
use ikkai::clock::Clock;
use ikkai::consumer::{BatchError, BatchProcessor, Handler, IncomingEvent, Invocation};
use ikkai::queue::{Inbox, QueueError, QueueName, ReceivedMessage};
use serde_json::{Map, Value, json};

/// Longest wait for a message that SQS offers: an empty queue costs three requests a minute.
pub const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// Why a round ended early. Nothing is lost: what was received and not deleted comes back.
#[derive(Debug, thiserror::Error)]
pub enum PollError {
    /// The queue did not answer.
    #[error("the queue does not answer")]
    Queue(#[from] QueueError),
    /// The batch failed as a whole.
    #[error("the batch failed as a whole")]
    Batch(#[from] BatchError),
    /// A message that is not what SQS hands out.
    #[error("a received message cannot be read")]
    Message(#[from] serde_json::Error),
}

/// Takes messages from a queue and has them worked on.
pub struct Poller<H: Handler> {
    inbox: Arc<dyn Inbox>,
    processor: BatchProcessor<H>,
    clock: Arc<dyn Clock>,
    queue: QueueName,
    /// How long a batch may take, as a function's timeout; messages stay hidden for six of it, as a mapping's queue has them.
    timeout: Duration,
}

impl<H: Handler> Poller<H> {
    /// A poller whose batches may take `timeout`, the processor's function timeout.
    #[must_use]
    pub fn new(
        inbox: Arc<dyn Inbox>,
        processor: BatchProcessor<H>,
        clock: Arc<dyn Clock>,
        queue: QueueName,
        timeout: Duration,
    ) -> Self {
        Self { inbox, processor, clock, queue, timeout }
    }

    /// Waits for messages for up to `wait`, works on what came, and says how many messages were done with.
    ///
    /// # Errors
    /// See [`PollError`].
    pub async fn round(&self, wait: Duration, metrics: &mut (dyn Write + Send)) -> Result<usize, PollError> {
        let received = self.inbox.receive(10, self.timeout * 6, wait).await?;
        if received.is_empty() {
            return Ok(0);
        }
        let records = received.iter().map(|message| record(message, &self.queue)).collect::<Result<_, _>>()?;
        let event = IncomingEvent { records: Some(records) };
        let invocation = Invocation { request_id: String::new(), deadline: Some(self.clock.now() + self.timeout) };
        let response = self.processor.process(event, &invocation, metrics).await?;
        let failed = |message: &&ReceivedMessage| {
            response.batch_item_failures.iter().any(|failure| failure.item_identifier == message.message_id)
        };
        let done: Vec<String> =
            received.iter().filter(|message| !failed(message)).map(|message| message.receipt_handle.clone()).collect();
        if !done.is_empty() {
            // What cannot be deleted comes again, and its job's record knows that it is done.
            self.inbox.delete(&done).await?;
        }
        Ok(done.len())
    }
}

/// The message as a mapping hands it to a function.
fn record(message: &ReceivedMessage, queue: &QueueName) -> Result<SqsMessage, serde_json::Error> {
    let attributes = [
        ("ApproximateReceiveCount", Some(message.receive_count.to_string())),
        ("SentTimestamp", message.sent_at.map(|at| at.as_i64().to_string())),
        ("AWSTraceHeader", message.trace_header.clone()),
        ("MessageGroupId", message.group_id.clone()),
        ("MessageDeduplicationId", message.deduplication_id.clone()),
    ];
    let attributes: Map<String, Value> =
        attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?)))).collect();
    serde_json::from_value(json!({
        "messageId": message.message_id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": attributes,
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        // The kit looks at the name alone.
        "eventSourceARN": format!("arn:aws:sqs:::{}", queue.as_str()),
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use ikkai::consumer::{Done, Failure, JobContext};
    use ikkai::idempotency::Status;
    use ikkai::job::{EmailSend, Job};
    use ikkai::queue::{OutgoingMessage, Queue};
    use ikkai::testing::{MemorySqs, MemoryStore, MessageBuilder, TokioClock, settings};

    use super::*;

    /// Fails at its first try.
    #[derive(Clone, Default)]
    struct Flaky(Arc<AtomicU32>);

    impl Handler for Flaky {
        type Payload = EmailSend;

        async fn handle(&self, _job: &Job<EmailSend>, _context: &JobContext) -> Result<Done, Failure> {
            match self.0.fetch_add(1, Ordering::SeqCst) {
                0 => Err(Failure::retry("not_yet", "the first try fails").surely_not_done()),
                _ => Ok(Done::new()),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_job_comes_back_and_a_message_that_is_sent_twice_is_worked_on_once() {
        let clock = TokioClock::new(ikkai::clock::EpochMillis::from_i64(1_800_000_000_000));
        let sqs = MemorySqs::new(Arc::new(clock.clone()));
        let (queue, _) = sqs.create_pair("email", 6);
        let (records, handler) = (Arc::new(MemoryStore::new()), Flaky::default());
        let processor = BatchProcessor::new(handler.clone(), settings(), records.clone(), queue.clone(), Arc::new(clock.clone()));
        let timeout = settings().function_timeout;
        let poller = Poller::new(queue.clone(), processor, Arc::new(clock.clone()), QueueName::new("email"), timeout);

        let message = MessageBuilder::email("mail-1");
        let body = OutgoingMessage::new(message.build().body.unwrap());
        queue.send(&[body.clone(), body]).await.unwrap();
        let mut done = 0;
        for _ in 0..10 {
            done += poller.round(Duration::ZERO, &mut Vec::new()).await.unwrap();
            tokio::time::advance(Duration::from_secs(60)).await;
        }
        assert_eq!((done, sqs.messages("email").len()), (2, 0), "both messages are deleted");
        assert_eq!(handler.0.load(Ordering::SeqCst), 2, "one try that failed, one that did not");
        let record = records.all().remove(0);
        assert_eq!((records.all().len(), record.status, record.attempts), (1, Status::Succeeded, 2));
    }
}
