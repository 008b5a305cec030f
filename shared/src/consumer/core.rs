//! What a consumer keeps between invocations: clients, settings, circuit and rate. Nothing of a message survives here.

use std::sync::Arc;

use super::circuit::Circuit;
use super::handler::Handler;
use super::rate::RateLimit;
use super::settings::ConsumerSettings;
use crate::clock::Clock;
use crate::idempotency::{ClaimRules, Ledger};
use crate::job::{DataUse, JobKind, JobPayload};
use crate::observability::Metrics;
use crate::queue::Queue;

/// The parts that every record of a consumer is worked on with.
pub(super) struct Core<H: Handler> {
    pub(super) handler: H,
    pub(super) kind: JobKind,
    pub(super) settings: ConsumerSettings,
    pub(super) ledger: Ledger,
    pub(super) queue: Arc<dyn Queue>,
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

    /// Whether a message received this often must not simply come back: its next receives could be its last.
    pub(super) fn receives_run_low(&self, receive_count: u32) -> bool {
        receive_count.saturating_add(1) >= self.settings.max_receive_count
    }
}
