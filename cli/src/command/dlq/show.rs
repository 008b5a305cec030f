//! `ikkai dlq show`.

use clap::Args;
use dlq_redrive::protocol::{Answer, Inspect, Inspection, RecordSummary, Request, SeenMessage};

use super::ages::ago;
use super::history;
use super::tell::{ask, tell};
use super::words::{full_reason, messages, plan};
use crate::command::Failure;
use crate::command::ending::Ending;
use crate::operator::Desk;
use crate::screen::{Screen, table_lines};

/// Options of `show`.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The job's id.
    job_id: String,
    /// Does not look for its message, which costs a receive of every message before it.
    #[arg(long)]
    no_message: bool,
}

impl Show {
    pub(super) fn request(&self) -> Request {
        Request::Inspect(Inspect { job_id: self.job_id.clone(), message: !self.no_message })
    }

    pub(super) async fn run(self, desk: &dyn Desk, screen: &Screen) -> Result<Ending, Failure> {
        let reply = ask(desk, &self.request()).await?;
        Ok(tell(screen, &reply, |answer| {
            if let Answer::Inspect(found) = answer {
                lines(found, &self.job_id).iter().for_each(|line| screen.line(line));
                if !self.no_message {
                    screen.note(format!("looked at {}", messages(found.seen)));
                }
            }
        }))
    }
}

/// Everything about one job, in lines.
pub(in crate::command) fn lines(found: &Inspection, job_id: &str) -> Vec<String> {
    let mut rows = vec![("job", job_id.to_owned())];
    match &found.record {
        Some(record) => rows.extend(of_record(record)),
        None => rows.push(("record", "there is none".to_owned())),
    }
    if let Some(payload) = &found.payload {
        rows.push(("payload", payload.to_string()));
    }
    if let Some(message) = &found.message {
        rows.extend(of_message(message));
    }
    rows.push(("a redrive would", plan(found.verdict)));
    let mut lines = table_lines(&[], &[], rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    lines.extend([String::new(), found.advice.clone()]);
    if !found.runs.is_empty() {
        lines.push(String::new());
        lines.extend(history::table(&found.runs));
    }
    lines
}

fn of_record(record: &RecordSummary) -> Vec<(&'static str, String)> {
    let mut rows = vec![("type", record.job_type.clone()), ("status", record.status.clone())];
    rows.extend(full_reason(record).map(|reason| ("reason", reason)));
    rows.push(("attempts", format!("{}, of which {} died", record.attempts, record.crashes)));
    rows.push(("put back", format!("{} times", record.generation)));
    if record.patched {
        rows.push(("mended", "its payload is not the one that was sent".to_owned()));
    }
    rows.extend(record.business_id.clone().map(|id| ("business id", id)));
    rows.extend(record.provider_ref.clone().map(|id| ("provider's id", id)));
    let moments =
        [("accepted", Some(&record.created_at)), ("updated", Some(&record.updated_at)), ("died", record.died_at.as_ref())];
    rows.extend(moments.into_iter().filter_map(|(name, at)| Some((name, moment(at?)))));
    rows
}

fn of_message(message: &SeenMessage) -> Vec<(&'static str, String)> {
    let mut rows = vec![("message", format!("{} in {}, {} bytes", message.message_id, message.queue, message.bytes))];
    rows.push(("received", format!("{} times, this look included", message.receive_count)));
    rows.extend(message.sent_at.as_deref().map(|at| ("sent", moment(at))));
    rows.push(("came from", message.source.clone().unwrap_or_else(|| "somebody sent it here".to_owned())));
    rows
}

/// An instant, and how long ago that is.
fn moment(at: &str) -> String {
    format!("{at}, {} ago", ago(at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::dlq::tests::{command, request_of};
    use crate::operator::scripted::{ScriptedDesk, refusal};
    use crate::screen::Format;

    #[test]
    fn options_become_the_request() {
        assert_eq!(request_of(&["show", "j-1"]), json!({"action": "inspect", "jobId": "j-1", "message": true}));
        assert_eq!(request_of(&["show", "j-1", "--no-message"])["message"], false);
    }

    #[tokio::test]
    async fn a_job_is_shown_with_its_reason_and_what_to_do() {
        let answer = json!({"version": 1, "action": "inspect", "ok": true, "seen": 3, "verdict": "redriven", "advice": "Put it back.",
            "record": {"jobId": "j-1", "jobType": "email.send", "status": "dead", "generation": 2, "attempts": 5, "crashes": 1,
                "errorClass": "permanent", "errorCode": "unknown_user", "errorMessage": "there is no such contact",
                "patched": true, "createdAt": "then", "updatedAt": "then"},
            "payload": {"userId": "user-42"}, "runs": []});
        let (ending, memory, _) = command(&["show", "j-1"], ScriptedDesk::says([answer]), Format::Text).await;
        assert_eq!(ending, Ending::Done);
        let expected = r#"
 job              j-1
 type             email.send
 status           dead
 reason           unknown_user (permanent): there is no such contact
 attempts         5, of which 1 died
 put back         2 times
 mended           its payload is not the one that was sent
 accepted         then, then ago
 updated          then, then ago
 payload          {"userId":"user-42"}
 a redrive would  put it back

Put it back."#;
        assert_eq!(memory.result(), expected.trim_start_matches('\n'));
        assert_eq!(memory.notes(), "looked at 3 messages");
    }

    #[tokio::test]
    async fn an_unknown_job_ends_with_nothing() {
        let unknown = json!({"version": 1, "action": "inspect", "ok": true, "seen": 3, "verdict": "not_found", "advice": "Look again.",
            "runs": []});
        let (ending, ..) = command(&["show", "j-1"], ScriptedDesk::says([unknown]), Format::Text).await;
        assert_eq!(ending, Ending::Nothing);
        let refused = refusal("inspect", "unknown_job", "there is no record of this job");
        let (ending, memory, _) = command(&["show", "j-1"], ScriptedDesk::says([refused]), Format::Text).await;
        assert_eq!((ending, memory.notes().as_str()), (Ending::Nothing, "error: there is no record of this job"));
    }
}
