//! A batch through a consumer.
//!
//! ```text
//! opening visibility call ─┐
//! lanes, side by side ─────┴─▶ jobs whose last worker died, one by one ─▶ visibility and renewals ─▶ report
//! ```

use std::io::Write;
use std::sync::Arc;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsMessage};
use futures::StreamExt;
use serde::Deserialize;

use super::budget::{Budget, Lease};
use super::circuit::Circuit;
use super::closing::{Closing, Follows, Settled};
use super::core::Core;
use super::entry::{Entry, entries};
use super::handler::Handler;
use super::lane::{Lane, lanes};
use super::outcome::Outcome;
use super::rate::RateLimit;
use super::received::{Received, each_once};
use super::record::{JobRun, Stop, Turn};
use super::report;
use super::settings::{ConsumerSettings, FifoAfterDeath};
use crate::clock::{Clock, EpochMillis};
use crate::idempotency::{JobStore, Ledger};
use crate::job::JobKind;
use crate::observability::Metrics;
use crate::queue::{Queue, VisibilityChange};
use crate::visibility::{Heartbeat, Pace};

/// An event for a consumer, read with patience: what is not an SQS event becomes one clear error instead of a crash.
#[derive(Debug, Deserialize)]
pub struct IncomingEvent {
    /// The messages; `None` for an event of another kind.
    #[serde(rename = "Records", default)]
    pub records: Option<Vec<SqsMessage>>,
}

/// What the runtime says about an invocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Lambda's request id.
    pub request_id: String,
    /// When Lambda ends the invocation, if it says so.
    pub deadline: Option<EpochMillis>,
}

/// Why an invocation fails as a whole: every message comes back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// No `Records`.
    #[error("the event has no `Records`: this function works on SQS messages; check its trigger")]
    NotAnSqsEvent,
    /// `Records` of something else.
    #[error("the event's records do not come from SQS: this function works on SQS messages; check its trigger")]
    NotFromSqs,
    /// Messages of another queue.
    #[error(
        "the messages come from queue {source_queue}, but IKKAI_QUEUE_NAME is {configured}; make the mapping and the setting agree"
    )]
    OtherQueue {
        /// What is configured.
        configured: String,
        /// Where the messages come from.
        source_queue: String,
    },
    /// A record that cannot be reported.
    #[error("a record has no messageId, so nothing could be reported about it; the whole batch comes back")]
    RecordWithoutId,
    /// Nothing worked, and the mapping shall slow down.
    #[error(
        "every one of {started} started jobs failed in a way that may go away; the mapping slows down (IKKAI_ERROR_WHEN_ALL_FAIL)"
    )]
    AllFailed {
        /// How many were started.
        started: usize,
    },
}

impl BatchError {
    /// Stable machine name, Lambda's `errorType`.
    #[must_use]
    pub const fn error_type(&self) -> &'static str {
        match self {
            Self::NotAnSqsEvent => "Ikkai.NotAnSqsEvent",
            Self::NotFromSqs => "Ikkai.NotFromSqs",
            Self::OtherQueue { .. } => "Ikkai.OtherQueue",
            Self::RecordWithoutId => "Ikkai.RecordWithoutId",
            Self::AllFailed { .. } => "Ikkai.AllFailed",
        }
    }
}

/// Works on batches of one consumer. Cheap to share; invocations may run side by side.
pub struct BatchProcessor<H: Handler> {
    core: Core<H>,
}

impl<H: Handler> std::fmt::Debug for BatchProcessor<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchProcessor").field("settings", &self.core.settings).finish_non_exhaustive()
    }
}

impl<H: Handler> BatchProcessor<H> {
    /// A processor for `handler`.
    #[must_use]
    pub fn new(
        handler: H,
        settings: ConsumerSettings,
        store: Arc<dyn JobStore>,
        queue: Arc<dyn Queue>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let core = Core {
            handler,
            kind: JobKind::of::<H::Payload>(),
            ledger: Ledger::new(store, clock.clone()),
            queue,
            events: None,
            clock,
            metrics: Metrics::new(&settings.metrics_namespace, &settings.service),
            circuit: Circuit::new(settings.circuit_failures, settings.circuit_cooldown),
            rate: settings.provider_rate_per_second.map(|rate| RateLimit::new(rate, settings.max_concurrency)),
            settings,
        };
        Self { core }
    }

    /// The queue that completion events go to, the one called `events_queue_name` in the settings. Without that name there are no events.
    #[must_use]
    pub fn with_events(mut self, queue: Arc<dyn Queue>) -> Self {
        self.core.events = self.core.settings.events_queue_name.clone().map(|name| (name, queue));
        self
    }

