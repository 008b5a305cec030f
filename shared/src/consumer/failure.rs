//! What a handler answers: done, or one of a closed set of failures.

use std::time::Duration;

use serde_json::Value;

use crate::idempotency::Certainty;

/// The job is done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Done {
    /// What the caller may read from the status endpoint. Keep it small: references, counts; never personal data. More than
    /// [`Self::MAX_RESULT_BYTES`] is not kept.
    pub result: Option<Value>,
    /// The provider's own id of the effect.
    pub provider_ref: Option<String>,
}

impl Done {
    /// Done, with nothing to tell.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Done, with a small result.
    #[must_use]
    pub fn with_result(result: Value) -> Self {
        Self { result: Some(result), provider_ref: None }
    }

    /// Longest result that is kept, in bytes of JSON: a record must stay small, and DynamoDB refuses items over 400 KB
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>).
    pub const MAX_RESULT_BYTES: usize = 4_096;

    /// Longest provider's id that is kept, in bytes.
    pub const MAX_PROVIDER_REF_BYTES: usize = 1_024;

    /// The same with what fits into the record. The job is done whatever its result looks like: a larger one is replaced by
    /// `{"truncated":true,"bytes":…}`, never a reason to run again.
    pub(super) fn fitting(self) -> Self {
        let bytes = self.result.as_ref().map_or(0, |result| result.to_string().len());
        let result = if bytes > Self::MAX_RESULT_BYTES {
            tracing::warn!(bytes, limit = Self::MAX_RESULT_BYTES, "result too large");
            Some(serde_json::json!({"truncated": true, "bytes": bytes}))
        } else {
            self.result
        };
        Self { result, provider_ref: self.provider_ref.filter(|id| id.len() <= Self::MAX_PROVIDER_REF_BYTES) }
    }

    /// Adds the provider's own id of the effect.
    #[must_use]
    pub fn provider_ref(mut self, id: impl Into<String>) -> Self {
        self.provider_ref = Some(id.into());
        self
    }
}

/// The job is not done. `code` and `message` are kept in the record and logged: they name fields and rules, never values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Failure {
    /// What shall happen next.
    pub kind: FailureKind,
    /// Stable machine name, `snake_case`.
    pub code: String,
    /// One sentence for a person.
    pub message: String,
    /// What is known about the effect.
    pub(crate) certainty: Certainty,
    /// Who failed.
    pub(super) scope: Scope,
}

/// Who failed: decides whether a failure says anything about the next job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The provider that all jobs of the consumer share.
    Provider,
    /// Somebody whom this job alone, or a few, depend on.
    OneTarget,
    /// Something that no job of the consumer can do without.
    EveryJob,
}

/// What shall happen to a job that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// Again after a backoff, or after the given time; the attempt counts.
    Retry(Option<Duration>),
    /// Again after the given time, or the configured one; the attempt does not count. For a provider that is busy or down and
    /// says so.
    Defer(Option<Duration>),
    /// Never again by itself.
    Permanent,
    /// Given back unharmed, for this long: too little time is left. Neither an attempt nor a failure.
    Release(Duration),
    /// Too little time was left once the handler ran: given back, and back after a backoff by receives, because the next invocation may
    /// have no more.
    NoTime,
    /// A part of a long job is done: given back, and on at once. Neither an attempt nor a failure.
    Unfinished,
    /// The lease belongs to somebody else; nothing may be written.
    LeaseLost,
}

impl Failure {
    fn new(kind: FailureKind, code: impl Into<String>, message: impl Into<String>, certainty: Certainty) -> Self {
        Self { kind, code: code.into(), message: message.into(), certainty, scope: Scope::Provider }
    }

    /// May go away by itself: try again after a backoff. The last attempt of such a failure is final.
    #[must_use]
    pub fn retry(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(FailureKind::Retry(None), code, message, Certainty::Unstated)
    }

    /// The provider is busy or down: come back after `delay` (`None`: the configured time) without using an attempt.
    #[must_use]
    pub fn defer(code: impl Into<String>, message: impl Into<String>, delay: Option<Duration>) -> Self {
        Self::new(FailureKind::Defer(delay), code, message, Certainty::Unstated)
    }

    /// Will not go away by itself: the job is dead.
    #[must_use]
    pub fn permanent(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(FailureKind::Permanent, code, message, Certainty::Unstated)
    }

    /// The effect may have happened: under `hold` the job is in doubt; under `rerun` it is tried again, and in doubt after the
    /// last attempt.
    #[must_use]
    pub fn ambiguous(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(FailureKind::Retry(None), code, message, Certainty::MayBeDone)
    }

    /// Too little time is left in this invocation for the provider: the attempt is given back and the job comes back after a backoff. No
    /// fault of the provider's, so the circuit ignores it.
    #[must_use]
    pub fn no_time() -> Self {
        let message = "too little time is left in this invocation for the provider call";
        Self::new(FailureKind::NoTime, "no_time_for_effect", message, Certainty::NotTried)
    }

