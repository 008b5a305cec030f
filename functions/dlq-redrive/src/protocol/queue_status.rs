//! What is told of queues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::MoveOperation;
use super::run::RunSummary;

/// How full the queues are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusAnswer {
    /// Each queue of the stack that was asked for.
    pub queues: Vec<QueueStatus>,
    /// Jobs that do not go on by themselves, where they were asked for; the first hundred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Vec<StuckJob>>,
}

/// One queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// Its name in this stack.
    pub name: String,
    /// Its name in SQS.
    pub queue: String,
    /// Its dead-letter queue's name in SQS.
    pub dead_letter_queue: String,
    /// The type of its jobs.
    pub job_type: String,
    /// How full it is.
    pub depth: Depth,
    /// How full its dead-letter queue is.
    pub dead_letters: Depth,
    /// When the oldest message that was looked at in the dead-letter queue was sent, RFC 3339. A sample of ten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_dead_letter_at: Option<String>,
    /// SQS's own move tasks out of the dead-letter queue that are not over; absent where the engine does not know them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_tasks: Option<Vec<MoveTask>>,
    /// The last run on this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunSummary>,
}

/// Approximate numbers of messages; they may lag by a minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Depth {
    /// Waiting.
    pub visible: u64,
    /// With a worker, or hidden by a look.
    pub in_flight: u64,
    /// Not yet due.
    pub delayed: u64,
}

/// A job that does not go on by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StuckJob {
    /// The job.
    pub job_id: String,
    /// Where it stands: `accepted`, `retry_scheduled` or `running`.
    pub status: String,
    /// When its record was last written, RFC 3339.
    pub updated_at: String,
}

/// Of `moveTask`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveTaskAnswer {
    /// What was done.
    pub operation: MoveOperation,
    /// Tasks: the started one, the last ten, or the cancelled one.
    pub tasks: Vec<MoveTask>,
}

/// One of SQS's own move tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveTask {
    /// Its handle; SQS tells it of running tasks only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_handle: Option<String>,
    /// `RUNNING`, `COMPLETED`, `CANCELLING`, `CANCELLED` or `FAILED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Messages moved, approximately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<i64>,
    /// Messages to move, as counted at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<i64>,
    /// Messages a second that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_second: Option<i32>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Why it failed, and the mend where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}
