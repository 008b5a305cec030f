//! The answer, in the form that every HTTP door of Lambda takes.

use std::collections::BTreeMap;

use ikkai::job::{JobId, JobType};
use serde::Serialize;
use serde_json::Value;

use crate::problem::{Code, Problem};

/// From this status on it is the service that failed, not the request.
pub(crate) const SERVER_ERROR: u16 = 500;

/// An HTTP answer. Payload formats 1.0 and 2.0 and function URLs read the same four members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// HTTP status.
    pub status_code: u16,
    /// Headers by lower-case name, each once.
    pub headers: BTreeMap<&'static str, String>,
    /// The body; empty where there is none.
    pub body: String,
    /// Always false: bodies are JSON.
    pub is_base64_encoded: bool,
    /// For the log line.
    #[serde(skip)]
    pub(crate) notes: Notes,
}

/// What the log line may say beyond the status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) code: Option<Code>,
    pub(crate) job_id: Option<JobId>,
    pub(crate) job_type: Option<JobType>,
    pub(crate) jobs: Option<usize>,
    pub(crate) jobs_accepted: Option<usize>,
    pub(crate) jobs_failed: usize,
}

impl Response {
    /// An answer without a body.
    pub(crate) fn empty(status_code: u16) -> Self {
        let headers = BTreeMap::from([("cache-control", "no-store".to_owned())]);
        Self { status_code, headers, body: String::new(), is_base64_encoded: false, notes: Notes::default() }
    }

    /// An answer with a JSON body.
    pub(crate) fn json(status_code: u16, body: &Value) -> Self {
        let answer = Self { body: body.to_string(), ..Self::empty(status_code) };
        answer.header("content-type", "application/json")
    }

    /// Whether the service failed, at the whole request or at a job of it.
    pub(crate) fn is_failure(&self) -> bool {
        self.status_code >= SERVER_ERROR || self.notes.jobs_failed > 0
    }

    /// Sets a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.insert(name, value.into());
        self
    }

    /// Says which job this is about.
    pub(crate) fn about(mut self, job_id: &JobId) -> Self {
        self.notes.job_type = Some(job_id.job_type());
        self.notes.job_id = Some(job_id.clone());
        self
    }
}

impl From<Problem> for Response {
    fn from(problem: Problem) -> Self {
        let mut answer = Self::json(problem.code.status(), &problem.to_json()).header("content-type", "application/problem+json");
        if let Some(seconds) = problem.retry_after_seconds() {
            answer = answer.header("retry-after", seconds.to_string());
        }
        if problem.code == Code::Unauthenticated {
            answer = answer.header("www-authenticate", "AWS4-HMAC-SHA256, Bearer");
        }
        answer.notes.code = Some(problem.code);
        answer
    }
}
