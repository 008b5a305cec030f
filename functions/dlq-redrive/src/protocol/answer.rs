//! Answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::VERSION;
use super::error::Refusal;
use super::filter::Filter;
use super::request::{Action, MoveOperation};
use super::verdict::{MessageVerdict, VerdictCode};

/// An answer: what was asked for, or why not.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Of `status`.
    Status(StatusAnswer),
    /// Of `list`.
    List(ListAnswer),
    /// Of `inspect`.
    Inspect(Box<Inspection>),
    /// Of `redrive`.
    Redrive(RedriveAnswer),
    /// Of `moveTask`.
    MoveTask(MoveTaskAnswer),
    /// Of `discard`.
    Discard(DiscardAnswer),
    /// Of `resolve`.
    Resolve(Resolved),
    /// Of `history`.
    History(History),
    /// The request was not done.
    Refused(Option<Action>, Refusal),
}

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

/// How many messages became what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Messages in the dead-letter queue when the run began: more are not touched.
    pub snapshot: u64,
    /// Messages that were looked at; one that comes out twice counts once in each part of the run.
    pub seen: u64,
    /// Messages that meet the filter.
    pub matched: u64,
    /// Put back.
    pub redriven: u64,
    /// How many of those are done by now, as far as was looked.
    pub succeeded_again: u64,
    /// How many of those have failed again, as far as was looked.
    pub failed_again: u64,
    /// Left or done, by verdict.
    pub by_verdict: BTreeMap<VerdictCode, u64>,
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// Not over: ask again with the cursor.
    Continues,
    /// Over.
    Finished,
    /// Over before its time, see [`Stopped`].
    Stopped,
}

/// Why a run stopped before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stopped {
    /// The canary failed.
    CanaryFailed,
    /// The canary had not ended in its time.
    CanaryTimedOut,
    /// More than the allowed share came straight back.
    ComingBack,
    /// The queue that messages go to cannot be sent to.
    TargetUnavailable,
    /// The dead-letter queue or the table does not answer.
    Unavailable,
}

/// Of `redrive`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedriveAnswer {
    /// The run's name.
    pub run_id: String,
    /// Whether it goes on.
    pub state: RunState,
    /// Why it stopped before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// What is going on or went wrong, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether nothing was done, only said.
    pub dry_run: bool,
    /// Whether this is the answer to an earlier request under the same run id, given again.
    pub replayed: bool,
    /// The whole run so far, continuations included.
    pub tally: Tally,
    /// Verdicts of this part; at most a thousand, all of them are in the history.
    pub verdicts: Vec<MessageVerdict>,
    /// For the request that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How long to wait before the request that goes on, in seconds: a canary is at work, or messages are still hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_after_seconds: Option<u64>,
}

/// Of `discard`: as a redrive's, and where the archive is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscardAnswer {
    /// The run.
    #[serde(flatten)]
    pub run: RedriveAnswer,
    /// Bucket and prefix of the archive, `s3://bucket/prefix`.
    pub archive: String,
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

/// Of `history`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Runs, the last first.
    pub runs: Vec<RunSummary>,
    /// Verdicts, where one run was asked for; at most ten thousand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<Vec<MessageVerdict>>,
}

/// What an operator did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    /// Its name.
    pub run_id: String,
    /// What was done: `redrive`, `discard`, `resolve` or `moveTask`.
    pub action: Action,
    /// The queues, by their names in this stack.
    pub queues: Vec<String>,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339; of the last part so far.
    pub updated_at: String,
    /// Whether it goes on.
    pub state: RunState,
    /// Why it stopped before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// Whether nothing was done, only said.
    pub dry_run: bool,
    /// Who, as the door has authenticated them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Who, as the request claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Why.
    pub reason: String,
    /// Which messages were meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Counts.
    pub tally: Tally,
}

impl Answer {
    /// Whether everything was done that was asked for: nothing was refused and no message failed. What was left on purpose is no failure.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        let well =
            |run: &RedriveAnswer| run.state != RunState::Stopped && !run.tally.by_verdict.keys().any(|code| code.is_failure());
        match self {
            Self::Refused(..) => false,
            Self::Redrive(run) => well(run),
            Self::Discard(discard) => well(&discard.run),
            _ => true,
        }
    }

    /// Which action it answers.
    #[must_use]
    pub const fn action(&self) -> Option<Action> {
        Some(match self {
            Self::Status(_) => Action::Status,
            Self::List(_) => Action::List,
            Self::Inspect(_) => Action::Inspect,
            Self::Redrive(_) => Action::Redrive,
            Self::MoveTask(_) => Action::MoveTask,
            Self::Discard(_) => Action::Discard,
            Self::Resolve(_) => Action::Resolve,
            Self::History(_) => Action::History,
            Self::Refused(action, _) => return *action,
        })
    }

    /// The answer as JSON: `version`, `action`, `ok`, and either `error` or the members of the action's answer.
    ///
    /// # Panics
    /// Never: answers are plain data.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let body = match self {
            Self::Status(answer) => serde_json::to_value(answer),
            Self::List(answer) => serde_json::to_value(answer),
            Self::Inspect(answer) => serde_json::to_value(answer),
            Self::Redrive(answer) => serde_json::to_value(answer),
            Self::MoveTask(answer) => serde_json::to_value(answer),
            Self::Discard(answer) => serde_json::to_value(answer),
            Self::Resolve(answer) => serde_json::to_value(answer),
            Self::History(answer) => serde_json::to_value(answer),
            Self::Refused(_, refusal) => Ok(json!({ "error": refusal })),
        };
        let mut members = Map::new();
        members.insert("version".to_owned(), VERSION.into());
        if let Some(action) = self.action() {
            members.insert("action".to_owned(), action.as_str().into());
        }
        members.insert("ok".to_owned(), self.is_ok().into());
        if let Value::Object(body) = body.expect("answers are plain data") {
            members.extend(body);
        }
        Value::Object(members)
    }

    /// Reads an answer back. Members that a newer function adds are passed over.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(value: Value) -> Result<Self, serde_json::Error> {
        let action = value.get("action").cloned().map(serde_json::from_value::<Action>).transpose()?;
        if let Some(error) = value.get("error") {
            return Ok(Self::Refused(action, serde_json::from_value(error.clone())?));
        }
        fn body<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
            serde_json::from_value(value)
        }
        match action {
            Some(Action::Status) => body(value).map(Self::Status),
            Some(Action::List) => body(value).map(Self::List),
            Some(Action::Inspect) => body(value).map(|found| Self::Inspect(Box::new(found))),
            Some(Action::Redrive) => body(value).map(Self::Redrive),
            Some(Action::MoveTask) => body(value).map(Self::MoveTask),
            Some(Action::Discard) => body(value).map(Self::Discard),
            Some(Action::Resolve) => body(value).map(Self::Resolve),
            Some(Action::History) => body(value).map(Self::History),
            None => Err(serde::de::Error::custom("the answer names no action")),
        }
    }
}
