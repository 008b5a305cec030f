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
    pub(super) progress: Option<Value>,
    pub(super) created_at: EpochMillis,
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

    /// When the job was accepted: the same in every run of it.
    #[must_use]
    pub const fn created_at(&self) -> EpochMillis {
        self.created_at
    }

    /// Where an earlier run of this job stopped, as it [saved](Self::save_progress) it; what this run saves does not show here. It may have
    /// been written by another version of the handler: progress that cannot be used is no progress.
    #[must_use]
    pub const fn progress(&self) -> Option<&Value> {
        self.progress.as_ref()
    }

    /// Largest progress that is kept, in bytes of JSON: the record is written with every step of the job, and a write costs by the size
    /// of the item.
    pub const MAX_PROGRESS_BYTES: usize = 4_096;

    /// Says where the job goes on, should this run end here: after a crash, a failure, or [`Failure::unfinished`]. One conditional write.
    /// What is large is kept elsewhere and named here; what is private stays out. It is removed when the job succeeds or is cancelled. A job
    /// that died keeps it, so that a put-back goes on where the job stopped.
    ///
    /// Save what is done already: between an effect and its note the worker can die, and then the next run does it again.
    ///
    /// # Errors
    /// The progress is `null` or larger than [`Self::MAX_PROGRESS_BYTES`], the lease is lost, or the table does not answer, in which case it
    /// may have been saved all the same. Hand the failure on with `?`.
    pub async fn save_progress(&self, progress: Value) -> Result<(), Failure> {
        let bytes = progress.to_string().len();
        if bytes > Self::MAX_PROGRESS_BYTES {
            let limit = Self::MAX_PROGRESS_BYTES;
            let message = format!(
                "the progress has {bytes} bytes of JSON, at most {limit} are kept: save what is large elsewhere and name it"
            );
            return Err(Failure::permanent("progress_too_large", message));
        }
        if progress.is_null() {
            let message = "the progress is null, which says nothing: save where the job goes on";
            return Err(Failure::permanent("progress_empty", message));
        }
        self.claimed.save_progress(progress).await
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
