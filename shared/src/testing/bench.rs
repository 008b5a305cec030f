//! A consumer on the bench: memory store, memory queue, a clock that the test moves.

use std::sync::Arc;

use aws_lambda_events::sqs::SqsMessage;

use super::memory_queue::MemoryQueue;
use super::message::MessageBuilder;
use super::watched_store::WatchedStore;
use crate::clock::{EpochMillis, ManualClock};
use crate::config::Reader;
use crate::consumer::{BatchError, BatchProcessor, ConsumerSettings, Handler, IncomingEvent, Invocation};
use crate::idempotency::{JobRecord, MemoryStore};

/// Settings of a consumer on queue `email` with the documented defaults, except that the invocation does not error when everything
/// fails: tests want to see the answer.
///
/// # Panics
/// Never: the settings are valid.
#[must_use]
pub fn settings() -> ConsumerSettings {
    let mut reader = Reader::from_pairs([
        ("IKKAI_SERVICE", "bench"),
        ("IKKAI_JOBS_TABLE", "jobs"),
        ("IKKAI_QUEUE_NAME", "email"),
        ("IKKAI_MAX_RECEIVE_COUNT", "6"),
        ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30"),
        ("IKKAI_ERROR_WHEN_ALL_FAIL", "off"),
    ]);
    let settings = ConsumerSettings::read(&mut reader);
    reader.finish(settings).expect("valid settings")
}

/// A [`BatchProcessor`] with everything around it in memory.
pub struct Bench<H: Handler> {
    /// The store behind the watch.
    pub records: Arc<MemoryStore>,
    /// What was asked of the table; faults.
    pub store: Arc<WatchedStore>,
    /// What was asked of the queue; faults.
    pub queue: Arc<MemoryQueue>,
    /// The time.
    pub clock: ManualClock,
    /// The processor.
    pub processor: BatchProcessor<H>,
    settings: ConsumerSettings,
}

impl<H: Handler> std::fmt::Debug for Bench<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What came out of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRun {
    /// Message ids that were reported as failed, in order.
    pub failed: Vec<String>,
    /// The metric lines.
    pub metrics: String,
}

impl<H: Handler> Bench<H> {
    /// The moment every bench starts at, one second after its messages were sent.
    pub const START: EpochMillis = EpochMillis::from_i64(1_800_000_001_000);

    /// A bench with [`settings`].
    #[must_use]
    pub fn new(handler: H) -> Self {
        Self::with(handler, settings())
    }

    /// A bench with other settings.
    #[must_use]
    pub fn with(handler: H, settings: ConsumerSettings) -> Self {
        let records = Arc::new(MemoryStore::new());
        let store = Arc::new(WatchedStore::new(records.clone()));
        let queue = Arc::new(MemoryQueue::new());
        let clock = ManualClock::new(Self::START);
        let processor = BatchProcessor::new(handler, settings.clone(), store.clone(), queue.clone(), Arc::new(clock.clone()));
        Self { records, store, queue, clock, processor, settings }
    }

    /// Another worker on the same table and queue, as another sandbox would be.
    #[must_use]
    pub fn another_worker<G: Handler>(&self, handler: G) -> Bench<G> {
        let (records, store, queue, clock) = (self.records.clone(), self.store.clone(), self.queue.clone(), self.clock.clone());
        let processor =
            BatchProcessor::new(handler, self.settings.clone(), store.clone(), queue.clone(), Arc::new(clock.clone()));
        Bench { records, store, queue, clock, processor, settings: self.settings.clone() }
    }

    /// Runs a batch with the configured function timeout as its deadline.
    ///
    /// # Errors
    /// When the invocation as a whole fails.
    pub async fn run_batch(&self, messages: impl IntoIterator<Item = SqsMessage>) -> Result<BatchRun, BatchError> {
        let now = crate::clock::Clock::now(&self.clock);
        self.run_until(messages, Some(now + self.settings.function_timeout)).await
    }

    /// Runs a batch with a deadline of your choice.
    ///
    /// # Errors
    /// When the invocation as a whole fails.
    pub async fn run_until(
        &self,
        messages: impl IntoIterator<Item = SqsMessage>,
        deadline: Option<EpochMillis>,
    ) -> Result<BatchRun, BatchError> {
        let event = IncomingEvent { records: Some(messages.into_iter().collect()) };
        let invocation = Invocation { request_id: "request-1".to_owned(), deadline };
        let mut metrics = Vec::new();
        let response = self.processor.process(event, &invocation, &mut metrics).await?;
        Ok(BatchRun {
            failed: response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect(),
            metrics: String::from_utf8_lossy(&metrics).into_owned(),
        })
    }

    /// The record of a message's job.
    #[must_use]
    pub fn record_of(&self, message: &MessageBuilder) -> Option<JobRecord> {
        let job_id = message.job_id()?;
        self.records.all().into_iter().find(|record| record.job_id == job_id)
    }
}
