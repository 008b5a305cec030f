//! A consumer on the bench: memory store, memory queue, a clock that the test moves or that follows tokio's.

use std::sync::Arc;

use aws_lambda_events::sqs::SqsMessage;

use super::memory_queue::MemoryQueue;
use super::message::MessageBuilder;
use super::tokio_clock::TokioClock;
use super::watched_store::WatchedStore;
use crate::clock::{Clock, EpochMillis, ManualClock};
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
///
/// Its clock `C` is a [`ManualClock`] that the test moves, or a [`TokioClock`] where handlers, faults and heartbeats take (paused) time.
pub struct Bench<H: Handler, C: Clock + Clone = ManualClock> {
    /// The store behind the watch.
    pub records: Arc<MemoryStore>,
    /// What was asked of the table; faults.
    pub store: Arc<WatchedStore>,
    /// What was asked of the queue; faults.
    pub queue: Arc<MemoryQueue>,
    /// What was sent to the queue of completion events; faults. In use where the settings name an `events_queue_name`.
    pub events: Arc<MemoryQueue>,
    /// The time.
    pub clock: C,
    /// The processor.
    pub processor: BatchProcessor<H>,
    settings: ConsumerSettings,
}

impl<H: Handler, C: Clock + Clone> std::fmt::Debug for Bench<H, C> {
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

/// The moment every bench starts at, one second after its messages were sent.
const START: EpochMillis = EpochMillis::from_i64(1_800_000_001_000);

impl<H: Handler> Bench<H> {
    /// A bench with [`settings`] whose clock stands still until it is moved.
    #[must_use]
    pub fn new(handler: H) -> Self {
        Self::with(handler, settings())
    }

    /// Such a bench with other settings.
    #[must_use]
    pub fn with(handler: H, settings: ConsumerSettings) -> Self {
        Self::with_clock(handler, settings, ManualClock::new(START))
    }
}

impl<H: Handler> Bench<H, TokioClock> {
    /// A bench with [`settings`] whose clock follows tokio's.
    #[must_use]
    pub fn timed(handler: H) -> Self {
        Self::timed_with(handler, settings())
    }

    /// Such a bench with other settings.
    #[must_use]
    pub fn timed_with(handler: H, settings: ConsumerSettings) -> Self {
        Self::with_clock(handler, settings, TokioClock::new(START))
    }
}

impl<H: Handler, C: Clock + Clone> Bench<H, C> {
    /// The moment every bench starts at, one second after its messages were sent.
    pub const START: EpochMillis = START;

    fn with_clock(handler: H, settings: ConsumerSettings, clock: C) -> Self {
        let records = Arc::new(MemoryStore::new());
        let store = Arc::new(WatchedStore::new(records.clone()));
        let (queue, events) = (Arc::new(MemoryQueue::new()), Arc::new(MemoryQueue::new()));
        let processor = BatchProcessor::new(handler, settings.clone(), store.clone(), queue.clone(), Arc::new(clock.clone()))
            .with_events(events.clone());
        Self { records, store, queue, events, clock, processor, settings }
    }

    /// Another worker on the same table and queue, as another sandbox would be.
    #[must_use]
    pub fn another_worker<G: Handler>(&self, handler: G) -> Bench<G, C> {
        self.worker_with_clock(handler, self.clock.clone())
    }

    /// Another worker whose machine shows another time.
    #[must_use]
    pub fn worker_with_clock<G: Handler>(&self, handler: G, clock: C) -> Bench<G, C> {
        let (records, store) = (self.records.clone(), self.store.clone());
        let (queue, events) = (self.queue.clone(), self.events.clone());
        let settings = self.settings.clone();
        let processor = BatchProcessor::new(handler, settings.clone(), store.clone(), queue.clone(), Arc::new(clock.clone()))
            .with_events(events.clone());
        Bench { records, store, queue, events, clock, processor, settings }
    }

    /// Runs a batch with the configured function timeout as its deadline.
    ///
    /// # Errors
    /// When the invocation as a whole fails.
    pub async fn run_batch(&self, messages: impl IntoIterator<Item = SqsMessage>) -> Result<BatchRun, BatchError> {
        self.run_until(messages, Some(self.clock.now() + self.settings.function_timeout)).await
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
