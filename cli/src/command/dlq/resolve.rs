//! `ikkai dlq resolve`.

use clap::Args;
use dlq_redrive::protocol::{self, Answer, Inspect, Request, ResolveAs};

use super::tell::{ask, tell};
use super::words::full_reason;
use super::{Change, Work, command_line};
use crate::command::Failure;
use crate::command::consent::awaited;
use crate::command::ending::Ending;

/// Options of `resolve`.
#[derive(Debug, Args)]
pub(super) struct Resolve {
    /// The job's id.
    job_id: String,
    /// The effect happened: the job counts as succeeded.
    #[arg(long, required_unless_present = "run_again", conflicts_with = "run_again")]
    done: bool,
    /// The effect did not happen, or shall happen once more: the job counts as dead and can be put back.
    #[arg(long)]
    run_again: bool,
    /// With `--done`: the provider's id of the effect.
    #[arg(long, value_name = "ID", conflicts_with = "run_again", value_parser = super::said)]
    provider_ref: Option<String>,
    /// The job's generation when its doubt was looked at, as `show` tells it ("put back ... times"): nothing is done where it has another one by
    /// now. Without it, that of the job that is shown before the question.
    #[arg(long, value_name = "NUMBER")]
    generation: Option<u32>,
    /// Why. Kept in the history.
    #[arg(long, value_name = "TEXT", value_parser = super::said)]
    reason: String,
    #[command(flatten)]
    pub(super) change: Change,
}

impl Resolve {
    /// `shown` is the generation that was shown before the question.
    pub(super) fn request(&self, shown: Option<u32>, claimed_by: Option<String>) -> Request {
        Request::Resolve(protocol::Resolve {
            job_id: self.job_id.clone(),
            r#as: if self.done { ResolveAs::Done } else { ResolveAs::RunAgain },
            generation: self.generation.or(shown),
            provider_ref: self.provider_ref.clone(),
            reason: self.reason.clone(),
            claimed_by,
        })
    }

    pub(super) async fn run(self, mut work: Work<'_>) -> Result<Ending, Failure> {
        if let Some(ending) = work.asker.cannot_ask(work.screen) {
            return Ok(ending);
        }
        let mut shown = None;
        if work.asker.will_ask() {
            let inspect = Inspect { job_id: self.job_id.clone(), message: false };
            let reply = ask(work.desk, &Request::Inspect(inspect)).await?;
            let record = match &reply.answer {
                Answer::Inspect(found) => found.record.as_ref(),
                _ => return Ok(tell(work.screen, &reply, |_| {})),
            };
            let Some(record) = record else {
                work.screen.note(format!("there is no record of the job {}", self.job_id));
                return Ok(Ending::Nothing);
            };
            shown = Some(record.generation);
            work.screen.note(format!("{}: {}, {}", record.job_id, record.job_type, record.status));
            if let Some(reason) = full_reason(record) {
                work.screen.note(reason);
            }
            let question = match self.done {
                true => "has its effect happened? It counts as succeeded from then on, and does not run again.",
                false => "has its effect not happened, or shall it happen once more? It can be put back from then on.",
            };
            if let Err(ending) = work.asker.consent(work.screen, question).await {
                return Ok(ending);
            }
        }
        let request = self.request(shown, work.claimed_by.clone());
        let show = command_line("show", &work.site, vec![self.job_id.clone(), "--no-message".to_owned()]);
        let reply = match awaited(work.screen, &format!("`{show}` tells"), ask(work.desk, &request)).await {
            Ok(reply) => reply?,
            Err(ending) => return Ok(ending),
        };
        Ok(tell(work.screen, &reply, |answer| {
            if let Answer::Resolve(resolved) = answer {
                work.screen.line(format!("{}  {}", resolved.record.job_id, resolved.record.status));
                work.screen.line(&resolved.advice);
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::command::dlq::tests::{command_with, request_of};
    use crate::operator::scripted::{ScriptedDesk, refusal};
    use crate::screen::Format;

    const DONE: [&str; 5] = ["resolve", "j-1", "--done", "--reason", "seen at the provider"];

    fn record(status: &str) -> Value {
        json!({"jobId": "j-1", "jobType": "billing.charge", "status": status, "generation": 0, "attempts": 1, "crashes": 0,
            "errorClass": "ambiguous", "patched": false, "createdAt": "then", "updatedAt": "then"})
    }

    fn inspected() -> Value {
        json!({"version": 1, "action": "inspect", "ok": true, "seen": 0, "verdict": "in_doubt", "advice": "Look.", "runs": [],
            "record": record("in_doubt")})
    }

    fn resolved() -> Value {
        json!({"version": 1, "action": "resolve", "ok": true, "runId": "run-1", "advice": "A redrive deletes its message.",
            "record": record("succeeded")})
    }

    #[test]
    fn options_become_the_request() {
        let expected = json!({"action": "resolve", "jobId": "j-1", "as": "done", "providerRef": "ch_1", "reason": "seen", "claimedBy": "me"});
        assert_eq!(request_of(&["resolve", "j-1", "--done", "--provider-ref", "ch_1", "--reason", "seen"]), expected);
        assert_eq!(request_of(&["resolve", "j-1", "--run-again", "--reason", "seen"])["as"], "runAgain");
        assert_eq!(request_of(&["resolve", "j-1", "--done", "--generation", "2", "--reason", "seen"])["generation"], 2);
    }

    #[tokio::test]
    async fn the_job_is_shown_before_the_question() {
        let desk = ScriptedDesk::says([inspected(), resolved()]);
        let (ending, memory, asked) = command_with(&DONE, desk, Format::Text, Some(&["y"])).await;
        assert_eq!(ending, Ending::Done);
        assert_eq!(asked.iter().map(|request| request["action"].as_str().unwrap()).collect::<Vec<_>>(), ["inspect", "resolve"]);
        assert_eq!(asked[1]["generation"], 0, "the doubt that was shown is the one that ends");
        let notes = memory.notes();
        assert!(notes.starts_with("j-1: billing.charge, in_doubt\nambiguous\nhas its effect happened?"), "{notes}");
        assert_eq!(memory.result(), "j-1  succeeded\nA redrive deletes its message.");
    }

    #[tokio::test]
    async fn a_no_changes_nothing_and_a_yes_beforehand_asks_nothing() {
        let (ending, _, asked) = command_with(&DONE, ScriptedDesk::says([inspected()]), Format::Text, Some(&["n"])).await;
        assert_eq!((ending, asked.len()), (Ending::Failed, 1));
        let (ending, memory, asked) = command_with(&DONE, ScriptedDesk::says([resolved()]), Format::Json, None).await;
        assert_eq!((ending, asked.len(), asked[0].get("generation")), (Ending::Done, 1, None));
        assert_eq!(serde_json::from_str::<Value>(&memory.result()).unwrap(), resolved());
        let (ending, _, asked) = command_with(&DONE, ScriptedDesk::says([]), Format::Text, Some(&[])).await;
        assert_eq!((ending, asked.len()), (Ending::Usage, 0));
    }

    #[tokio::test]
    async fn what_is_refused_is_told() {
        let desk = ScriptedDesk::says([refusal("resolve", "wrong_state", "the job is not in doubt")]);
        let (ending, memory, _) = command_with(&DONE, desk, Format::Text, None).await;
        assert_eq!((ending, memory.notes().as_str()), (Ending::Failed, "error: the job is not in doubt"));
    }
}
