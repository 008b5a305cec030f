//! A desk that says what a test wrote down, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use dlq_redrive::protocol::{Action, Request};
use serde_json::{Value, json};

use super::desk::{Desk, DeskError, Reply};

/// One answer of the script.
pub(crate) enum Line {
    /// This, after a while.
    Says(Duration, Value),
    /// None.
    Fails(DeskError),
}

/// A desk with a script.
#[derive(Default)]
pub(crate) struct ScriptedDesk {
    lines: Mutex<VecDeque<Line>>,
    asides: Mutex<VecDeque<Value>>,
    asked: Mutex<Vec<Value>>,
}

impl ScriptedDesk {
    /// Gives these answers, one a request.
    pub(crate) fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self { lines: Mutex::new(lines.into_iter().collect()), ..Self::default() }
    }

    /// Gives these answers at once.
    pub(crate) fn says(answers: impl IntoIterator<Item = Value>) -> Self {
        Self::new(answers.into_iter().map(|answer| Line::Says(Duration::ZERO, answer)))
    }

    /// Answers requests for the history from a script of its own, as long as it has one.
    pub(crate) fn beside(self, answers: impl IntoIterator<Item = Value>) -> Self {
        Self { asides: Mutex::new(answers.into_iter().collect()), ..self }
    }

    /// Everything that was asked, but the history that has a script of its own.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Desk for ScriptedDesk {
    async fn ask(&self, request: &Request) -> Result<Reply, DeskError> {
        if request.action() == Action::History
            && let Some(aside) = self.asides.lock().unwrap().pop_front()
        {
            return Reply::read(aside);
        }
        self.asked.lock().unwrap().push(request.to_json());
        let line = self.lines.lock().unwrap().pop_front();
        match line.unwrap_or_else(|| panic!("the script has no answer to {}", request.to_json())) {
            Line::Says(after, answer) => {
                tokio::time::sleep(after).await;
                Reply::read(answer)
            }
            Line::Fails(error) => Err(error),
        }
    }
}

/// The answer of a run, with verdicts `code: [message, …]`.
pub(crate) fn run(action: &str, state: &str, verdicts: &[(&str, &[&str])]) -> Value {
    let by_verdict: serde_json::Map<_, _> =
        verdicts.iter().map(|(code, messages)| ((*code).to_owned(), messages.len().into())).collect();
    let count: usize = verdicts.iter().map(|(_, messages)| messages.len()).sum();
    let of = |(code, messages): &(&str, &[&str])| -> Vec<Value> {
        messages
            .iter()
            .map(|message| json!({"messageId": message, "jobIds": [format!("job-{message}")], "verdict": code}))
            .collect()
    };
    let redriven = by_verdict.get("redriven").cloned().unwrap_or_else(|| 0.into());
    let failed = ["not_found", "send_failed"].iter().any(|code| by_verdict.contains_key(*code));
    let mut answer = json!({
        "version": 1, "action": action, "ok": state != "stopped" && !failed,
        "runId": "run-1", "state": state, "dryRun": false, "replayed": false,
        "tally": {
            "snapshot": count, "seen": count, "matched": count, "redriven": redriven,
            "succeededAgain": 0, "failedAgain": 0, "byVerdict": by_verdict,
        },
        "verdicts": verdicts.iter().flat_map(of).collect::<Vec<_>>(),
    });
    if action == "discard" {
        answer["archive"] = "s3://archive/discarded".into();
    }
    answer
}

/// A refusal.
pub(crate) fn refusal(action: &str, code: &str, message: &str) -> Value {
    json!({"version": 1, "action": action, "ok": false, "error": {"code": code, "message": message}})
}
