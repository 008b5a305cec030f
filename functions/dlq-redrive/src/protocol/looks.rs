//! Requests that look and change nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::Filter;

/// `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusRequest {
    /// A queue's name in this stack, such as `email`, or `all`.
    #[serde(default = "all")]
    pub queue: String,
    /// Also looks through the jobs table for jobs that do not go on by themselves: accepted, waiting or running for longer than this, in
    /// seconds. Reads the whole table: half a read unit for each 4 KB of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60))]
    pub stuck_after_seconds: Option<u64>,
}

/// `list`: looks at messages without using them up. Each look costs a receive, and hides the message until the look is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct List {
    /// A queue's name in this stack, such as `email`, or `all`.
    #[serde(default = "all")]
    pub queue: String,
    /// Which messages are listed.
    #[serde(default)]
    pub filter: Filter,
    /// Most messages that are looked at, in each queue.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10000))]
    pub max: u32,
    /// Whether each message is listed beside the groups.
    #[serde(default)]
    pub messages: bool,
}

/// `inspect`: the record of a job, and its message where the dead-letter queue still has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inspect {
    /// The job's id.
    pub job_id: String,
    /// Whether the dead-letter queue is searched for its message, which costs a receive of every message before it.
    #[serde(default = "yes")]
    pub message: bool,
}

/// `history`: what operators did, the last first; or one run with its verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryRequest {
    /// A queue's name in this stack, such as `email`, or `all`.
    #[serde(default = "all")]
    pub queue: String,
    /// This run, with the verdict of every message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Most runs.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    pub max: u32,
}

fn all() -> String {
    "all".to_owned()
}

const fn yes() -> bool {
    true
}

const fn twenty() -> u32 {
    20
}

const fn hundred() -> u32 {
    100
}
