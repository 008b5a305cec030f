//! What consumers and the producer call: events applied to records, lost answers recognised.

use std::sync::Arc;

use super::event::{Claim, Event, Verdict};
use super::record::JobRecord;
use super::store::{Created, FirstClaim, Guard, JobStore, Replaced, StoreError};
use super::transition::transition;
use crate::clock::{Clock, EpochMillis};
use crate::job::JobId;

/// A change that is refused this often in a row fights with a crowd; the caller comes back later.
const MOST_ROUNDS: u32 = 5;

/// A verdict, and the record it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What the record answers.
    pub verdict: Verdict,
    /// The record as it stands now; `None` where there is none, or where the verdict carries it.
    pub record: Option<Box<JobRecord>>,
}

/// Applies events to records through a [`JobStore`].
#[derive(Clone)]
pub struct Ledger {
    store: Arc<dyn JobStore>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

impl Ledger {
    /// A ledger over `store` that reads the time from `clock`.
    #[must_use]
    pub fn new(store: Arc<dyn JobStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// The ledger's clock.
    #[must_use]
    pub fn now(&self) -> EpochMillis {
        self.clock.now()
    }

    /// Reads a record; an expired one counts as absent.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn get(&self, job_id: &JobId) -> Result<Option<JobRecord>, StoreError> {
        let now = self.now();
        Ok(self.store.get(job_id).await?.filter(|record| !record.is_expired(now)))
    }

    /// Writes a new record, unless there is one.
    ///
    /// # Errors
    /// When the store does not answer; the record may have been written all the same.
    pub async fn create(&self, record: &JobRecord) -> Result<Created, StoreError> {
        match self.store.create(record, self.now()).await? {
            // The write was repeated because its first answer was lost, and met itself.
            Created::Exists(found) if is_same_acceptance(&found, record) => Ok(Created::New),
            created => Ok(created),
        }
    }

    /// Claims a job: one write where nothing stands against it, a second where the stored record needs a decision.
    ///
    /// # Errors
    /// When the store does not answer; the claim may hold all the same, and the same claim may be repeated.
    pub async fn claim(&self, claim: Claim) -> Result<Decision, StoreError> {
        match self.store.claim(&claim, self.now()).await? {
            FirstClaim::Started(record) => Ok(Decision { verdict: Verdict::Started(record), record: None }),
            FirstClaim::Refused(found) => self.settle(&claim.job_id.clone(), found, &Event::Claim(Box::new(claim))).await,
        }
    }

    /// Applies `event` to `record`, as its owner knows it, guarded by `guard`. The record is brought up to date.
    ///
    /// # Errors
    /// When the store does not answer; the change may have been made all the same, and the same event may be repeated.
    pub async fn apply_owned(&self, record: &mut JobRecord, event: &Event, guard: Guard) -> Result<Verdict, StoreError> {
        let wanted = transition(Some(record), event, self.now());
        let Some(next) = wanted.next else { return Ok(wanted.verdict) };
        match self.store.replace(Some(record), &next, &guard).await? {
            Replaced::Written => {
                *record = *next;
                Ok(wanted.verdict)
            }
            // Asked again of what is stored: either my own earlier write, whose answer was lost, or somebody else's.
            Replaced::Refused(found) => Ok(match transition(found.as_deref(), event, self.now()) {
                refused if refused.next.is_none() => refused.verdict,
                _ => Verdict::LeaseLost,
            }),
        }
    }

    /// Reads the record and applies `event` to it.
    ///
    /// # Errors
    /// When the store does not answer; the change may have been made all the same, and the same event may be repeated.
    pub async fn apply(&self, job_id: &JobId, event: &Event) -> Result<Decision, StoreError> {
        let found = self.store.get(job_id).await?.map(Box::new);
        self.settle(job_id, found, event).await
    }

    /// Applies `event` to the record that was found, again and again until it holds still.
    ///
    /// # Errors
    /// When the store does not answer; the change may have been made all the same, and the same event may be repeated.
    pub async fn decide(&self, job_id: &JobId, found: Option<Box<JobRecord>>, event: &Event) -> Result<Verdict, StoreError> {
        self.settle(job_id, found, event).await.map(|decision| decision.verdict)
    }

    async fn settle(&self, job_id: &JobId, found: Option<Box<JobRecord>>, event: &Event) -> Result<Decision, StoreError> {
        let mut found = found;
        for _ in 0..MOST_ROUNDS {
            let wanted = transition(found.as_deref(), event, self.now());
            let Some(next) = wanted.next else { return Ok(Decision { verdict: wanted.verdict, record: found }) };
            debug_assert_eq!(*job_id, next.job_id);
            let guard = if found.is_some() { Guard::Unchanged } else { Guard::Absent };
            match self.store.replace(found.as_deref(), &next, &guard).await? {
                Replaced::Written => return Ok(Decision { verdict: wanted.verdict, record: Some(next) }),
                Replaced::Refused(newer) => found = newer,
            }
        }
        Err(StoreError::Throttled { operation: "a change of a record that many want to change" })
    }
}

fn is_same_acceptance(found: &JobRecord, record: &JobRecord) -> bool {
    record.accept_token.is_some() && found.accept_token == record.accept_token
}
