//! Requests.

use ikkai::job::{FieldError, decode_value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::VERSION;
use super::changes::{Cancel, Discard, MoveTaskRequest, Redrive, Resolve};
use super::error::{Refusal, RefusalCode};
use super::looks::{HistoryRequest, Inspect, List, StatusRequest};

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
