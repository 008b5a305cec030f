//! A table that does what a wrong ledger would make of it.

use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use ikkai::clock::{EpochMillis, EpochSeconds};
use ikkai::idempotency::{Claim, ClaimRules, Created, FirstClaim, Guard, JobRecord, JobStore, Replaced, Status, StoreError};
use ikkai::job::JobId;

use super::Stash;
use crate::mutant::Mutant;
use crate::table::Table;

pub(super) struct MutatedTable {
    pub(super) table: Arc<Table>,
    pub(super) mutant: Mutant,
    pub(super) stash: Stash,
}

impl MutatedTable {
    /// Starts a job whatever its record says.
    fn start(&self, record: JobRecord, claim: &Claim, now: EpochMillis) -> FirstClaim {
        let started = JobRecord {
            status: Status::Running,
            attempts: record.attempts + 1,
            lease_token: Some(claim.token.clone()),
            lease_until: Some(claim.lease_until),
            effect_begun: false,
            updated_at: now,
            ..record
        };
        self.table.force(&started);
        FirstClaim::Started(Box::new(started))
    }

    /// A record that this mutant starts although it must not be.
    fn wrongly_startable(&self, claim: &Claim, now: EpochMillis) -> Option<JobRecord> {
        let found = self.table.find(&claim.job_id).filter(|record| record.status == Status::Running)?;
        let is_mine = found.is_run_by(&claim.token);
        let startable = match self.mutant {
            Mutant::ClaimIgnoresLease => !is_mine && !found.lease_is_over(now) && found.attempts < claim.rules.max_attempts,
            Mutant::ClaimIgnoresAttempts => !is_mine && found.lease_is_over(now) && !found.effect_begun,
            _ => false,
        };
        startable.then_some(found)
    }
}

#[async_trait]
impl JobStore for MutatedTable {
    async fn get(&self, job_id: &JobId) -> Result<Option<JobRecord>, StoreError> {
        self.table.get(job_id).await
    }

    async fn create(&self, record: &JobRecord, now: EpochMillis) -> Result<Created, StoreError> {
        match self.table.find(&record.job_id) {
            Some(found) if self.mutant == Mutant::ExpiredRecordCounts => {
                // As it is seen by whoever does not look at its end.
                Ok(Created::Exists(Box::new(JobRecord { expires_at: None, ..found })))
            }
            _ => self.table.create(record, now).await,
        }
    }

    async fn claim(&self, claim: &Claim, now: EpochMillis) -> Result<FirstClaim, StoreError> {
        if let Some(found) = self.wrongly_startable(claim, now) {
            return Ok(self.start(found, claim, now));
        }
        let claim = match self.mutant {
            Mutant::ClaimIgnoresAttempts => {
                &Claim { rules: ClaimRules { max_attempts: u32::MAX, ..claim.rules }, ..claim.clone() }
            }
            Mutant::LeaseInSeconds => {
                &Claim { lease_until: EpochMillis::from_i64(claim.lease_until.as_i64() / 1_000), ..claim.clone() }
            }
            Mutant::FirstEffectForgotten => {
                if let Some(found) = self.table.find(&claim.job_id) {
                    self.table.records.put(JobRecord { first_effect_at: None, ..found });
                }
                claim
            }
            _ => claim,
        };
        self.table.claim(claim, now).await
    }

    async fn replace(&self, stored: Option<&JobRecord>, next: &JobRecord, guard: &Guard) -> Result<Replaced, StoreError> {
        match self.mutant {
            Mutant::UnfencedComplete if next.status == Status::Succeeded && matches!(guard, Guard::Lease(_)) => {
                let replaced = self.table.replace(stored, next, guard).await?;
                if replaced != Replaced::Written {
                    self.table.force(next);
                }
                Ok(Replaced::Written)
            }
            Mutant::ExpiryInMilliseconds => {
                let expires_at = next.expires_at.map(|end| EpochSeconds::from_i64(end.as_i64() * 1_000));
                self.table.replace(stored, &JobRecord { expires_at, ..next.clone() }, guard).await
            }
            Mutant::EffectNotAnnounced if next.effect_begun && stored.is_some_and(|stored| !stored.effect_begun) => {
                Ok(Replaced::Written)
            }
            Mutant::ResetAfterSend
                if next.status == Status::Accepted && stored.is_some_and(|stored| stored.generation < next.generation) =>
            {
                self.stash.lock().unwrap_or_else(PoisonError::into_inner).push(next.clone());
                Ok(Replaced::Written)
            }
            _ => self.table.replace(stored, next, guard).await,
        }
    }
}
