//! The job record: request, lock, result and failure reason of one job in one item.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::{EpochMillis, EpochSeconds};
use crate::job::{Envelope, Fingerprint, IdempotencyKey, JobId, JobType};

/// One item of the `jobs` table, as a value.
///
/// The attribute names in DynamoDB are the field names (see `dynamodb/codec.rs`). An ordinary record stays under
/// 1 KB, so every write of it costs one write unit.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRecord {
    /// Key of the item.
    pub job_id: JobId,
    /// The registered job type.
    pub job_type: JobType,
    /// Version of the payload's schema.
    pub schema_version: u32,
    /// Who asked: the authorizer's principal, or `direct:<queue>` for a message that came without the producer API.
    pub caller: String,
    /// The caller's key. `None` only for a record that stands for a message that could not be parsed.
    pub idempotency_key: Option<String>,
    /// The caller's own name for the business transaction.
    pub business_id: Option<String>,
    /// The account the job belongs to, where the caller named one.
    pub account_id: Option<String>,
    /// Whom to tell when the job has ended. Kept out of the queue.
    pub callback_url: Option<String>,
    /// Reference ids and parameters, as they travel in the queue.
    pub payload: Option<Value>,
    /// What the caller asked for, where an operator has mended `payload` since.
    pub original_payload: Option<Value>,
    /// Digest of `original_payload`.
    pub original_payload_digest: Option<String>,
    /// Digests of the payloads that operators gave the job and replaced again, the oldest first.
    pub patched_payload_digests: Vec<String>,
    /// Private inputs that never enter the queue. Removed on success and on cancellation.
    pub data: Option<Value>,
    /// Salted digest over type, payload and data: tells a retry from another request under the same key.
    pub fingerprint: Option<Fingerprint>,
    /// Digest over the payload alone: what a message is compared with.
    pub payload_digest: Option<String>,
    /// Where the job stands.
    pub status: Status,
    /// Counts the put-backs of this job.
    pub generation: u32,
    /// Handler starts in this generation; in a long job since its last part that was done.
    pub attempts: u32,
    /// Leases in this generation that ended without a settlement: workers that died.
    pub crashes: u32,
    /// Invocations in this generation that did a part of a long job and gave it back.
    pub parts: u32,
    /// Where a long job goes on, as its handler saved it. Removed on success and on cancellation; a dead job keeps it, so that a
    /// put-back goes on too.
    pub progress: Option<Value>,
    /// Owner of the current or last lease; new for every claim.
    pub lease_token: Option<String>,
    /// The lease holds up to this moment.
    pub lease_until: Option<EpochMillis>,
    /// The handler announced its irreversible step in the current claim.
    pub effect_begun: bool,
    /// When an effect may have been tried for the first time. Survives every put-back.
    pub first_effect_at: Option<EpochMillis>,
    /// The provider's own id of the effect.
    pub provider_ref: Option<String>,
    /// What a finished job left for its caller. Small.
    pub result: Option<Value>,
    /// Why the job last failed.
    pub last_error: Option<LastError>,
    /// When the job died; a message sent later than this puts it back.
    pub died_at: Option<EpochMillis>,
    /// Which request owns the sending of an accepted job.
    pub accept_token: Option<String>,
    /// Whoever has accepted the job, or put it back, may be sending its message up to this moment.
    pub send_lease_until: Option<EpochMillis>,
    /// When a repeated send of an accepted job was confirmed.
    pub enqueued_at: Option<EpochMillis>,
    /// When an operator last put the job back: a message that was sent before is not the one that the job waits for.
    pub put_back_at: Option<EpochMillis>,
    /// A waiting job is not claimed before this moment, nor is an accepted one whose caller asked for it.
    pub retry_at: Option<EpochMillis>,
    /// Since when messages of this job wait for a consumer that knows their schema version.
    pub schema_held_since: Option<EpochMillis>,
    /// When the record was made.
    pub created_at: EpochMillis,
    /// When it was last written.
    pub updated_at: EpochMillis,
    /// When DynamoDB may remove it. Set only on a job that ended well or was cancelled.
    pub expires_at: Option<EpochSeconds>,
}

impl JobRecord {
    /// A fresh record in `status`, with every counter at zero.
    #[must_use]
    pub fn new(job_id: JobId, job_type: JobType, schema_version: u32, caller: &str, status: Status, now: EpochMillis) -> Self {
        Self {
            job_id,
            job_type,
            schema_version,
            caller: caller.to_owned(),
            idempotency_key: None,
            business_id: None,
            account_id: None,
            callback_url: None,
            payload: None,
            original_payload: None,
            original_payload_digest: None,
            patched_payload_digests: Vec::new(),
            data: None,
            fingerprint: None,
            payload_digest: None,
            status,
            generation: 0,
            attempts: 0,
            crashes: 0,
            parts: 0,
            progress: None,
            lease_token: None,
            lease_until: None,
            effect_begun: false,
            first_effect_at: None,
            provider_ref: None,
            result: None,
            last_error: None,
            died_at: None,
            accept_token: None,
            send_lease_until: None,
            enqueued_at: None,
            put_back_at: None,
            retry_at: None,
            schema_held_since: None,
            created_at: now,
            updated_at: now,
            expires_at: None,
        }
    }

