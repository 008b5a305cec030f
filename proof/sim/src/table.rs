//! The table of jobs, and the laws that every write to it has to keep.
//!
//! The laws are written down a second time here, without the kit's state machine: by who owned the record before, and who owns it after.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use ikkai::clock::{Clock, EpochMillis};
use ikkai::idempotency::{Claim, Created, FirstClaim, Guard, JobRecord, JobStore, Replaced, Status, StoreError};
use ikkai::job::JobId;
use ikkai::testing::{MemoryStore, TokioClock};

/// Clocks of two machines may differ by so much.
const SKEW: Duration = Duration::from_millis(10_500);

const DAY: Duration = Duration::from_secs(86_400);

/// The table. Everybody's calls end here, and each write is looked at.
pub(crate) struct Table {
    pub(crate) records: MemoryStore,
    clock: TokioClock,
    max_attempts: u32,
    broken: Mutex<Vec<String>>,
}

/// What is remembered of a record while it is written.
struct Before {
    status: Status,
    generation: u32,
    attempts: u32,
    lease_token: Option<String>,
    lease_until: Option<EpochMillis>,
}

impl Before {
    fn of(record: &JobRecord) -> Self {
        Self {
            status: record.status,
            generation: record.generation,
            attempts: record.attempts,
            lease_token: record.lease_token.clone(),
            lease_until: record.lease_until,
        }
    }
}

impl Table {
    pub(crate) fn new(clock: TokioClock, max_attempts: u32) -> Self {
        Self { records: MemoryStore::new(), clock, max_attempts, broken: Mutex::default() }
    }

    /// Every record, in the order of their ids.
    pub(crate) fn all(&self) -> Vec<JobRecord> {
        let mut all = self.records.all();
        all.sort_by(|left, right| left.job_id.cmp(&right.job_id));
        all
    }

    pub(crate) fn find(&self, job_id: &JobId) -> Option<JobRecord> {
        self.records.look(job_id, copied)
    }

    /// Where a job stands; an expired record counts as none.
    pub(crate) fn status(&self, job_id: &JobId) -> Option<Status> {
        let now = self.clock.now();
        self.records.look(job_id, |record| record.filter(|record| !record.is_expired(now)).map(|record| record.status))
    }

    /// Writes a record whatever stands there. The kit has no such call; a bug may.
    pub(crate) fn force(&self, record: &JobRecord) {
        let before = self.before(&record.job_id);
        self.records.put(record.clone());
        self.look(before, record);
    }

