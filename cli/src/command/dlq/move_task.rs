//! `ikkai dlq move-task …`: SQS's own redrive.

use clap::{Args, Subcommand};
use dlq_redrive::protocol::{self, Answer, MoveOperation, MoveTaskRequest, Request, StatusRequest};

use super::ages::ago;
use super::tell::{ask, tell};
use super::words::messages;
use super::{Change, Work, command_line};
use crate::command::Failure;
use crate::command::consent::awaited;
use crate::command::ending::Ending;
use crate::screen::{Screen, table_lines};

/// SQS's own redrive.
#[derive(Debug, Subcommand)]
pub(super) enum MoveTask {
    /// Starts one.
    Start(Start),
    /// The last ten.
    List(Queue),
    /// Cancels the running one; what was moved stays moved.
    Cancel(Cancel),
}

/// Options of `list`.
#[derive(Debug, Args)]
pub(super) struct Queue {
    /// A queue's name in this stack, such as `email`.
    queue: String,
}

/// Options of `start`.
#[derive(Debug, Args)]
pub(super) struct Start {
    /// A queue's name in this stack, such as `email`.
    queue: String,
    /// Messages a second; without it SQS chooses.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=500))]
    rate: Option<u32>,
    /// Why. Kept in the history.
    #[arg(long, value_name = "TEXT", value_parser = super::said)]
    reason: String,
    #[command(flatten)]
    change: Change,
}

/// Options of `cancel`.
#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// A queue's name in this stack, such as `email`.
    queue: String,
    /// The task, as `list` shows it; without it, the one that runs.
    #[arg(long, value_name = "HANDLE")]
    task: Option<String>,
    /// Why. Kept in the history.
    #[arg(long, value_name = "TEXT", value_parser = super::said)]
    reason: String,
    #[command(flatten)]
    change: Change,
}

impl MoveTask {
    pub(super) fn change(&self) -> Option<&Change> {
        match self {
            Self::Start(start) => Some(&start.change),
            Self::List(_) => None,
            Self::Cancel(cancel) => Some(&cancel.change),
        }
    }

    fn queue(&self) -> &str {
        match self {
            Self::Start(start) => &start.queue,
            Self::List(list) => &list.queue,
            Self::Cancel(cancel) => &cancel.queue,
        }
    }

    pub(super) fn request(&self, claimed_by: Option<String>) -> Request {
        let operation = match self {
            Self::Start(_) => MoveOperation::Start,
            Self::List(_) => MoveOperation::List,
            Self::Cancel(_) => MoveOperation::Cancel,
        };
        let mut request = MoveTaskRequest {
            operation,
            queue: self.queue().to_owned(),
            rate_per_second: None,
            task_handle: None,
            reason: None,
            claimed_by,
        };
        match self {
            Self::Start(start) => (request.rate_per_second, request.reason) = (start.rate, Some(start.reason.clone())),
            Self::List(_) => request.claimed_by = None,
            Self::Cancel(cancel) => (request.task_handle, request.reason) = (cancel.task.clone(), Some(cancel.reason.clone())),
        }
        Request::MoveTask(request)
    }

    pub(super) async fn run(self, mut work: Work<'_>) -> Result<Ending, Failure> {
        let mut request = self.request(work.claimed_by.clone());
        if self.change().is_some()
            && let Some(ending) = work.asker.cannot_ask(work.screen)
        {
            return Ok(ending);
        }
        let consent = match &self {
            Self::List(_) => Ok(()),
            Self::Start(start) => start.consent(&mut work).await?,
            Self::Cancel(cancel) => match cancel.running(&work).await? {
                Ok(handle) => {
                    if let Request::MoveTask(request) = &mut request {
                        request.task_handle = Some(handle);
                    }
                    let question = "cancel the move task? What was moved stays moved.";
                    work.asker.consent(work.screen, question).await
                }
                Err(ending) => Err(ending),
            },
        };
        if let Err(ending) = consent {
            return Ok(ending);
        }
        let list = command_line("move-task list", &work.site, vec![self.queue().to_owned()]);
        let reply = match awaited(work.screen, &format!("`{list}` tells"), ask(work.desk, &request)).await {
            Ok(reply) => reply?,
            Err(ending) => return Ok(ending),
        };
        Ok(tell(work.screen, &reply, |answer| {
            if let Answer::MoveTask(moved) = answer {
                show(work.screen, moved);
            }
        }))
    }
}

impl Start {
    /// Asks, with the number of messages that SQS will take.
    async fn consent(&self, work: &mut Work<'_>) -> Result<Result<(), Ending>, Failure> {
        if !work.asker.will_ask() {
            return Ok(Ok(()));
        }
        let status = StatusRequest { queue: self.queue.clone(), stuck_after_seconds: None };
        let reply = ask(work.desk, &Request::Status(status)).await?;
        let Answer::Status(status) = &reply.answer else { return Ok(Err(tell(work.screen, &reply, |_| {}))) };
        let count = status.queues.iter().map(|queue| queue.dead_letters.visible).sum();
        work.screen.note("SQS takes the whole queue: there is no filter and no limit, and what is poison comes back.");
        let question = format!("let SQS move about {} back to where they came from?", messages(count));
        Ok(work.asker.consent(work.screen, &question).await)
    }
}