    /// Whether the record counts as absent: DynamoDB removes an expired item up to two days late
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html>).
    #[must_use]
    pub fn is_expired(&self, now: EpochMillis) -> bool {
        self.expires_at.is_some_and(|end| end.as_i64() <= now.as_i64().div_euclid(1000))
    }

    /// Whether a running job's lease is over, which means that its worker died.
    #[must_use]
    pub fn lease_is_over(&self, now: EpochMillis) -> bool {
        self.lease_until.is_none_or(|end| end < now)
    }

    /// The job as it travels, made again from its record. `None`: the record stands for a message that was no job, or for a job that a
    /// message of a newer schema version left.
    #[must_use]
    pub fn envelope(&self) -> Option<Envelope> {
        Some(Envelope {
            job_id: Some(self.job_id.clone()),
            job_type: self.job_type.clone(),
            schema_version: self.schema_version,
            business_id: self.business_id.clone(),
            idempotency_key: IdempotencyKey::parse(self.idempotency_key.as_deref()?).ok()?,
            payload: self.payload.clone()?,
        })
    }

    /// Whether a payload with this digest was the job's before an operator mended it. A message that holds it is this job's, and stands for the
    /// payload that is recorded now.
    #[must_use]
    pub fn had_payload(&self, digest: &str) -> bool {
        let former = self.original_payload_digest.iter().chain(&self.patched_payload_digests);
        self.payload_digest.as_deref() != Some(digest) && former.into_iter().any(|known| known == digest)
    }

    /// Why nobody knows whether an earlier run had the job's effect, where that is so.
    #[must_use]
    pub fn doubt(&self) -> Option<&LastError> {
        self.last_error.as_ref().filter(|error| error.class == ErrorClass::Ambiguous)
    }

    /// Who owns the run and the sending, now or last.
    pub(super) fn owners(&self) -> [Option<&str>; 2] {
        [self.lease_token.as_deref(), self.accept_token.as_deref()]
    }

    /// Whether `token` owns the running job.
    #[must_use]
    pub fn is_run_by(&self, token: &str) -> bool {
        self.status == Status::Running && self.lease_token.as_deref() == Some(token)
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// Recorded; its message is in the queue or on the way there.
    Accepted,
    /// A worker holds the lease.
    Running,
    /// Failed or deferred; comes back.
    RetryScheduled,
    /// Done. The result is kept.
    Succeeded,
    /// Given up with a reason; runs again only when somebody puts it back.
    Dead,
    /// The effect may or may not have happened; somebody has to look.
    InDoubt,
    /// Taken back by its caller before it was done; its message is acknowledged without work.
    Cancelled,
}

impl Status {
    /// Every status, in the order of the state diagram.
    pub const ALL: [Self; 7] =
        [Self::Accepted, Self::Running, Self::RetryScheduled, Self::Succeeded, Self::Dead, Self::InDoubt, Self::Cancelled];

    /// The name in the table, the API and the logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Running => "running",
            Self::RetryScheduled => "retry_scheduled",
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::InDoubt => "in_doubt",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads the name back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether nothing happens to the job any more without an operator.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead | Self::InDoubt | Self::Cancelled)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a job last failed. `message` is written by the kit or the handler and never holds payload values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// What kind of failure it was.
    pub class: ErrorClass,
    /// Stable machine name, `snake_case`.
    pub code: String,
    /// One sentence for a person.
    pub message: String,
}

impl LastError {
    /// Longest message that is kept, in characters: a record must stay small.
    pub const MAX_MESSAGE: usize = 200;

    /// A reason with its message cut to [`Self::MAX_MESSAGE`] characters.
    #[must_use]
    pub fn new(class: ErrorClass, code: impl Into<String>, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self { class, code: code.into(), message: message.chars().take(Self::MAX_MESSAGE).collect() }
    }
}

/// Kinds of failure; alarms and redrive filters work on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorClass {
    /// May go away by itself.
    Transient,
    /// The provider asked to come back later, or the circuit is open.
    Deferred,
    /// Will not go away by itself.
    Permanent,
    /// The effect may have happened.
    Ambiguous,
    /// The worker died.
    Crash,
    /// The message could not be understood.
    Poison,
    /// The queue's receives were used up before the job could run.
    Exhausted,
}

impl ErrorClass {
    /// The name in the table, the API and the logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Deferred => "deferred",
            Self::Permanent => "permanent",
            Self::Ambiguous => "ambiguous",
            Self::Crash => "crash",
            Self::Poison => "poison",
            Self::Exhausted => "exhausted",
        }
    }

    /// Reads the name back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Transient, Self::Deferred, Self::Permanent, Self::Ambiguous, Self::Crash, Self::Poison, Self::Exhausted]
            .into_iter()
            .find(|class| class.as_str() == name)
    }
}
