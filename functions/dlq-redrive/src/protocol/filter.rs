//! Which messages of a dead-letter queue are meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which messages are meant: those that meet every member that is given. An empty filter means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Filter {
    /// These jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub job_ids: Vec<String>,
    /// Jobs of these types, such as `email.send`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Jobs that failed in this way: `transient`, `deferred`, `permanent`, `ambiguous`, `crash`, `poison`, `exhausted`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Jobs that failed with these codes, such as `unknown_user`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// Messages that were sent at least this long ago, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_age_seconds: Option<u64>,
    /// Messages that were sent at most this long ago, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_seconds: Option<u64>,
    /// Messages that SQS moved from these queues. `none` means messages that somebody sent into the dead-letter queue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

impl Filter {
    /// Whether every message is meant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