impl Cancel {
    /// The task to cancel: SQS tells the handle of a running task only.
    async fn running(&self, work: &Work<'_>) -> Result<Result<String, Ending>, Failure> {
        if let Some(task) = &self.task {
            return Ok(Ok(task.clone()));
        }
        let list = MoveTask::List(Queue { queue: self.queue.clone() }).request(None);
        let reply = ask(work.desk, &list).await?;
        let Answer::MoveTask(moved) = &reply.answer else { return Ok(Err(tell(work.screen, &reply, |_| {}))) };
        Ok(moved.tasks.iter().find_map(|task| task.task_handle.clone()).ok_or_else(|| {
            work.screen.note(format!("no move task runs out of the dead-letter queue of `{}`", self.queue));
            Ending::Nothing
        }))
    }
}

fn show(screen: &Screen, moved: &protocol::MoveTaskAnswer) {
    if moved.tasks.is_empty() {
        screen.note("there are no move tasks");
        return;
    }
    let count = |count: Option<i64>| count.map_or_else(|| "–".to_owned(), |count| count.to_string());
    let rows = moved.tasks.iter().map(|task| {
        vec![
            task.status.clone().unwrap_or_else(|| "–".to_owned()),
            count(task.moved),
            count(task.to_move),
            task.rate_per_second.map_or_else(|| "SQS's".to_owned(), |rate| rate.to_string()),
            task.started_at.as_deref().map_or_else(|| "–".to_owned(), |at| format!("{} ago", ago(at))),
            task.failure.clone().or_else(|| task.task_handle.clone()).unwrap_or_default(),
        ]
    });
    let header = ["status", "moved", "to move", "a second", "began", "failure or handle"];
    table_lines(&header, &[1, 2, 3], rows).iter().for_each(|line| screen.line(line));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::command::dlq::tests::{command_with, request_of};
    use crate::operator::scripted::ScriptedDesk;
    use crate::screen::Format;

    fn tasks(operation: &str, tasks: Value) -> Value {
        json!({"version": 1, "action": "moveTask", "ok": true, "operation": operation, "tasks": tasks})
    }

    const CANCEL: [&str; 5] = ["move-task", "cancel", "email", "--reason", "wrong queue"];

    #[test]
    fn options_become_the_request() {
        let start = ["move-task", "start", "email", "--rate", "5", "--reason", "mended"];
        let expected = json!({"action": "moveTask", "operation": "start", "queue": "email", "ratePerSecond": 5,
            "reason": "mended", "claimedBy": "me"});
        assert_eq!(request_of(&start), expected);
        let list = json!({"action": "moveTask", "operation": "list", "queue": "email"});
        assert_eq!(request_of(&["move-task", "list", "email"]), list);
    }

    #[tokio::test]
    async fn a_start_is_asked_about_with_the_number_of_messages() {
        let queue = json!({"name": "email", "queue": "q", "deadLetterQueue": "d", "jobType": "email.send",
            "depth": {"visible": 0, "inFlight": 0, "delayed": 0}, "deadLetters": {"visible": 12, "inFlight": 0, "delayed": 0}});
        let status = json!({"version": 1, "action": "status", "ok": true, "queues": [queue]});
        let started = tasks("start", json!([{"status": "RUNNING", "taskHandle": "h-1", "toMove": 12}]));
        let start = ["move-task", "start", "email", "--reason", "mended"];
        let desk = ScriptedDesk::says([status, started]);
        let (ending, memory, _) = command_with(&start, desk, Format::Text, Some(&["y"])).await;
        assert_eq!(ending, Ending::Done);
        assert!(memory.notes().contains("move about 12 messages back"), "{}", memory.notes());
        assert!(memory.result().contains("RUNNING") && memory.result().contains("h-1"), "{}", memory.result());
    }

    #[tokio::test]
    async fn the_running_task_is_found_and_cancelled() {
        let over = json!({"status": "COMPLETED", "moved": 3, "toMove": 3});
        let listed = tasks("list", json!([over, {"status": "RUNNING", "taskHandle": "h-1"}]));
        let cancelled = tasks("cancel", json!([{"status": "CANCELLING"}]));
        let (ending, _, asked) = command_with(&CANCEL, ScriptedDesk::says([listed, cancelled]), Format::Text, None).await;
        assert_eq!((ending, &asked[1]["taskHandle"]), (Ending::Done, &json!("h-1")));

        let (ending, memory, asked) =
            command_with(&CANCEL, ScriptedDesk::says([tasks("list", json!([over]))]), Format::Text, None).await;
        assert_eq!((ending, asked.len()), (Ending::Nothing, 1));
        assert!(memory.notes().contains("no move task runs"), "{}", memory.notes());
    }
}
