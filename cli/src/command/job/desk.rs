//! A job of a stack, as the stack's desk sees it.

use std::time::Duration;

use dlq_redrive::protocol::{Answer, Cancel, Inspect, Request};

use super::show::is_final;
use crate::command::Failure;
use crate::command::consent::{Asker, awaited};
use crate::command::dlq::{ask, full_reason, inspection, tell};
use crate::command::ending::Ending;
use crate::operator::Desk;
use crate::screen::Screen;

/// How often a watched job is asked for: each time is an invocation of the operators' function.
const EVERY: Duration = Duration::from_secs(2);

/// Shows a job by its record; its message is not looked for, which would cost a receive of every message before it.
pub(super) async fn show(desk: &dyn Desk, job_id: &str, watch: bool, screen: &Screen) -> Result<Ending, Failure> {
    let request = Request::Inspect(Inspect { job_id: job_id.to_owned(), message: false });
    let mut shown = None;
    loop {
        let reply = ask(desk, &request).await?;
        let record = match &reply.answer {
            Answer::Inspect(found) => found.record.as_ref().filter(|record| watch && !is_final(&record.status)),
            _ => None,
        };
        let Some(record) = record else {
            return Ok(tell(screen, &reply, |answer| {
                if let Answer::Inspect(found) = answer {
                    inspection(found, job_id).iter().for_each(|line| screen.line(line));
                }
            }));
        };
        let line = format!("{}  attempts {}", record.status, record.attempts);
        if shown.as_ref() != Some(&line) {
            screen.note(&line);
            shown = Some(line);
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Calls a job off; it is shown before the question.
pub(super) async fn cancel(desk: &dyn Desk, request: Cancel, asker: &mut Asker, screen: &Screen) -> Result<Ending, Failure> {
    let job_id = request.job_id.clone();
    if asker.will_ask() {
        let inspect = Inspect { job_id: job_id.clone(), message: false };
        let reply = ask(desk, &Request::Inspect(inspect)).await?;
        let record = match &reply.answer {
            Answer::Inspect(found) => found.record.as_ref(),
            _ => return Ok(tell(screen, &reply, |_| {})),
        };
        let Some(record) = record else {
            screen.note(format!("there is no record of the job {job_id}"));
            return Ok(Ending::Nothing);
        };
        if let Some(reason) = full_reason(record) {
            screen.note(reason);
        }
        let question = format!("cancel the job {job_id} ({}, {})? It does not run any more.", record.job_type, record.status);
        if let Err(ending) = asker.consent(screen, &question).await {
            return Ok(ending);
        }
    }
    let request = Request::Cancel(request);
    let how_to_tell = format!("`ikkai job show {job_id}` with the same options tells");
    let reply = match awaited(screen, &how_to_tell, ask(desk, &request)).await {
        Ok(reply) => reply?,
        Err(ending) => return Ok(ending),
    };
    Ok(tell(screen, &reply, |answer| {
        if let Answer::Cancel(cancelled) = answer {
            screen.line(format!("{}  {}", cancelled.record.job_id, cancelled.record.status));
            screen.line(&cancelled.advice);
        }
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::operator::scripted::{ScriptedDesk, refusal};
    use crate::screen::Format;

    fn found(status: &str) -> Value {
        json!({"version": 1, "action": "inspect", "ok": true, "seen": 0, "verdict": "redriven", "advice": "Put it back.", "runs": [],
            "record": {"jobId": "j-1", "jobType": "email.send", "status": status, "generation": 0, "attempts": 1, "crashes": 0,
                "patched": false, "createdAt": "then", "updatedAt": "then"}})
    }

    fn cancelled() -> Value {
        let mut answer =
            json!({"version": 1, "action": "cancel", "ok": true, "runId": "cancel-1", "advice": "It does not run any more."});
        answer["record"] = found("cancelled")["record"].clone();
        answer
    }

    async fn cancel_with(desk: &ScriptedDesk, answers: Option<&[&'static str]>) -> (Ending, String, String) {
        let (screen, memory) = Screen::remembering(Format::Text);
        let request = Cancel { job_id: "j-1".to_owned(), reason: "ordered twice".to_owned(), claimed_by: Some("me".to_owned()) };
        let ending = cancel(desk, request, &mut Asker::scripted(answers), &screen).await.unwrap();
        (ending, memory.notes(), memory.result())
    }

    #[tokio::test]
    async fn a_job_of_a_stack_is_shown_before_it_is_called_off() {
        let desk = ScriptedDesk::says([found("retry_scheduled"), cancelled()]);
        let (ending, notes, result) = cancel_with(&desk, Some(&["y"])).await;
        assert_eq!(ending, Ending::Done);
        assert!(notes.contains("cancel the job j-1 (email.send, retry_scheduled)?"), "{notes}");
        assert_eq!(result, "j-1  cancelled\nIt does not run any more.");
        assert_eq!(desk.asked()[1], json!({"action": "cancel", "jobId": "j-1", "reason": "ordered twice", "claimedBy": "me"}));
        let desk = ScriptedDesk::says([found("accepted")]);
        assert_eq!(cancel_with(&desk, Some(&["n"])).await.0, Ending::Failed);
        assert_eq!(desk.asked().len(), 1, "a no changes nothing");
        let desk = ScriptedDesk::says([cancelled()]);
        assert_eq!((cancel_with(&desk, None).await.0, desk.asked().len()), (Ending::Done, 1), "a yes beforehand asks nothing");
    }

    #[tokio::test]
    async fn what_cannot_be_called_off_is_told() {
        let refused = refusal("cancel", "wrong_state", "the job is running and cannot be cancelled");
        let (ending, notes, _) = cancel_with(&ScriptedDesk::says([refused]), None).await;
        assert_eq!((ending, notes.as_str()), (Ending::Failed, "error: the job is running and cannot be cancelled"));
        let unknown = refusal("cancel", "unknown_job", "there is no record of this job");
        assert_eq!(cancel_with(&ScriptedDesk::says([unknown]), None).await.0, Ending::Nothing);
    }

    #[tokio::test]
    async fn a_job_of_a_stack_is_shown_without_a_receive() {
        let desk = ScriptedDesk::says([found("running")]);
        let (screen, memory) = Screen::remembering(Format::Text);
        assert_eq!(show(&desk, "j-1", false, &screen).await.unwrap(), Ending::Done);
        assert_eq!(desk.asked(), [json!({"action": "inspect", "jobId": "j-1", "message": false})]);
        assert!(memory.result().contains("running") && memory.result().ends_with("Put it back."), "{}", memory.result());
    }

    #[tokio::test(start_paused = true)]
    async fn a_watched_job_is_asked_for_until_it_has_ended() {
        let desk = ScriptedDesk::says(["accepted", "accepted", "running", "succeeded"].map(found));
        let (screen, memory) = Screen::remembering(Format::Json);
        assert_eq!(show(&desk, "j-1", true, &screen).await.unwrap(), Ending::Done);
        assert_eq!(memory.notes(), "accepted  attempts 1\nrunning  attempts 1", "one line a change");
        assert_eq!(serde_json::from_str::<Value>(&memory.result()).unwrap(), found("succeeded"));
    }

    #[tokio::test]
    async fn a_job_that_the_stack_does_not_know_ends_with_nothing() {
        let unknown = json!({"version": 1, "action": "inspect", "ok": true, "seen": 0, "verdict": "not_found", "advice": "Look again.",
            "runs": []});
        let desk = ScriptedDesk::says([unknown]);
        let (screen, _) = Screen::remembering(Format::Text);
        assert_eq!(show(&desk, "j-1", true, &screen).await.unwrap(), Ending::Nothing);
    }
}
