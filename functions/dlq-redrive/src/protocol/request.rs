//! Requests.

use ikkai::job::{FieldError, decode_value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::VERSION;
use super::error::{Refusal, RefusalCode};
use super::filter::Filter;

/// A request, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// How full the queues are, what moves, what hangs.
    Status(StatusRequest),
    /// What is in a dead-letter queue, grouped by type and reason.
    List(List),
    /// Everything about one job.
    Inspect(Inspect),
    /// Puts messages back into their queue.
    Redrive(Redrive),
    /// SQS's own redrive of a whole queue.
    MoveTask(MoveTaskRequest),
    /// Archives messages and removes them.
    Discard(Discard),
    /// Says what became of a job in doubt.
    Resolve(Resolve),
    /// Takes a job back that is not done.
    Cancel(Cancel),
    /// What operators did before.
    History(HistoryRequest),
}

/// The names of the actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "each is described at its request")]
pub enum Action {
    Status,
    List,
    Inspect,
    Redrive,
    MoveTask,
    Discard,
    Resolve,
    Cancel,
    History,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 9] = [
        Self::Status,
        Self::List,
        Self::Inspect,
        Self::Redrive,
        Self::MoveTask,
        Self::Discard,
        Self::Resolve,
        Self::Cancel,
        Self::History,
    ];

    /// The name in requests and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::List => "list",
            Self::Inspect => "inspect",
            Self::Redrive => "redrive",
            Self::MoveTask => "moveTask",
            Self::Discard => "discard",
            Self::Resolve => "resolve",
            Self::Cancel => "cancel",
            Self::History => "history",
        }
    }
}

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

impl Request {
    /// Reads a request. Unknown members are refused with the nearest known name.
    ///
    /// # Errors
    /// Everything that is wrong with it, by member.
    pub fn read(value: Value) -> Result<Self, Refusal> {
        let Value::Object(mut members) = value else {
            return Err(invalid(vec![FieldError::new(
                "",
                "wrong_type",
                "the request must be a JSON object with a member `action`",
            )]));
        };
        let Some(action) = members.remove("action") else {
            return Err(invalid(vec![FieldError::new(
                "/action",
                "missing_member",
                "the member is missing; it is one of status, list, inspect, redrive, moveTask, discard, resolve, cancel, history",
            )]));
        };
        let action: Action =
            decode_value(&action).map_err(|errors| invalid(errors.into_iter().map(|error| error.under("/action")).collect()))?;
        match members.remove("version") {
            None => {}
            Some(version) if version == VERSION => {}
            Some(_) => {
                let message = format!("this function speaks version {VERSION}; leave the member out, or update the caller");
                return Err(invalid(vec![FieldError::new("/version", "invalid_value", message)]));
            }
        }
        let rest = Value::Object(members);
        let request = match action {
            Action::Status => decode_value(&rest).map(Self::Status),
            Action::List => decode_value(&rest).map(Self::List),
            Action::Inspect => decode_value(&rest).map(Self::Inspect),
            Action::Redrive => decode_value(&rest).map(Self::Redrive),
            Action::MoveTask => decode_value(&rest).map(Self::MoveTask),
            Action::Discard => decode_value(&rest).map(Self::Discard),
            Action::Resolve => decode_value(&rest).map(Self::Resolve),
            Action::Cancel => decode_value(&rest).map(Self::Cancel),
            Action::History => decode_value(&rest).map(Self::History),
        };
        request.map_err(invalid)
    }

    /// Which action it is.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Status(_) => Action::Status,
            Self::List(_) => Action::List,
            Self::Inspect(_) => Action::Inspect,
            Self::Redrive(_) => Action::Redrive,
            Self::MoveTask(_) => Action::MoveTask,
            Self::Discard(_) => Action::Discard,
            Self::Resolve(_) => Action::Resolve,
            Self::Cancel(_) => Action::Cancel,
            Self::History(_) => Action::History,
        }
    }

    /// The request as JSON, as it is sent.
    ///
    /// # Panics
    /// Never: requests are plain data.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rest = match self {
            Self::Status(request) => serde_json::to_value(request),
            Self::List(request) => serde_json::to_value(request),
            Self::Inspect(request) => serde_json::to_value(request),
            Self::Redrive(request) => serde_json::to_value(request),
            Self::MoveTask(request) => serde_json::to_value(request),
            Self::Discard(request) => serde_json::to_value(request),
            Self::Resolve(request) => serde_json::to_value(request),
            Self::Cancel(request) => serde_json::to_value(request),
            Self::History(request) => serde_json::to_value(request),
        };
        let mut members = Map::from_iter([("action".to_owned(), self.action().as_str().into())]);
        if let Value::Object(rest) = rest.expect("requests are plain data") {
            members.extend(rest);
        }
        Value::Object(members)
    }
}

fn invalid(errors: Vec<FieldError>) -> Refusal {
    Refusal::fields(RefusalCode::InvalidRequest, errors)
}

fn all() -> String {
    "all".to_owned()
}

const fn yes() -> bool {
    true
}

const fn ten() -> u32 {
    10
}

const fn twenty() -> u32 {
    20
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