    /// The laws that were broken since the last time that this was asked.
    pub(crate) fn broken(&self) -> Vec<String> {
        std::mem::take(&mut *self.broken.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn before(&self, job_id: &JobId) -> Option<Before> {
        let now = self.clock.now();
        self.records.look(job_id, |record| record.filter(|record| !surely_expired(record, now)).map(Before::of))
    }

    fn look(&self, before: Option<Before>, after: &JobRecord) {
        let now = self.clock.now();
        let verdict = self.limits(after, now).and_then(|()| before.map_or(Ok(()), |before| lawful(&before, after, now)));
        if let Err(law) = verdict {
            let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
            broken.push(format!("{law}: {} is {} (generation {})", after.job_id, after.status, after.generation));
        }
    }

    /// What holds of every record.
    fn limits(&self, after: &JobRecord, now: EpochMillis) -> Result<(), &'static str> {
        if after.attempts > self.max_attempts {
            return Err("a job was started more often than it may be");
        }
        // A claim may arrive late, from a sandbox that stood still, and its lease be over by then; but not by years.
        if after.status == Status::Running && after.lease_until.is_none_or(|end| end + DAY < now || end > now + DAY) {
            return Err("a running job has no lease that makes sense");
        }
        if after.status.is_final()
            && after.status != Status::Succeeded
            && after.status != Status::Cancelled
            && after.last_error.is_none()
        {
            return Err("a job has ended without a reason");
        }
        Ok(())
    }
}

fn copied(record: Option<&JobRecord>) -> Option<JobRecord> {
    record.cloned()
}

/// By nobody's clock it is still there.
fn surely_expired(record: &JobRecord, now: EpochMillis) -> bool {
    record.is_expired(now + SKEW)
}

/// Whether a record that was like this may become like that.
fn lawful(before: &Before, after: &JobRecord, now: EpochMillis) -> Result<(), &'static str> {
    let same_owner = before.lease_token == after.lease_token;
    let lease_is_over = before.lease_until.is_none_or(|end| end < now + SKEW);
    let put_back = after.generation == before.generation + 1;
    if after.generation < before.generation || after.generation > before.generation + 1 {
        return Err("a generation was left out or came back");
    }
    match (before.status, after.status) {
        (Status::Running, Status::Running) if same_owner => Ok(()),
        (Status::Running, Status::Running | Status::Accepted) if !lease_is_over => {
            Err("a job was taken from a worker whose lease holds")
        }
        (Status::Running, Status::Running) if after.attempts == before.attempts + 1 => Ok(()),
        (Status::Running, Status::Accepted) if put_back => Ok(()),
        (Status::Running, Status::Succeeded | Status::RetryScheduled | Status::Dead | Status::InDoubt) if same_owner => Ok(()),
        (Status::Running, _) => Err("a worker changed a record that is another one's"),
        (Status::Accepted | Status::RetryScheduled, Status::Succeeded) => Err("a job that nobody runs was declared done"),
        (Status::Accepted | Status::RetryScheduled, Status::Running) if !put_back && after.attempts != before.attempts + 1 => {
            Err("a start was not counted")
        }
        (Status::Accepted | Status::RetryScheduled, _) => Ok(()),
        // In doubt at once where what was put back may have been done too long ago.
        (Status::Dead, Status::Running | Status::Accepted | Status::RetryScheduled | Status::InDoubt) if put_back => Ok(()),
        (Status::Dead, Status::Cancelled | Status::Dead) => Ok(()),
        (Status::InDoubt, Status::Succeeded | Status::Dead) => Ok(()),
        (before, after) if before.is_final() && after != before => Err("a job that has ended was changed"),
        (Status::Dead | Status::InDoubt | Status::Succeeded | Status::Cancelled, _) => {
            Err("a job that has ended was written again")
        }
        _ => Ok(()),
    }
}

#[async_trait]
impl JobStore for Table {
    async fn get(&self, job_id: &JobId) -> Result<Option<JobRecord>, StoreError> {
        self.records.get(job_id).await
    }

    async fn create(&self, record: &JobRecord, now: EpochMillis) -> Result<Created, StoreError> {
        let before = self.before(&record.job_id);
        let created = self.records.create(record, now).await?;
        if created == Created::New {
            self.look(before, record);
        }
        Ok(created)
    }

    async fn claim(&self, claim: &Claim, now: EpochMillis) -> Result<FirstClaim, StoreError> {
        let before = self.before(&claim.job_id);
        let claimed = self.records.claim(claim, now).await?;
        if let FirstClaim::Started(record) = &claimed {
            self.look(before, record);
        }
        Ok(claimed)
    }

    async fn replace(&self, stored: Option<&JobRecord>, next: &JobRecord, guard: &Guard) -> Result<Replaced, StoreError> {
        let before = self.before(&next.job_id);
        let replaced = self.records.replace(stored, next, guard).await?;
        if replaced == Replaced::Written {
            self.look(before, next);
        }
        Ok(replaced)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ikkai::testing::conformance;

    use super::*;

    #[tokio::test]
    async fn the_table_that_is_looked_at_conforms() {
        let clock = TokioClock::new(EpochMillis::from_i64(1_800_000_000_000));
        conformance::suite(Arc::new(Table::new(clock, 3)), "table").await;
    }
}
