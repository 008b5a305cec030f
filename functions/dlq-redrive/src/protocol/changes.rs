//! Requests that change something. Each says why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::filter::Filter;

/// `redrive`: puts messages back into the queue that they came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Redrive {
    /// A queue's name in this stack, such as `email`, or `all`.
    pub queue: String,
    /// Which messages are put back.
    #[serde(default)]
    pub filter: Filter,
    /// Most messages that are put back, in this run with all its continuations.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max: u32,
    /// Messages a second.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 500))]
    pub rate_per_second: u32,
    /// Says what would be done, and does nothing. Costs a receive of every message.
    #[serde(default)]
    pub dry_run: bool,
    /// So many are put back first; the others follow when the first of them has succeeded. 0: none.
    #[serde(default)]
    #[schemars(range(max = 100))]
    pub canary: u32,
    /// How long the canary may take, in seconds, over all continuations.
    #[serde(default = "ten_minutes")]
    #[schemars(range(min = 1, max = 86400))]
    pub canary_timeout_seconds: u32,
    /// The run stops when more than this share of what it has put back has failed again, in percent. 100: never.
    #[serde(default = "half")]
    #[schemars(range(min = 0, max = 100))]
    pub stop_at_returned_percent: u32,
    /// A JSON merge patch (RFC 7396) of the payload. Only with `filter.jobIds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Map<String, Value>>,
    /// Also puts back what was put back as often as it may be.
    #[serde(default)]
    pub override_quarantine: bool,
    /// Why. Kept in the history.
    #[schemars(length(min = 1, max = 500))]
    pub reason: String,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub claimed_by: Option<String>,
    /// A name that the caller gives the run: a request that is repeated under it is answered and not done again. Made up where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z0-9._-]{1,64}$"))]
    pub run_id: Option<String>,
    /// What the answer of the run's last part gave; the request is otherwise the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// `moveTask`: starts, lists and cancels SQS's own redrive. It takes whole queues, and knows nothing of jobs: what was given up runs again because
/// its message is younger than its death, and jobs in doubt do not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoveTaskRequest {
    /// What to do.
    pub operation: MoveOperation,
    /// A queue's name in this stack, such as `email`.
    pub queue: String,
    /// `start`: messages a second, 1 to 500; without it SQS chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub rate_per_second: Option<u32>,
    /// `cancel`: the task, as `list` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_handle: Option<String>,
    /// Why; a must for `start` and `cancel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500))]
    pub reason: Option<String>,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub claimed_by: Option<String>,
}

/// What to do with move tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MoveOperation {
    /// Start one.
    Start,
    /// The last ten.
    List,
    /// Cancel the running one. What was moved stays moved.
    Cancel,
}

/// `discard`: archives messages with their records, then removes them. Their jobs count as cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Discard {
    /// The full name of the dead-letter queue, as SQS knows it: a short name is not enough to remove something.
    pub dead_letter_queue: String,
    /// Which messages are removed.
    #[serde(default)]
    pub filter: Filter,
    /// Most messages that are removed.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max: u32,
    /// Says what would be done, and does nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Why. Kept in the history.
    #[schemars(length(min = 1, max = 500))]
    pub reason: String,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub claimed_by: Option<String>,
    /// As in `redrive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z0-9._-]{1,64}$"))]
    pub run_id: Option<String>,
    /// As in `redrive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// `resolve`: somebody looked at the provider and says what became of a job in doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resolve {
    /// The job's id.
    pub job_id: String,
    /// What became of it.
    pub r#as: ResolveAs,
    /// The job's `generation` when its doubt was looked at. Where it has another one by now, nothing is done: another run is in doubt, or
    /// none. Without it, the doubt that there is when the request comes is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    /// `done`: the provider's id of the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub provider_ref: Option<String>,
    /// Why. Kept in the history.
    #[schemars(length(min = 1, max = 500))]
    pub reason: String,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub claimed_by: Option<String>,
}

/// What became of a job in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ResolveAs {
    /// The effect happened.
    Done,
    /// It did not, or shall happen once more: the job is dead as of now and can be redriven.
    RunAgain,
}

/// `cancel`: takes a job back that is accepted, waiting or dead, whoever has posted it. Its message is acknowledged without work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cancel {
    /// The job's id.
    pub job_id: String,
    /// Why. Kept in the history.
    #[schemars(length(min = 1, max = 500))]
    pub reason: String,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub claimed_by: Option<String>,
}

const fn ten() -> u32 {
    10
}

const fn half() -> u32 {
    50
}

const fn hundred() -> u32 {
    100
}

const fn ten_minutes() -> u32 {
    600
}
