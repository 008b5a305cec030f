//! What a handler knows about its run besides the job.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::claimed::Claimed;
use super::failure::Failure;
use crate::clock::{Clock, EpochMillis};

/// One run of a job.
#[derive(Clone)]
pub struct JobContext {
    pub(super) claimed: Arc<Claimed>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) data: Option<Value>,
    pub(super) attempt: u32,
    pub(super) generation: u32,
    pub(super) first_effect_at: Option<EpochMillis>,
    pub(super) ends_at: EpochMillis,
    pub(super) skew: Duration,
}

impl std::fmt::Debug for JobContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobContext").field("attempt", &self.attempt).field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl JobContext {
    /// Which handler start of this generation it is, from one.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How often the job was put back.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }

    /// Private inputs from the job's record; they never were in the queue.
    #[must_use]
    pub const fn data(&self) -> Option<&Value> {
        self.data.as_ref()
    }

    /// When an effect of this job may have been tried for the first time, before this run.
    #[must_use]
    pub const fn first_effect_at(&self) -> Option<EpochMillis> {
        self.first_effect_at
    }

    /// How long ago that was; see [`Self::first_effect_at`].
    #[must_use]
    pub fn first_effect_age(&self) -> Option<Duration> {
        self.first_effect_at.map(|first| self.clock.now().since(first))
    }

    /// Time until the handler is stopped.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.ends_at.since(self.clock.now())
    }

    /// Announces the irreversible step, right before it. `provider_timeout` is how long the provider call may take.
    ///
    /// One conditional write. From here on only `Done`, or a failure marked [`Failure::surely_not_done`], settles normally;
    /// everything else (timeout, panic, lost receipt, a worker that dies) leaves the job in doubt.
    ///
    /// # Errors
    /// The effect must not start: too little time is left for the provider, the lease is lost, or the table does not answer.
    /// Hand the failure on with `?`.
    pub async fn begin_effect(&self, provider_timeout: Duration) -> Result<(), Failure> {
        let had_begun = self.claimed.effect_begun();
        let now = self.clock.now();
        let begun = if now + provider_timeout > self.ends_at {
            Err(Failure::no_time())
        } else {
            self.claimed.begin_effect(now + provider_timeout + self.skew).await
        };
        // That a second effect surely does not start says nothing about the first one.
        begun.map_err(|failure| if had_begun { failure.after_effect() } else { failure })
    }
}
