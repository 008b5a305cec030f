//! Records in memory, for tests and simulations.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::event::{Claim, Event, Takeover, Verdict};
use super::record::{JobRecord, Status};
use super::store::{Created, FirstClaim, Guard, JobStore, Replaced, StoreError};
use super::transition::{NOT_DUE_TOLERANCE, transition};
use super::view::{JobView, JobViews};
use crate::clock::EpochMillis;
use crate::job::JobId;

/// A [`JobStore`] in memory with the semantics of the real table: one item a key, conditional writes, nothing ever swept.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Mutex<HashMap<JobId, JobRecord>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a record there, whatever was there before.
    pub fn put(&self, record: JobRecord) {
        self.locked().insert(record.job_id.clone(), record);
    }

    /// Looks at a record, without a copy of it.
    pub fn look<T>(&self, job_id: &JobId, look: impl FnOnce(Option<&JobRecord>) -> T) -> T {
        look(self.locked().get(job_id))
    }

    /// Removes a record, as the table's time to live does.
    pub fn remove(&self, job_id: &JobId) {
        self.locked().remove(job_id);
    }

    /// Every record, in no order.
    #[must_use]
    pub fn all(&self) -> Vec<JobRecord> {
        self.locked().values().cloned().collect()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<JobId, JobRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl JobStore for MemoryStore {
    async fn get(&self, job_id: &JobId) -> Result<Option<JobRecord>, StoreError> {
        Ok(self.locked().get(job_id).cloned())
    }

    async fn create(&self, record: &JobRecord, now: EpochMillis) -> Result<Created, StoreError> {
        let mut records = self.locked();
        match records.get(&record.job_id) {
            Some(found) if !found.is_expired(now) => Ok(Created::Exists(Box::new(found.clone()))),
            _ => {
                records.insert(record.job_id.clone(), record.clone());
                Ok(Created::New)
            }
        }
    }

    async fn claim(&self, claim: &Claim, now: EpochMillis) -> Result<FirstClaim, StoreError> {
        let mut records = self.locked();
        let found = records.get(&claim.job_id);
        if is_ordinary(found, claim, now) {
            let asked = transition(found, &Event::Claim(Box::new(claim.clone())), now);
            if let (Some(next), Verdict::Started(started)) = (asked.next, asked.verdict) {
                records.insert(claim.job_id.clone(), *next);
                return Ok(FirstClaim::Started(started));
            }
        }
        Ok(FirstClaim::Refused(found.cloned().map(Box::new)))
    }

    async fn replace(&self, stored: Option<&JobRecord>, next: &JobRecord, guard: &Guard) -> Result<Replaced, StoreError> {
        let mut records = self.locked();
        let found = records.get(&next.job_id);
        if guard.holds(stored, found) {
            records.insert(next.job_id.clone(), next.clone());
            Ok(Replaced::Written)
        } else {
            Ok(Replaced::Refused(found.cloned().map(Box::new)))
        }
    }
}

#[async_trait]
impl JobViews for MemoryStore {
    async fn view(&self, job_id: &JobId, now: EpochMillis) -> Result<Option<JobView>, StoreError> {
        Ok(self.locked().get(job_id).cloned().map(JobView::from).filter(|view| !view.is_expired(now)))
    }
}

/// The states that the one-write claim accepts; the DynamoDB store says the same in a condition expression.
fn is_ordinary(found: Option<&JobRecord>, claim: &Claim, now: EpochMillis) -> bool {
    let Some(record) = found else { return !claim.rules.needs_data };
    matches!(record.status, Status::Accepted | Status::RetryScheduled)
        && record.retry_at.is_none_or(|due| due <= now + NOT_DUE_TOLERANCE)
        && ((record.payload.is_some() && record.data.is_some()) || !claim.rules.needs_data)
        && record.attempts < claim.rules.max_attempts
        && (record.crashes == 0 || claim.takeover == Takeover::Now)
        && record.payload_digest.as_ref().is_none_or(|digest| *digest == claim.payload_digest)
        && claim.rules.effect.window_start(now).is_none_or(|start| record.first_effect_at.is_none_or(|first| first >= start))
}
