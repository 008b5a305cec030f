//! What may be told about a job, for whoever tells it: no payload, no private data.

use async_trait::async_trait;
use serde_json::Value;

use super::record::{JobRecord, LastError, Status};
use super::store::StoreError;
use crate::clock::{EpochMillis, EpochSeconds};
use crate::job::JobId;

/// Reads what may be told about a job. A reader needs permission for these attributes alone.
#[async_trait]
pub trait JobViews: Send + Sync + 'static {
    /// The job as it stands, strongly consistent; `None` when there is no record, or an expired one.
    ///
    /// # Errors
    /// When the store cannot be reached or refuses.
    async fn view(&self, job_id: &JobId, now: EpochMillis) -> Result<Option<JobView>, StoreError>;
}

/// The part of a [`JobRecord`] that its caller may be told, and where.
#[derive(Clone, PartialEq)]
pub struct JobView {
    /// Who posted the job.
    pub caller: String,
    /// Its own name for the business case.
    pub business_id: Option<String>,
    /// Whom to tell when the job has ended.
    pub callback_url: Option<String>,
    /// Where the job stands.
    pub status: Status,
    /// Counts its put-backs.
    pub generation: u32,
    /// What a finished job left.
    pub result: Option<Value>,
    /// Why it last failed.
    pub last_error: Option<LastError>,
    /// When the record was last written: of an ended job, when it ended.
    pub updated_at: EpochMillis,
    /// When DynamoDB may remove the record.
    pub expires_at: Option<EpochSeconds>,
}

impl JobView {
    /// Whether the record counts as absent, see [`JobRecord::is_expired`].
    #[must_use]
    pub fn is_expired(&self, now: EpochMillis) -> bool {
        self.expires_at.is_some_and(|end| end <= now.to_seconds_floor())
    }
}

impl From<JobRecord> for JobView {
    fn from(record: JobRecord) -> Self {
        Self {
            caller: record.caller,
            business_id: record.business_id,
            callback_url: record.callback_url,
            status: record.status,
            generation: record.generation,
            result: record.result,
            last_error: record.last_error,
            updated_at: record.updated_at,
            expires_at: record.expires_at,
        }
    }
}

/// Neither caller nor URL nor result: they may tell a person or hold a token.
impl std::fmt::Debug for JobView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobView").field("status", &self.status).field("generation", &self.generation).finish_non_exhaustive()
    }
}
