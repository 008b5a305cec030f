//! What is told of messages and jobs, without their content.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run::RunSummary;
use super::verdict::VerdictCode;

/// What is in dead-letter queues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListAnswer {
    /// Messages that were looked at.
    pub seen: u64,
    /// Messages that meet the filter.
    pub matched: u64,
    /// Whether there may be more than were looked at.
    pub more: bool,
    /// Those that meet the filter, by queue, type and reason; the largest group first.
    pub groups: Vec<DeadGroup>,
    /// Each of them, where that was asked for; at most a thousand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<SeenMessage>>,
}

/// Messages with the same reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadGroup {
    /// The queue's name in this stack.
    pub queue: String,
    /// The jobs' type; absent for messages that are no jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_type: Option<String>,
    /// The status of their records, or `none`.
    pub status: String,
    /// What kind of failure it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// One of the reasons, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// How many.
    pub count: u64,
    /// When the oldest was sent, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_at: Option<String>,
    /// When the youngest was sent, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub youngest_at: Option<String>,
    /// Up to five of the jobs.
    pub examples: Vec<String>,
    /// What a `redrive` would do to them.
    pub verdict: VerdictCode,
    /// What an operator does about it, in one sentence.
    pub advice: String,
}

/// One message, without its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeenMessage {
    /// The queue's name in this stack.
    pub queue: String,
    /// SQS's id of the message.
    pub message_id: String,
    /// The jobs that it holds.
    pub job_ids: Vec<String>,
    /// Size of the body in bytes.
    pub bytes: u64,
    /// The queue that SQS moved it from; absent for a message that somebody sent here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was sent, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<String>,
    /// How often it was received, this look included.
    pub receive_count: u32,
    /// The records of its jobs.
    pub records: Vec<RecordSummary>,
    /// What a `redrive` would do to it.
    pub verdict: VerdictCode,
}

/// A job's record, without anything private: no payload, no data, no result, no callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordSummary {
    /// The job.
    pub job_id: String,
    /// Its type.
    pub job_type: String,
    /// Where it stands.
    pub status: String,
    /// How often it was put back.
    pub generation: u32,
    /// Handler starts since then.
    pub attempts: u32,
    /// Workers that died since then.
    pub crashes: u32,
    /// The sender's name of the business case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub business_id: Option<String>,
    /// Kind of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The reason, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Whether an operator has mended the payload.
    pub patched: bool,
    /// The provider's id of the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_ref: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died_at: Option<String>,
}

/// Everything about one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// Its record; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordSummary>,
    /// The members of its payload and the shape of their values: reference ids and parameters are shown, nothing else is in a payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Its message in the dead-letter queue, where one was looked for and found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<SeenMessage>,
    /// Messages that were looked at to find it.
    pub seen: u64,
    /// What a `redrive` would do.
    pub verdict: VerdictCode,
    /// What an operator does about it, in one sentence.
    pub advice: String,
    /// The runs that touched it, the last first, as far as the last twenty runs on its queue tell.
    pub runs: Vec<RunSummary>,
}

/// Of `cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    /// The job as it is now.
    pub record: RecordSummary,
    /// The name of the entry in the history.
    pub run_id: String,
    /// What comes next, in one sentence.
    pub advice: String,
}

/// Of `resolve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// The job as it is now.
    pub record: RecordSummary,
    /// The name of the entry in the history.
    pub run_id: String,
    /// What comes next, in one sentence.
    pub advice: String,
}
