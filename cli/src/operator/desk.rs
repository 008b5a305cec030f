//! Who answers an operator's requests.

use async_trait::async_trait;
use dlq_redrive::protocol::{Answer, Request};
use serde_json::Value;

/// Answers requests.
#[async_trait]
pub trait Desk: Send + Sync {
    /// Asks, and waits for the answer: for a run, up to a quarter of an hour.
    ///
    /// # Errors
    /// There is no answer. A refusal is one.
    async fn ask(&self, request: &Request) -> Result<Reply, DeskError>;
}

/// An answer, as it came and as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// As it came.
    pub json: Value,
    /// As it was understood.
    pub answer: Answer,
}

impl Reply {
    /// Reads an answer.
    ///
    /// # Errors
    /// It is none.
    pub fn read(json: Value) -> Result<Self, DeskError> {
        match Answer::read(json.clone()) {
            Ok(answer) => Ok(Self { json, answer }),
            Err(error) => Err(DeskError::NotAnAnswer { why: error.to_string() }),
        }
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self { json: answer.to_json(), answer }
    }
}

/// There is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeskError {
    /// Nothing was asked.
    #[error("cannot ask the function `{function}`; nothing was done")]
    NotAsked {
        /// Which function.
        function: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no such function.
    #[error("there is no function `{function}`; `--direct` does the same with your own permissions")]
    NoFunction {
        /// Which function.
        function: String,
    },
    /// The caller may not ask.
    #[error("you may not invoke the function `{function}` (lambda:InvokeFunction): {told}")]
    NotAllowed {
        /// Which function.
        function: String,
        /// What Lambda said.
        told: String,
    },
    /// All of the function's concurrency is in use.
    #[error("the function `{function}` has no concurrency left; nothing was done, try again in a moment")]
    Throttled {
        /// Which function.
        function: String,
    },
    /// It was asked, and what came of it is not known.
    #[error("the answer of the function `{function}` was lost; what it was asked may be done")]
    Lost {
        /// Which function.
        function: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The function ended without an answer.
    #[error("the function `{function}` failed ({kind}): {message}; its log says more")]
    Failed {
        /// Which function.
        function: String,
        /// Lambda's or the function's name of the error.
        kind: String,
        /// What it said.
        message: String,
    },
    /// What came back is no answer.
    #[error("what came back is no answer of this version ({why}); is the function `dlq-redrive`, and as old as this command?")]
    NotAnAnswer {
        /// What is wrong with it.
        why: String,
    },
    /// The code that runs here could not be set up.
    #[error("cannot work on the stack with your own permissions")]
    Direct {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl DeskError {
    /// Whether the request may have been done although there is no answer.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Whether something may have been done: the function was reached, and what it did is not known.
    #[must_use]
    pub const fn may_be_done(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Failed { .. } | Self::NotAnAnswer { .. })
    }
}

#[cfg(test)]
mod tests {
    use dlq_redrive::protocol::{StatusAnswer, VERSION};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_kept_as_it_came() {
        let json = json!({"version": VERSION, "action": "status", "ok": true, "queues": [], "newer": 1});
        let reply = Reply::read(json.clone()).unwrap();
        assert_eq!(reply.answer, Answer::Status(StatusAnswer { queues: Vec::new(), stuck: None }));
        assert_eq!(reply.json, json, "members that this command does not know are shown too");
    }

    #[test]
    fn what_is_no_answer_is_told_so() {
        for json in [json!("ok"), json!({}), json!({"statusCode": 200}), json!({"action": "list", "seen": -1})] {
            let error = Reply::read(json).unwrap_err();
            assert!(error.to_string().contains("dlq-redrive") && !error.is_lost(), "{error}");
        }
    }
}
