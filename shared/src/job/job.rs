//! A job as its handler sees it.

use std::fmt;

use super::id::JobId;
use super::idempotency_key::IdempotencyKey;
use super::job_type::JobType;

/// A job with its payload decoded: what a handler is given.
#[derive(Clone, PartialEq, Eq)]
pub struct Job<P> {
    /// Identity of the job; the same for every delivery and every retry of it. Good as the key for a provider that takes idempotency keys.
    pub id: JobId,
    /// The type of the job.
    pub job_type: JobType,
    /// The version of the payload as it was sent: at most the one that this program knows.
    pub schema_version: u32,
    /// The sender's name for the business case, such as an order number.
    pub business_id: Option<String>,
    /// The key that the sender gave the request.
    pub idempotency_key: IdempotencyKey,
    /// What to do.
    pub payload: P,
}

/// Shows what may stand in a log: neither payload nor key nor business id.
impl<P> fmt::Debug for Job<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("id", &self.id)
            .field("job_type", &self.job_type)
            .field("schema_version", &self.schema_version)
            .finish_non_exhaustive()
    }
}
