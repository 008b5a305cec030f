//! Why a request was not done.

use ikkai::job::FieldError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request was not done at all. What happened to single messages stands in their verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
pub struct Refusal {
    /// Stable name of the reason.
    pub code: RefusalCode,
    /// The reason and the mend, for a person.
    pub message: String,
    /// What is wrong with single members of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<MemberError>,
    /// How long to wait before the same request may succeed, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

/// What is wrong with a member of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberError {
    /// JSON pointer (RFC 6901).
    pub pointer: String,
    /// Stable name of the broken rule.
    pub code: String,
    /// The rule and the mend.
    pub message: String,
}

/// Stable names of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusalCode {
    /// The request cannot be understood; `errors` says why.
    InvalidRequest,
    /// This stack has no such queue.
    UnknownQueue,
    /// There is no record of such a job.
    UnknownJob,
    /// There is no such run.
    UnknownRun,
    /// The job is not in a state in which this can be done.
    WrongState,
    /// The job has had another life since it was looked at.
    StaleGeneration,
    /// Another run works on this queue.
    RunInProgress,
    /// SQS moves messages out of this queue by itself.
    MoveTaskInProgress,
    /// A run of this id has another request.
    RunIdTaken,
    /// The cursor is not the one that the run's last part gave.
    StaleCursor,
    /// The patch does not make a valid payload.
    InvalidPatch,
    /// The function may not do what is needed.
    AccessDenied,
    /// A service throttles, or did not answer.
    Unavailable,
    /// The engine or the service does not know this operation.
    Unsupported,
    /// The function itself failed; its log says where.
    Internal,
}

impl Refusal {
    /// A refusal for one reason.
    #[must_use]
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), errors: Vec::new(), retry_after_seconds: None }
    }

    /// A refusal because of members of the request.
    #[must_use]
    pub fn fields(code: RefusalCode, errors: Vec<FieldError>) -> Self {
        let errors: Vec<_> = errors
            .into_iter()
            .map(|FieldError { pointer, code, message }| MemberError { pointer, code: code.to_owned(), message })
            .collect();
        let told = errors.iter().map(|error| match error.pointer.as_str() {
            "" => error.message.clone(),
            pointer => format!("{pointer}: {}", error.message),
        });
        let message = told.collect::<Vec<_>>().join("; ");
        Self { code, message, errors, retry_after_seconds: None }
    }
}
