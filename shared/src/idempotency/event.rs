//! What can happen to a job record, and what the record answers.

use std::time::Duration;

use serde_json::Value;

use super::record::{JobRecord, LastError, Status};
use crate::clock::EpochMillis;
use crate::job::{JobId, JobType};

/// Something that wants to change a record. Everything that ever writes one is in this list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A worker wants to run the job.
    Claim(Box<Claim>),
    /// The handler is about to do its irreversible step.
    BeginEffect {
        /// The worker's lease.
        token: String,
        /// The lease is extended to hold at least up to here: the provider's timeout from now, plus skew.
        lease_until: EpochMillis,
    },
    /// The heartbeat extends the lease.
    Renew {
        /// The worker's lease.
        token: String,
        /// New end of the lease.
        lease_until: EpochMillis,
    },
    /// The handler has done a part of a long job and says where it goes on.
    SaveProgress {
        /// The worker's lease.
        token: String,
        /// What the next run of the handler is given.
        progress: Value,
    },
    /// The handler is done.
    Complete {
        /// The worker's lease.
        token: String,
        /// What the caller may read.
        result: Option<Value>,
        /// The provider's id of the effect.
        provider_ref: Option<String>,
        /// How long the finished record is kept.
        keep_for: Duration,
    },
    /// The handler failed, or the worker gave up.
    Fail(Failing),
    /// A message of a newer schema version waits for a newer consumer.
    HoldSchema {
        /// Used where there is no record yet.
        blank: Box<JobRecord>,
        /// When SQS took the message.
        sent_at: Option<EpochMillis>,
        /// How long such messages may wait.
        hold: Duration,
        /// Most put-backs of one job.
        max_generations: u32,
    },
    /// A repeated request wants to send an accepted job's message again.
    TakeOverSending {
        /// The new owner of the sending.
        token: String,
        /// It may send up to here.
        send_lease_until: EpochMillis,
        /// No second repetition within this time of a confirmed one.
        min_interval: Duration,
    },
    /// The send failed, or nobody knows: the next request may try at once.
    EndSendLease {
        /// Owner of the sending.
        token: String,
    },
    /// A repeated send was confirmed by the queue.
    ConfirmSent {
        /// Owner of the sending.
        token: String,
    },
    /// The caller takes the job back.
    Cancel {
        /// How long the cancelled record is kept.
        keep_for: Duration,
    },
    /// An operator wants the job to run again, and is about to send its message.
    PutBack(PutBack),
    /// An operator has looked at the provider and says what became of a job in doubt.
    Resolve(Resolution),
}

/// An operator's wish to run a job again.
#[derive(Debug, Clone, PartialEq)]
pub struct PutBack {
    /// The generation that the wish is about: one that was formed about an older life of the job must not touch a newer one.
    pub generation: u32,
    /// Most put-backs of one job, so that a redrive loop ends.
    pub max_generations: u32,
    /// A mended payload that the job runs with from now on, and its digest.
    pub payload: Option<(Value, String)>,
}

/// What somebody says about a job in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The generation whose doubt was looked at: the doubt of another life of the job is another one, which nobody has looked at.
    pub generation: u32,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a job in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The effect happened: the job is done.
    Done {
        /// The provider's id of the effect.
        provider_ref: Option<String>,
        /// How long the finished record is kept.
        keep_for: Duration,
    },
    /// The effect did not happen, or shall happen once more: the job is dead as of now, and can be put back.
    RunAgain,
}

/// A worker's wish to run a job, with everything needed to make the record of a message that came without one.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Key of the record.
    pub job_id: JobId,
    /// The job's type.
    pub job_type: JobType,
    /// Schema version of the payload.
    pub schema_version: u32,
    /// Caller of a record made by this claim.
    pub caller: String,
    /// The message's idempotency key.
    pub idempotency_key: String,
    /// The message's business id.
    pub business_id: Option<String>,
    /// The message's payload.
    pub payload: Value,
    /// Digest of that payload, compared with the record's.
    pub payload_digest: String,
    /// Owner of the lease that is asked for.
    pub token: String,
    /// End of the lease that is asked for.
    pub lease_until: EpochMillis,
    /// When SQS took the message (`SentTimestamp`).
    pub sent_at: Option<EpochMillis>,
    /// What to do about a worker that died.
    pub takeover: Takeover,
    /// The consumer's rules.
    pub rules: ClaimRules,
}

/// What to do with a job one of whose workers died in this generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// Say so and write nothing: such a job runs last and alone, and no attempt is used before its turn.
    Postpone,
    /// Take it now.
    Now,
}

/// A consumer's rules about claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimRules {
    /// Most handler starts in one generation.
    pub max_attempts: u32,
    /// Most put-backs of one job, so that a redrive loop ends.
    pub max_generations: u32,
    /// The job cannot run without a record made by the producer.
    pub needs_data: bool,
    /// What a repeated effect does.
    pub effect: EffectPolicy,
}

