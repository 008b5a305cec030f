//! Errors as the client sees them: `application/problem+json` (RFC 9457).

use std::time::Duration;

use ikkai::idempotency::Status;
use ikkai::job::{FieldError, JobId};
use serde_json::{Map, Value, json};

/// What is wrong, by its stable name. Clients branch on it; the words beside it may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// The body is not JSON, or JSON that two readers could read differently.
    MalformedBody,
    /// Members of the request are missing, unknown or wrong.
    RequestInvalid,
    /// There is no idempotency key.
    IdempotencyKeyMissing,
    /// The idempotency key breaks a rule, or there are two.
    IdempotencyKeyInvalid,
    /// Nobody vouches for the caller.
    Unauthenticated,
    /// The policy does not let this caller post this job.
    NotPermitted,
    /// No such path.
    NotFound,
    /// No such job, or one of another caller.
    JobNotFound,
    /// The path has no such method.
    MethodNotAllowed,
    /// An identical request is being accepted right now.
    SendInProgress,
    /// The job is running or over.
    NotCancellable,
    /// The message is too large for the queue.
    MessageTooLarge,
    /// The body is not announced as JSON.
    UnsupportedMediaType,
    /// The key was used for another job.
    IdempotencyKeyReused,
    /// The payload or the data is not what the job type takes.
    PayloadInvalid,
    /// The job holds what must not enter a queue.
    PayloadRefused,
    /// The callback URL is not taken.
    CallbackRefused,
    /// The queue is so deep that the job would wait for long.
    QueueTooDeep,
    /// The jobs table does not answer.
    StoreUnavailable,
    /// The queue does not answer, or nobody knows what it did.
    QueueUnavailable,
    /// The function's time is used up.
    OutOfTime,
}

impl Code {
    /// All codes, by status.
    pub const ALL: [Self; 21] = [
        Self::MalformedBody,
        Self::RequestInvalid,
        Self::IdempotencyKeyMissing,
        Self::IdempotencyKeyInvalid,
        Self::Unauthenticated,
        Self::NotPermitted,
        Self::NotFound,
        Self::JobNotFound,
        Self::MethodNotAllowed,
        Self::SendInProgress,
        Self::NotCancellable,
        Self::MessageTooLarge,
        Self::UnsupportedMediaType,
        Self::IdempotencyKeyReused,
        Self::PayloadInvalid,
        Self::PayloadRefused,
        Self::CallbackRefused,
        Self::QueueTooDeep,
        Self::StoreUnavailable,
        Self::QueueUnavailable,
        Self::OutOfTime,
    ];

    const fn facts(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::MalformedBody => (400, "malformed_body", "The body is not strict JSON"),
            Self::RequestInvalid => (400, "request_invalid", "The request has members that are missing, unknown or wrong"),
            Self::IdempotencyKeyMissing => (400, "idempotency_key_missing", "The request has no idempotency key"),
            Self::IdempotencyKeyInvalid => (400, "idempotency_key_invalid", "The idempotency key cannot be used"),
            Self::Unauthenticated => (401, "unauthenticated", "The caller is not known"),
            Self::NotPermitted => (403, "not_permitted", "The caller may not post this job"),
            Self::NotFound => (404, "not_found", "There is no such path"),
            Self::JobNotFound => (404, "job_not_found", "There is no such job"),
            Self::MethodNotAllowed => (405, "method_not_allowed", "The path does not take this method"),
            Self::SendInProgress => (409, "send_in_progress", "The same request is still being accepted"),
            Self::NotCancellable => (409, "not_cancellable", "The job can no longer be cancelled"),
            Self::MessageTooLarge => (413, "message_too_large", "The job is too large for a queue"),
            Self::UnsupportedMediaType => (415, "unsupported_media_type", "The body must be JSON"),
            Self::IdempotencyKeyReused => (422, "idempotency_key_reused", "The idempotency key belongs to another job"),
            Self::PayloadInvalid => (422, "payload_invalid", "The payload is not one of this job type"),
            Self::PayloadRefused => (422, "payload_refused", "The job holds what must not enter a queue"),
            Self::CallbackRefused => (422, "callback_refused", "The callback URL is not taken"),
            Self::QueueTooDeep => (429, "queue_too_deep", "Too many jobs are waiting"),
            Self::StoreUnavailable => (503, "store_unavailable", "The job could not be recorded or read"),
            Self::QueueUnavailable => (503, "queue_unavailable", "The job could not be put into the queue"),
            Self::OutOfTime => (503, "out_of_time", "The request took too long"),
        }
    }

    /// HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.facts().0
    }

    /// Stable machine name, the answer's `code`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().1
    }

    const fn title(self) -> &'static str {
        self.facts().2
    }
}

