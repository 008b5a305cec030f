//! The seam between the ledger and the place where records are kept.

use async_trait::async_trait;

use super::event::Claim;
use super::record::{JobRecord, Status};
use crate::clock::EpochMillis;
use crate::job::JobId;

/// Keeps job records. Four operations, each at most one request; every write is conditional.
#[async_trait]
pub trait JobStore: Send + Sync + 'static {
    /// Reads a record, strongly consistent. Expired records may still be there.
    ///
    /// # Errors
    /// When the store cannot be reached or refuses.
    async fn get(&self, job_id: &JobId) -> Result<Option<JobRecord>, StoreError>;

    /// Writes `record` if there is none under its key, or only an expired one.
    ///
    /// # Errors
    /// When the store cannot be reached or refuses; the record may have been written all the same.
    async fn create(&self, record: &JobRecord, now: EpochMillis) -> Result<Created, StoreError>;

    /// The ordinary claim in one write: starts a job that has no record (unless it needs one), is accepted, or waits and is due.
    /// Anything else is refused with the stored record, and decided by [`transition`](super::transition()).
    ///
    /// # Errors
    /// When the store cannot be reached or refuses; the claim may hold all the same.
    async fn claim(&self, claim: &Claim, now: EpochMillis) -> Result<FirstClaim, StoreError>;

    /// Writes what differs between `stored` and `next`, if the record is still what `guard` says.
    ///
    /// # Errors
    /// When the store cannot be reached or refuses; the change may have been made all the same.
    async fn replace(&self, stored: Option<&JobRecord>, next: &JobRecord, guard: &Guard) -> Result<Replaced, StoreError>;
}

/// What a [`replace`](JobStore::replace) insists on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// There is no record.
    Absent,
    /// The record is the one that was read: same status, generation, attempts, owners and time of the last write.
    Unchanged,
    /// The job runs under this lease: nobody else writes then, so nothing else needs to be compared.
    Lease(String),
    /// The job is accepted and this request owns its sending.
    Sending(String),
}

impl Guard {
    /// Whether `found` satisfies the guard for a change derived from `stored`.
    #[must_use]
    pub fn holds(&self, stored: Option<&JobRecord>, found: Option<&JobRecord>) -> bool {
        match (self, found) {
            (Self::Absent, found) => found.is_none(),
            (Self::Unchanged, Some(found)) => stored.is_some_and(|stored| {
                (stored.status, stored.generation, stored.attempts, stored.updated_at, stored.owners())
                    == (found.status, found.generation, found.attempts, found.updated_at, found.owners())
            }),
            (Self::Lease(token), Some(found)) => found.is_run_by(token),
            (Self::Sending(token), Some(found)) => {
                found.status == Status::Accepted && found.accept_token.as_deref() == Some(token)
            }
            (_, None) => false,
        }
    }
}

/// Answer of [`JobStore::create`].
#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    /// The record is new.
    New,
    /// This record was there before.
    Exists(Box<JobRecord>),
}

/// Answer of [`JobStore::claim`].
#[derive(Debug, Clone, PartialEq)]
pub enum FirstClaim {
    /// The job runs under the claim's lease; this is its record now.
    Started(Box<JobRecord>),
    /// The record as it is stored.
    Refused(Option<Box<JobRecord>>),
}

/// Answer of [`JobStore::replace`].
#[derive(Debug, Clone, PartialEq)]
pub enum Replaced {
    /// The change was made.
    Written,
    /// The guard did not hold; the record as it is stored.
    Refused(Option<Box<JobRecord>>),
}

/// Why a store did not answer. In every case the write may have taken effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The table throttles: raise its capacity, or wait.
    #[error("the jobs table throttles {operation}; it recovers by itself, or raise its warm throughput")]
    Throttled {
        /// The operation.
        operation: &'static str,
    },
    /// Permission is missing.
    #[error("the function may not {operation} on the jobs table; check its role and the job type's key prefix")]
    Denied {
        /// The operation.
        operation: &'static str,
    },
    /// The table does not exist, or the request was malformed.
    #[error("the jobs table refused {operation} ({code}); check IKKAI_JOBS_TABLE and the table's key")]
    Refused {
        /// The operation.
        operation: &'static str,
        /// The service's error code.
        code: String,
    },
    /// No answer.
    #[error("the jobs table could not be reached for {operation} ({code})")]
    Unreachable {
        /// The operation.
        operation: &'static str,
        /// The service's error code, or what happened.
        code: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A stored record cannot be understood.
    #[error("the stored record's attribute `{attribute}` is {problem}; mend or remove the item")]
    Corrupt {
        /// Name of the attribute.
        attribute: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl StoreError {
    /// Stable machine name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Throttled { .. } => "store_throttled",
            Self::Denied { .. } => "store_denied",
            Self::Refused { .. } => "store_refused",
            Self::Unreachable { .. } => "store_unreachable",
            Self::Corrupt { .. } => "record_corrupt",
        }
    }
}
