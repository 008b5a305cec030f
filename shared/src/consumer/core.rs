//! What a consumer keeps between invocations: clients, settings, circuit and rate. Nothing of a message survives here.

use std::sync::Arc;
use std::time::Duration;

use super::circuit::Circuit;
use super::handler::Handler;
use super::rate::RateLimit;
use super::received::Received;
use super::settings::ConsumerSettings;
use crate::clock::{Clock, EpochMillis};
use crate::idempotency::{ClaimRules, Ledger};
use crate::job::{DataUse, JobKind, JobPayload};
use crate::observability::Metrics;
use crate::queue::{MAX_ENTRIES, Queue, QueueName, VisibilityChange, change_each};

/// The parts that every record of a consumer is worked on with.
pub(super) struct Core<H: Handler> {
    pub(super) handler: H,
    pub(super) kind: JobKind,
    pub(super) settings: ConsumerSettings,
    pub(super) ledger: Ledger,
    pub(super) queue: Arc<dyn Queue>,
    /// Where completion events go.
    pub(super) events: Option<(QueueName, Arc<dyn Queue>)>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Metrics,
    pub(super) circuit: Circuit,
    pub(super) rate: Option<RateLimit>,
}

impl<H: Handler> Core<H> {
    pub(super) fn rules(&self) -> ClaimRules {
        ClaimRules {
            max_attempts: self.settings.max_attempts,
            max_generations: self.settings.max_generations,
            needs_data: H::Payload::DATA == DataUse::Required,
            effect: self.handler.effect_policy(),
        }
    }

    pub(super) fn is_fifo(&self) -> bool {
        self.settings.queue_name.is_fifo()
    }

    /// Whether a message must not simply come back at this moment: its next receive could be its last, or the queue's retention could
    /// remove it. Retention is counted from the send, so the first half of it is enough for anything ordinary.
    pub(super) fn must_be_renewed(&self, received: &Received, back_at: EpochMillis) -> bool {
        let receives_run_low = received.receive_count.saturating_add(1) >= self.settings.max_receive_count;
        let grows_old = received.sent_at.is_some_and(|sent| back_at.since(sent) > self.settings.queue_retention / 2);
        receives_run_low || grows_old
    }

    /// Whether SQS gives this message to nobody any more: the next time it would, it moves to the DLQ.
    pub(super) fn is_last_receive(&self, received: &Received) -> bool {
        received.receive_count >= self.settings.max_receive_count
    }

    /// Whether a message that comes back is lost for its consumer: on its last receive, on a queue without renewal.
    pub(super) fn is_last_chance(&self, received: &Received) -> bool {
        self.is_fifo() && self.is_last_receive(received)
    }

    /// Time until `end`, and no more than a call to the queue is worth.
    pub(super) fn patience(&self, end: EpochMillis) -> Duration {
        end.since(self.clock.now()).min(QUEUE_PATIENCE)
    }

    /// Changes visibilities in batches of ten, side by side. What fails is logged and fails nothing: the message comes back later.
    pub(super) async fn change_visibility(&self, changes: &[VisibilityChange], end: EpochMillis) {
        let patience = self.patience(end);
        let calls = changes.chunks(MAX_ENTRIES).map(|batch| async move {
            match tokio::time::timeout(patience, change_each(self.queue.as_ref(), batch)).await {
                Ok(Ok(verdicts)) => {
                    let errors: Vec<_> = verdicts.into_iter().filter_map(Result::err).collect();
                    if let Some(first) = errors.first() {
                        tracing::warn!(messages = errors.len(), error = %first, "visibility call failed");
                    }
                }
                Ok(Err(error)) => tracing::warn!(error = %error, "visibility call failed"),
                Err(_) => tracing::warn!(error = "no answer in time", "visibility call failed"),
            }
        });
        futures::future::join_all(calls).await;
    }
}

/// Longest time a batch waits for a call to the queue.
const QUEUE_PATIENCE: Duration = Duration::from_secs(5);
