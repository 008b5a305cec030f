//! Jobs that do not go on by themselves: nothing else finds a job whose message was purged.

mod dynamodb;

use async_trait::async_trait;
use ikkai::clock::EpochMillis;
use ikkai::idempotency::{MemoryStore, Status, StoreError};

pub use self::dynamodb::DynamoDbStuckJobs;
use crate::protocol::StuckJob;
use crate::telling::moment;

/// Looks through the jobs table.
#[async_trait]
pub trait StuckJobs: Send + Sync + 'static {
    /// The jobs of these types that are accepted, waiting or running, and of which nothing was heard and nothing was due since `before`; at
    /// most `max` of them.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn stuck(&self, job_types: &[&str], before: EpochMillis, max: usize) -> Result<Vec<StuckJob>, StoreError>;
}

/// What is read of a record to see whether its job hangs.
#[derive(Debug, Clone, PartialEq)]
struct Sign {
    job_id: String,
    job_type: String,
    status: String,
    updated_at: EpochMillis,
    /// Not before this moment.
    retry_at: Option<EpochMillis>,
    /// A worker has it up to this moment.
    lease_until: Option<EpochMillis>,
}

impl Sign {
    /// A job with a later time of its own is not late yet.
    fn hangs(&self, job_types: &[&str], before: EpochMillis) -> bool {
        let unfinished =
            [Status::Accepted, Status::Running, Status::RetryScheduled].iter().any(|one| one.as_str() == self.status);
        let running = self.status == Status::Running.as_str();
        let last = [Some(self.updated_at), self.retry_at.filter(|_| !running), self.lease_until.filter(|_| running)];
        unfinished && job_types.contains(&self.job_type.as_str()) && last.into_iter().flatten().all(|at| at < before)
    }

    fn tell(self) -> StuckJob {
        StuckJob { job_id: self.job_id, status: self.status, updated_at: moment(self.updated_at) }
    }
}

#[async_trait]
impl StuckJobs for MemoryStore {
    async fn stuck(&self, job_types: &[&str], before: EpochMillis, max: usize) -> Result<Vec<StuckJob>, StoreError> {
        let signs = self.all().into_iter().map(|record| Sign {
            job_id: record.job_id.to_string(),
            job_type: record.job_type.to_string(),
            status: record.status.as_str().to_owned(),
            updated_at: record.updated_at,
            retry_at: record.retry_at,
            lease_until: record.lease_until,
        });
        let mut found: Vec<_> = signs.filter(|sign| sign.hangs(job_types, before)).map(Sign::tell).collect();
        found.sort_by(|left, right| left.job_id.cmp(&right.job_id));
        found.truncate(max);
        Ok(found)
    }
}