/// One refused request, or one refused job of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    detail: String,
    errors: Vec<FieldError>,
    pub(crate) retry_after: Option<Duration>,
    job: Option<(JobId, Status)>,
}

impl Problem {
    /// A problem; `detail` says what to do, in lower case, without a value out of the request.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), errors: Vec::new(), retry_after: None, job: None }
    }

    /// A problem with fields.
    pub(crate) fn of_fields(code: Code, errors: Vec<FieldError>) -> Self {
        let detail = match errors.as_slice() {
            [only] => only.to_string(),
            many => format!("{} members are wrong; see errors", many.len()),
        };
        Self { errors, ..Self::new(code, detail) }
    }

    /// When to try again.
    pub(crate) fn retry_after(self, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..self }
    }

    /// The job that is in the way.
    pub(crate) fn about(self, job_id: &JobId, status: Status) -> Self {
        Self { job: Some((job_id.clone(), status)), ..self }
    }

    /// The same problem as part of a larger document: pointers begin with `prefix`.
    pub(crate) fn under(mut self, prefix: &str) -> Self {
        self.errors = self.errors.into_iter().map(|error| error.under(prefix)).collect();
        self
    }

    /// Seconds for `Retry-After`; a started second counts.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(|after| after.as_secs() + u64::from(after.subsec_nanos() > 0))
    }

    /// The document.
    pub(crate) fn to_json(&self) -> Value {
        let mut members = Map::from_iter([
            ("type".to_owned(), json!(format!("urn:ikkai:problem:{}", self.code.name()))),
            ("title".to_owned(), json!(self.code.title())),
            ("status".to_owned(), json!(self.code.status())),
            ("code".to_owned(), json!(self.code.name())),
            ("detail".to_owned(), json!(self.detail)),
        ]);
        if !self.errors.is_empty() {
            members.insert("errors".to_owned(), json!(self.errors));
        }
        if let Some((job_id, status)) = &self.job {
            members.insert("jobId".to_owned(), json!(job_id));
            members.insert("jobStatus".to_owned(), json!(status));
        }
        if let Some(seconds) = self.retry_after_seconds() {
            members.insert("retryAfterSeconds".to_owned(), json!(seconds));
        }
        Value::Object(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_codes_are_listed_by_status() {
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.is_sorted_by_key(|code| code.status()));
        assert!(!Code::ALL.iter().any(|code| code.status() == 500), "nothing that a client does is an internal error");
    }

    #[test]
    fn the_documentation_lists_every_code_with_its_status() {
        let documentation = include_str!("../../../docs/api.md");
        for code in Code::ALL {
            let row = format!("| {} | `{}` |", code.status(), code.name());
            assert!(documentation.contains(&row), "docs/api.md has no row {row}");
        }
    }

    #[test]
    fn a_started_second_counts() {
        let after =
            |millis| Problem::new(Code::QueueTooDeep, "").retry_after(Duration::from_millis(millis)).retry_after_seconds();
        assert_eq!((after(1), after(1_000), after(1_001)), (Some(1), Some(1), Some(2)));
    }
}
