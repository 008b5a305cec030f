//! What a client is told about a job that it posted.

use ikkai::idempotency::{JobRecord, LastError, Status};
use ikkai::job::JobId;
use serde_json::{Map, Value, json};

use crate::problem::Problem;
use crate::response::Response;

/// One verdict on one posted job.
pub(crate) type Answer = Result<Accepted, Problem>;

/// A job that was taken, now or before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accepted {
    job_id: JobId,
    status: Status,
    replayed: bool,
    reason: Option<LastError>,
}

impl Accepted {
    /// Its message is in the queue for the first time.
    pub(crate) fn new(job_id: JobId) -> Self {
        Self { job_id, status: Status::Accepted, replayed: false, reason: None }
    }

    /// An earlier request posted it.
    pub(crate) fn before(found: &JobRecord) -> Self {
        let reason = if found.status.is_final() { found.last_error.clone() } else { None };
        Self { job_id: found.job_id.clone(), status: found.status, replayed: true, reason }
    }

    /// 202: it is in the queue, at work, or done. 200: it ended without success and will not run by itself.
    pub(crate) const fn http_status(&self) -> u16 {
        match self.status {
            Status::Dead | Status::InDoubt | Status::Cancelled => 200,
            _ => 202,
        }
    }

    pub(crate) const fn is_replayed(&self) -> bool {
        self.replayed
    }

    /// `{jobId, status}`, and the reason where there is one.
    pub(crate) fn to_json(&self) -> Value {
        let mut members =
            Map::from_iter([("jobId".to_owned(), json!(self.job_id)), ("status".to_owned(), json!(self.status.as_str()))]);
        if let Some(reason) = &self.reason {
            members.insert("reason".to_owned(), json!(reason));
        }
        Value::Object(members)
    }
}

impl From<Accepted> for Response {
    fn from(accepted: Accepted) -> Self {
        let answer = Self::json(accepted.http_status(), &accepted.to_json())
            .header("location", format!("/v1/jobs/{}", accepted.job_id))
            .about(&accepted.job_id);
        if accepted.replayed { answer.header("idempotent-replayed", "true") } else { answer }
    }
}