    /// Works on one event and says which messages failed. Metrics go to `out`, one line a batch.
    ///
    /// # Errors
    /// When the event cannot be reported on record by record, or everything failed: every message comes back.
    pub async fn process(
        &self,
        event: IncomingEvent,
        invocation: &Invocation,
        out: &mut (dyn Write + Send),
    ) -> Result<SqsBatchResponse, BatchError> {
        let records = event.records.ok_or(BatchError::NotAnSqsEvent)?;
        if records.is_empty() {
            return Ok(SqsBatchResponse::default());
        }
        let queue = &self.core.settings.queue_name;
        let received = records.into_iter().map(|record| Received::new(record, queue)).collect::<Result<Vec<_>, _>>()?;
        let received = each_once(received);
        let budget = Budget::new(self.core.clock.now(), invocation.deadline, &self.core.settings);

        let entries = entries(&self.core, &received);
        let batch = Batch { received: &received, entries: &entries, budget, invocation };

        let settled = self.work_on_all(&batch).await;
        let closed = Closing::new(&self.core, &received, &entries, settled, budget.answer_by).close(invocation).await;

        if self.core.metrics.flush(self.core.clock.now(), out).is_err() {
            tracing::warn!("metrics could not be written");
        }
        closed
    }

    async fn work_on_all(&self, batch: &Batch<'_>) -> Vec<Settled> {
        let settings = &self.core.settings;
        let heartbeat = (batch.budget.lease == Lease::Chunks).then(|| {
            let (chunk, skew, margin) = (settings.lease_chunk, settings.lease_skew, settings.lease_margin);
            let pace = Pace { chunk, skew, margin, calls_end: batch.budget.heartbeat_end };
            let receipts = batch.received.iter().filter_map(|message| message.receipt_handle.clone()).collect();
            Heartbeat::new(self.core.queue.clone(), self.core.clock.clone(), pace, receipts)
        });
        let work = async {
            let lanes = lanes(batch.entries, batch.received, self.core.is_fifo());
            let side_by_side = futures::stream::iter(lanes)
                .map(|lane| self.work_on_lane(lane, batch, heartbeat.as_ref(), Turn::WithOthers))
                .buffer_unordered(settings.batch_concurrency)
                .collect::<Vec<_>>();
            let (lanes, ()) = futures::future::join(side_by_side, self.open(batch)).await;
            let mut settled = Vec::with_capacity(batch.entries.len());
            for (lane, done) in lanes {
                settled.extend(done);
                if lane.current().is_some() {
                    let (_, done) = self.work_on_lane(lane, batch, heartbeat.as_ref(), Turn::LastAndAlone).await;
                    settled.extend(done);
                }
            }
            if let Some(heartbeat) = &heartbeat {
                heartbeat.stop().await;
            }
            settled
        };
        match &heartbeat {
            None => work.await,
            Some(heartbeat) => tokio::select! {
                biased;
                settled = work => settled,
                () = heartbeat.beat() => Vec::new(),
            },
        }
    }

    /// One call for ten messages, beside the claims: a killed worker's messages come back when its leases end, and not after six
    /// times the function's timeout.
    async fn open(&self, batch: &Batch<'_>) {
        if !self.core.settings.opening_visibility {
            return;
        }
        let now = self.core.clock.now();
        let visible_in = batch.budget.lease_until(now, &self.core.settings).since(now) + self.core.settings.lease_margin;
        let changes: Vec<_> = batch
            .received
            .iter()
            .filter_map(|message| message.receipt_handle.clone())
            .map(|receipt_handle| VisibilityChange { receipt_handle, visible_in })
            .collect();
        self.core.change_visibility(&changes, batch.budget.handlers_end).await;
    }

    async fn work_on_lane(
        &self,
        mut lane: Lane,
        batch: &Batch<'_>,
        heartbeat: Option<&Heartbeat>,
        turn: Turn,
    ) -> (Lane, Vec<Settled>) {
        let hold_after_death = self.core.settings.fifo_after_death == FifoAfterDeath::HoldGroup;
        let mut settled = Vec::new();
        while let Some(index) = lane.current() {
            let entry = &batch.entries[index];
            let mut run = JobRun::new(&self.core, &batch.received[entry.message], entry, batch.budget, heartbeat, turn);
            let (outcome, follows) = if lane.is_blocked() {
                (run.leave().await, Follows::FailedHead)
            } else {
                let outcome = match run.work().await {
                    Ok(Outcome::NotStarted) | Err(Stop::Ended(Outcome::NotStarted)) => run.leave().await,
                    Ok(outcome) | Err(Stop::Ended(outcome)) => outcome,
                    Err(Stop::Postponed) => return (lane, settled),
                };
                (outcome, Follows::Nobody)
            };
            lane.pass(outcome.blocks(), hold_after_death, batch.entries);
            report::ended(&self.core, &batch.received[entry.message], &run, &outcome, batch.invocation);
            let at = self.core.clock.now();
            settled.push(Settled {
                entry: index,
                job_id: run.job_id,
                completion: run.completion,
                disposition: outcome.disposition(at),
                outcome,
                follows,
                at,
            });
        }
        (lane, settled)
    }
}

/// One invocation's messages, what they hold, and the time there is for them.
struct Batch<'a> {
    received: &'a [Received],
    entries: &'a [Entry],
    budget: Budget,
    invocation: &'a Invocation,
}