    /// This invocation's time is over, and a part of the job is done and [saved](super::JobContext::save_progress): the next
    /// invocation goes on at once, without an attempt used. A job may have so many parts, then it is dead (`IKKAI_MAX_PARTS`); and a run that saved
    /// nothing new is an ordinary failed attempt, so that a job which does not get on ends.
    ///
    /// Under `hold` this belongs before `begin_effect`: a job that stops after it leaves its effect in doubt.
    #[must_use]
    pub fn unfinished() -> Self {
        let message = "the invocation's time is over; the job goes on in the next one";
        Self::new(FailureKind::Unfinished, "unfinished", message, Certainty::Unstated)
    }

    pub(crate) fn without_progress(unfinished: Self) -> Self {
        let message = "the run ended without new progress; give the function more time, or make the parts smaller";
        Self::new(FailureKind::Retry(None), "no_progress", message, unfinished.certainty)
    }

    pub(crate) fn not_started() -> Self {
        let message = "the job could not be started in time";
        Self::new(FailureKind::Release(Duration::ZERO), "not_started", message, Certainty::NotTried)
    }

    pub(crate) fn rate_reached(next_start: Duration) -> Self {
        let message = "the provider's rate leaves no start in this invocation";
        Self::new(FailureKind::Release(next_start), "rate_reached", message, Certainty::NotTried)
    }

    /// What that means for the effect is decided when it settles.
    pub(crate) fn lease_lost() -> Self {
        Self::new(FailureKind::LeaseLost, "lease_lost", "another worker owns the job now", Certainty::Unstated)
    }

    /// The effect did not start, so this failure settles as an ordinary one.
    pub(crate) fn before_effect(mut self) -> Self {
        self.certainty = Certainty::NotTried;
        self
    }

    /// The effect surely did not happen in this run, although `begin_effect` was called: the failure settles as an ordinary one. An earlier
    /// run that may have had it stays in doubt, unless a repetition is harmless for ever.
    #[must_use]
    pub fn surely_not_done(mut self) -> Self {
        self.certainty = Certainty::NotDone;
        self
    }

    /// The effect surely never happened, neither in this run nor in any before: the provider proves it, as by repeating what it answered to the
    /// first request. A doubt that an earlier run left is settled.
    #[must_use]
    pub fn surely_never_done(mut self) -> Self {
        self.certainty = Certainty::NeverDone;
        self
    }

    /// It was this job's own target that failed (the server of one customer), not the provider that all jobs share: the circuit does not count
    /// it, and neither does the rule that an invocation errs when everything in it failed. The attempt counts as ever.
    #[must_use]
    pub fn of_one_target(mut self) -> Self {
        self.scope = Scope::OneTarget;
        self
    }

    /// The effect may have happened, in this run or in an earlier one: where the job ends here, it is in doubt and not dead, and until
    /// then it cannot be cancelled.
    #[must_use]
    pub fn possibly_done(mut self) -> Self {
        self.certainty = Certainty::MayBeDone;
        self
    }

    /// Every other job would fail in the same way, as without a valid key for the provider: the circuit opens at once. For
    /// failures that come back; a job that ends says nothing about the others.
    #[must_use]
    pub fn opening_circuit(mut self) -> Self {
        self.scope = Scope::EveryJob;
        self
    }

    /// Of an effect that had begun already, nothing is known any more.
    pub(crate) fn after_effect(mut self) -> Self {
        self.certainty = Certainty::Unstated;
        self
    }

    /// Tries again after `delay` instead of the backoff; after twelve hours at the latest, as SQS keeps no message back for longer.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.kind = match self.kind {
            FailureKind::Retry(_) => FailureKind::Retry(Some(delay)),
            FailureKind::Defer(_) => FailureKind::Defer(Some(delay)),
            other => other,
        };
        self
    }
}

/// Classifies an error where it happens: `.retry("contacts_unavailable")?`, `.permanent("template_unknown")?`.
pub trait Classify<T> {
    /// See [`Failure::retry`].
    ///
    /// # Errors
    /// The failure.
    fn retry(self, code: &'static str) -> Result<T, Failure>;

    /// See [`Failure::permanent`].
    ///
    /// # Errors
    /// The failure.
    fn permanent(self, code: &'static str) -> Result<T, Failure>;

    /// See [`Failure::defer`].
    ///
    /// # Errors
    /// The failure.
    fn defer(self, code: &'static str) -> Result<T, Failure>;
}

impl<T, E: std::fmt::Display> Classify<T> for Result<T, E> {
    fn retry(self, code: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::retry(code, error.to_string()))
    }

    fn permanent(self, code: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::permanent(code, error.to_string()))
    }

    fn defer(self, code: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::defer(code, error.to_string(), None))
    }
}
