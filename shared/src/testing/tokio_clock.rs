//! A clock that follows tokio's time.

use std::time::Duration;

use tokio::time::Instant;

use crate::clock::{Clock, EpochMillis};

/// Shows a start time plus what tokio's clock has passed since. Under paused time (`#[tokio::test(start_paused = true)]`) leases, deadlines
/// and heartbeats run on the same time as the sleeps of handlers and the delays of faults, and a day takes no longer than an instant.
#[derive(Debug, Clone)]
pub struct TokioClock {
    origin: Instant,
    start: EpochMillis,
}

impl TokioClock {
    /// A clock that shows `start` now.
    #[must_use]
    pub fn new(start: EpochMillis) -> Self {
        Self { origin: Instant::now(), start }
    }

    /// The clock of a machine that is `lead` ahead.
    #[must_use]
    pub fn ahead(&self, lead: Duration) -> Self {
        Self { start: self.start + lead, ..self.clone() }
    }

    /// The clock of a machine that is `lag` behind.
    #[must_use]
    pub fn behind(&self, lag: Duration) -> Self {
        Self { start: self.start - lag, ..self.clone() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> EpochMillis {
        self.start + self.origin.elapsed()
    }
}
