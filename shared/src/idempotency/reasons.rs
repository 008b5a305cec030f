//! The reasons that the kit itself has to give a job up, or to hold it.

use super::record::{ErrorClass, LastError};

impl LastError {
    /// The reason of a job whose workers died as often as it may be tried.
    #[must_use]
    pub fn crashes_used_up() -> Self {
        Self::new(
            ErrorClass::Crash,
            "attempts_used_up_by_crashes",
            "each worker that started this job died before it could settle it",
        )
    }

    /// The reason of a job whose worker died after it had announced its effect.
    #[must_use]
    pub fn crashed_after_effect() -> Self {
        Self::new(
            ErrorClass::Ambiguous,
            "lease_ended_after_effect_began",
            "the worker died between the start of the effect and its settlement; look at the provider, then resolve the job",
        )
    }

    /// The reason of a job whose worker died, and that an operator cannot put back any more.
    #[must_use]
    pub fn abandoned() -> Self {
        Self::new(
            ErrorClass::Crash,
            "abandoned",
            "its last worker died before it could settle it, and the job cannot be put back any more",
        )
    }

    /// The reason of a job in doubt that an operator wants to run again.
    #[must_use]
    pub fn resolved_to_run_again() -> Self {
        Self::new(
            ErrorClass::Permanent,
            "resolved_to_run_again",
            "an operator looked at the provider and wants the job to run again; redrive it",
        )
    }

    /// The reason of a long job that had all its parts and is not done.
    #[must_use]
    pub fn parts_used_up() -> Self {
        Self::new(
            ErrorClass::Permanent,
            "parts_used_up",
            "the job is not done after its most parts; raise IKKAI_MAX_PARTS or the function's timeout, then redrive the job: it goes on",
        )
    }

    /// The reason of a job that cannot be repeated any more.
    #[must_use]
    pub fn idempotency_window_over() -> Self {
        Self::new(
            ErrorClass::Ambiguous,
            "idempotency_window_over",
            "an effect was tried before and the provider no longer remembers its key; look at the provider, then resolve the job",
        )
    }

    /// The reason of a message whose job needs private data that only the producer API records.
    #[must_use]
    pub fn record_missing() -> Self {
        Self::new(
            ErrorClass::Permanent,
            "record_missing",
            "this job type needs data from its record; post the job through the producer API",
        )
    }

    /// The reason of a message that waited too long for a consumer of its schema version.
    #[must_use]
    pub fn schema_too_new() -> Self {
        Self::new(
            ErrorClass::Permanent,
            "schema_too_new",
            "no consumer of this schema version came in time; deploy it, then redrive the job",
        )
    }
}