/// What happens when a job's effect is tried twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EffectPolicy {
    /// Twice is harm: the handler calls `begin_effect()` first, and whatever is unclear afterwards ends in doubt.
    Hold,
    /// Twice is as good as once, for as long as the provider remembers (`None`: for ever).
    Rerun {
        /// How long after the first try a repetition is still harmless. Stripe remembers keys for at least 24 h
        /// (<https://docs.stripe.com/api/idempotent_requests>).
        idempotent_for: Option<Duration>,
        /// After that the handler looks the effect up at the provider before it repeats it.
        looks_up: bool,
    },
}

impl EffectPolicy {
    /// Rerun without an end: effects are idempotent by nature.
    pub const RERUN: Self = Self::Rerun { idempotent_for: None, looks_up: false };

    /// Whether a claim notes the first try of an effect by itself, because the handler will not.
    #[must_use]
    pub const fn notes_first_effect(self) -> bool {
        matches!(self, Self::Rerun { idempotent_for: Some(_), .. })
    }

    /// The oldest `first_effect_at` with which the job may run again without a look at the provider.
    #[must_use]
    pub fn window_start(self, now: EpochMillis) -> Option<EpochMillis> {
        match self {
            Self::Rerun { idempotent_for: Some(window), looks_up: false } => {
                Some(EpochMillis::from_i64(now.as_i64().saturating_sub(i64::try_from(window.as_millis()).unwrap_or(i64::MAX))))
            }
            _ => None,
        }
    }
}

/// A failure to be written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Failing {
    /// The worker's lease.
    pub token: String,
    /// What the worker wants.
    pub ending: Ending,
    /// Whether the effect is known not to have happened.
    pub certainty: Certainty,
    /// Most handler starts in one generation.
    pub max_attempts: u32,
    /// What a repeated effect does.
    pub effect: EffectPolicy,
    /// The claim of this very run noted the first try of an effect, see [`EffectPolicy::notes_first_effect`].
    pub first_effect_noted_by_claim: bool,
    /// Why.
    pub error: LastError,
}

impl Failing {
    /// Whether an earlier run that may have had its effect is as doubtful after this failure as it was before. What a handler denies it
    /// denies of its own run; only where a repetition is harmless for ever its last word counts.
    pub(super) const fn leaves_earlier_doubt(&self) -> bool {
        match self.certainty {
            Certainty::NotTried => true,
            Certainty::NotDone | Certainty::Unstated => {
                matches!(self.effect, EffectPolicy::Hold | EffectPolicy::Rerun { idempotent_for: Some(_), .. })
            }
            Certainty::NeverDone | Certainty::MayBeDone => false,
        }
    }
}

/// How a worker wants a failed run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// Again, at this moment; the attempt counts.
    Retry(EpochMillis),
    /// Again, at this moment; the attempt is given back.
    Defer(EpochMillis),
    /// A part is done and saved: on with the next one, at this moment. The part counts, and attempts are counted anew.
    Continue {
        /// When the next part may start.
        at: EpochMillis,
        /// Most parts in one generation.
        max_parts: u32,
    },
    /// Never again by itself.
    Die,
}

/// What the worker knows about the effect of a failed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Certainty {
    /// The run did not get as far as its effect, for a reason of the kit's: nothing was learned about earlier runs.
    NotTried,
    /// The handler says that its effect surely did not happen, in this run.
    NotDone,
    /// The handler says that its effect surely never happened, in no run.
    NeverDone,
    /// Nothing was said: before `begin_effect` nothing can have happened, after it everything can.
    Unstated,
    /// The handler says that it may have happened.
    MayBeDone,
}

/// What a record answers to an [`Event`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// The claim holds; run the handler with this record.
    Started(Box<JobRecord>),
    /// A worker died of this job; claim again, last and alone.
    Postponed,
    /// Done before.
    AlreadySucceeded(Option<Value>),
    /// Another worker holds the lease up to this moment.
    RunningElsewhere(EpochMillis),
    /// Waits for this moment.
    NotDue(EpochMillis),
    /// Given up now.
    Dead(LastError),
    /// Given up before.
    WasDead(LastError),
    /// In doubt from now on.
    InDoubt(LastError),
    /// In doubt before.
    WasInDoubt(LastError),
    /// Taken back by its caller.
    Cancelled,
    /// The record belongs to a request with another payload.
    PayloadMismatch,
    /// The change was made, or had been made by the same owner before.
    Done(Status),
    /// The lease belongs to somebody else now; nothing was changed.
    LeaseLost,
    /// A message of a newer schema version may wait on.
    SchemaHeld,
    /// Another request is sending this job right now, up to this moment.
    SendInProgress(EpochMillis),
    /// The job's message is known to be in the queue, or was worked on.
    KnownEnqueued,
    /// The sending is yours.
    SendTakenOver,
    /// The job is past the point where this can be done.
    TooLate(Status),
    /// What was said speaks of another life of the job; this is the one that it has.
    OtherGeneration(u32),
    /// The job was not given up: it waits for a message, and may be sent one.
    Waiting(Status),
    /// Put back as often as it may be. The job is dead; also one whose worker died, from now on.
    Quarantined,
    /// There is no such record.
    Missing,
}
