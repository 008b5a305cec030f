//! A job of a stack, as the stack's desk sees it.

use std::time::Duration;

use dlq_redrive::protocol::{Answer, Inspect, Request};

use super::show::is_final;
use crate::command::Failure;
use crate::command::dlq::{ask, inspection, tell};
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::operator::scripted::ScriptedDesk;
    use crate::screen::Format;

    fn found(status: &str) -> Value {
        json!({"version": 1, "action": "inspect", "ok": true, "seen": 0, "verdict": "redriven", "advice": "Put it back.", "runs": [],
            "record": {"jobId": "j-1", "jobType": "email.send", "status": status, "generation": 0, "attempts": 1, "crashes": 0,
                "patched": false, "createdAt": "then", "updatedAt": "then"}})
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
