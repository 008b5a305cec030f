//! Answers.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::VERSION;
use super::error::Refusal;
use super::found::{Cancelled, Inspection, ListAnswer, Resolved};
use super::queue_status::{MoveTaskAnswer, StatusAnswer};
use super::request::Action;
use super::run::{DiscardAnswer, History, RedriveAnswer, RunState};

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
    /// Of `cancel`.
    Cancel(Cancelled),
    /// Of `history`.
    History(History),
    /// The request was not done.
    Refused(Option<Action>, Refusal),
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
            Self::Cancel(_) => Action::Cancel,
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
            Self::Cancel(answer) => serde_json::to_value(answer),
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
            Some(Action::Cancel) => body(value).map(Self::Cancel),
            Some(Action::History) => body(value).map(Self::History),
            None => Err(serde::de::Error::custom("the answer names no action")),
        }
    }
}
