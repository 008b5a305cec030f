//! `ikkai dlq history`.

use clap::Args;
use dlq_redrive::protocol::{self, Answer, HistoryRequest, MessageVerdict, Request, RunSummary};

use super::ages::ago;
use super::tell::{ask, tell};
use super::words::{name, state, who};
use crate::command::Failure;
use crate::command::ending::Ending;
use crate::operator::Desk;
use crate::screen::{Screen, table_lines};

/// Options of `history`.
#[derive(Debug, Args)]
pub(super) struct History {
    /// A queue's name in this stack, such as `email`, or `all`.
    #[arg(default_value = "all")]
    queue: String,
    /// This run, with what became of every message.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Most runs.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    max: u32,
}

impl History {
    pub(super) fn request(&self) -> Request {
        Request::History(HistoryRequest { queue: self.queue.clone(), run_id: self.run.clone(), max: self.max })
    }

    pub(super) async fn run(self, desk: &dyn Desk, screen: &Screen) -> Result<Ending, Failure> {
        let reply = ask(desk, &self.request()).await?;
        Ok(tell(screen, &reply, |answer| {
            if let Answer::History(history) = answer {
                lines(history).iter().for_each(|line| screen.line(line));
                if history.runs.is_empty() {
                    screen.note("nothing was done so far");
                }
            }
        }))
    }
}

fn lines(history: &protocol::History) -> Vec<String> {
    let mut lines = if history.runs.is_empty() { Vec::new() } else { table(&history.runs) };
    if let Some(verdicts) = history.verdicts.as_ref().filter(|verdicts| !verdicts.is_empty()) {
        lines.push(String::new());
        lines.extend(verdict_table(verdicts));
    }
    lines
}

/// Runs, one a line.
pub(super) fn table(runs: &[RunSummary]) -> Vec<String> {
    table_lines(&["run", "began", "what", "queue", "who", "done", "state", "why"], &[5], runs.iter().map(row))
}

fn row(run: &RunSummary) -> Vec<String> {
    let done: u64 = run.tally.by_verdict.iter().filter(|(code, _)| code.is_done()).map(|(_, count)| count).sum();
    let dry = if run.dry_run { " (dry run)" } else { "" };
    vec![
        run.run_id.clone(),
        format!("{} ago", ago(&run.started_at)),
        format!("{}{dry}", run.action.as_str()),
        run.queues.join(", "),
        who(run.by.as_deref(), run.claimed_by.as_deref()),
        done.to_string(),
        state(run.state, run.stopped),
        run.reason.clone(),
    ]
}

/// Verdicts, one a line.
pub(super) fn verdict_table<'a>(verdicts: impl IntoIterator<Item = &'a MessageVerdict>) -> Vec<String> {
    let row = |verdict: &MessageVerdict| {
        vec![
            verdict.job_ids.first().or(verdict.message_id.as_ref()).cloned().unwrap_or_else(|| "–".to_owned()),
            name(&verdict.verdict),
            verdict.detail.clone().unwrap_or_default(),
        ]
    };
    table_lines(&["job or message", "verdict", "why"], &[], verdicts.into_iter().map(row))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::command::dlq::tests::{command, request_of};
    use crate::operator::scripted::ScriptedDesk;
    use crate::screen::Format;

    fn run(by: Value) -> Value {
        let mut run = json!({"runId": "run-1", "action": "redrive", "queues": ["email"], "startedAt": "then", "updatedAt": "then",
            "state": "stopped", "stopped": "coming_back", "dryRun": false, "reason": "the template is mended",
            "tally": {"snapshot": 4, "seen": 4, "matched": 4, "redriven": 2, "succeededAgain": 0, "failedAgain": 2,
                "byVerdict": {"redriven": 2, "already_done": 1, "in_doubt": 1}}});
        run.as_object_mut().unwrap().extend(by.as_object().unwrap().clone());
        run
    }

    #[test]
    fn options_become_the_request() {
        assert_eq!(request_of(&["history"]), json!({"action": "history", "queue": "all", "max": 20}));
        let one = ["history", "email", "--run", "run-1", "--max", "3"];
        assert_eq!(request_of(&one), json!({"action": "history", "queue": "email", "runId": "run-1", "max": 3}));
    }

    #[tokio::test]
    async fn a_claimed_name_is_shown_as_one() {
        let answer = json!({"version": 1, "action": "history", "ok": true,
            "runs": [run(json!({"by": "arn:role", "claimedBy": "me"})), run(json!({"claimedBy": "me"})), run(json!({}))],
            "verdicts": [{"messageId": "m-1", "jobIds": ["j-1"], "verdict": "in_doubt", "detail": "the effect had begun"}]});
        let (ending, memory, _) = command(&["history"], ScriptedDesk::says([answer]), Format::Text).await;
        assert_eq!(ending, Ending::Done);
        let expected = " run    began     what     queue  who           done  state                  why
 run-1  then ago  redrive  email  arn:role         3  stopped (coming_back)  the template is mended
 run-1  then ago  redrive  email  me (claimed)     3  stopped (coming_back)  the template is mended
 run-1  then ago  redrive  email  nobody said      3  stopped (coming_back)  the template is mended

 job or message  verdict   why
 j-1             in_doubt  the effect had begun";
        assert_eq!(memory.result(), expected);
    }

    #[tokio::test]
    async fn no_history_ends_with_nothing() {
        let empty = json!({"version": 1, "action": "history", "ok": true, "runs": []});
        let (ending, memory, _) = command(&["history"], ScriptedDesk::says([empty]), Format::Text).await;
        assert_eq!((ending, memory.notes().as_str()), (Ending::Nothing, "nothing was done so far"));
    }
}
