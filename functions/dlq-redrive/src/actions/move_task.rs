//! `moveTask`: SQS's own redrive of a whole queue.

use std::time::Duration;

use super::members::Members;
use crate::entry::Entry;
use crate::journal::Locked;
use crate::move_tasks::is_active;
use crate::protocol::{Action, MoveOperation, MoveTask, MoveTaskAnswer, MoveTaskRequest, Refusal, RefusalCode, RunState};
use crate::queues::StackQueue;
use crate::workbench::{Invocation, Workbench};

/// How long a queue is locked for the start of a task, should nobody unlock it.
const START_TAKES_AT_MOST: Duration = Duration::from_secs(60);

/// Most messages a second (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html>).
const MOST_PER_SECOND: u64 = 500;

/// Starts, lists or cancels.
pub(crate) async fn move_task(
    bench: &Workbench,
    request: &MoveTaskRequest,
    invocation: &Invocation,
) -> Result<MoveTaskAnswer, Refusal> {
    check(request)?;
    let [queue] = bench.queues.chosen(&request.queue)?[..] else {
        return Err(Refusal::new(RefusalCode::UnknownQueue, "a move task is about one queue; name it"));
    };
    let tasks = match request.operation {
        MoveOperation::List => bench.move_tasks.list(&queue.dead_letter_queue_name).await?,
        MoveOperation::Start => vec![start(bench, queue, request, invocation).await?],
        MoveOperation::Cancel => vec![cancel(bench, queue, request, invocation).await?],
    };
    Ok(MoveTaskAnswer { operation: request.operation, tasks })
}

fn check(request: &MoveTaskRequest) -> Result<(), Refusal> {
    let mut members = Members::default();
    let changes = request.operation != MoveOperation::List;
    match request.reason.as_deref() {
        Some(reason) => members.reason(reason),
        None if changes => members.wrong("/reason", "missing_member", "say why; it is kept in the history"),
        None => {}
    }
    members.name("/claimedBy", request.claimed_by.as_deref());
    match (request.rate_per_second, request.operation) {
        (Some(rate), MoveOperation::Start) => members.within("/ratePerSecond", rate.into(), 1, MOST_PER_SECOND),
        (Some(_), _) => members.wrong("/ratePerSecond", "not_allowed", "only a start has a rate: leave the member out"),
        (None, _) => {}
    }
    match (request.task_handle.as_deref(), request.operation) {
        (None | Some(""), MoveOperation::Cancel) => {
            members.wrong("/taskHandle", "missing_member", "name the task; list shows the handle of one that is running");
        }
        (Some(_), MoveOperation::Start | MoveOperation::List) => {
            members.wrong("/taskHandle", "not_allowed", "only a cancellation names a task: leave the member out");
        }
        _ => {}
    }
    members.check()
}

/// No run of ours and no other task works on the queue meanwhile: two that move the same messages would both send them.
async fn start(
    bench: &Workbench,
    queue: &StackQueue,
    request: &MoveTaskRequest,
    invocation: &Invocation,
) -> Result<MoveTask, Refusal> {
    if bench.move_tasks.list(&queue.dead_letter_queue_name).await?.iter().any(is_active) {
        let message = "SQS is moving messages out of this queue already; wait for the task, or cancel it";
        return Err(Refusal::new(RefusalCode::MoveTaskInProgress, message));
    }
    let run = bench.announce(entry("move-task-start", queue, request), invocation).await?;
    let now = bench.clock.now();
    match bench.journal.lock(&queue.name, &run.summary.run_id, now + START_TAKES_AT_MOST, now).await {
        Ok(Locked::Yes) => {}
        Ok(Locked::HeldBy { run_id, until }) => {
            bench.conclude(run, RunState::Stopped).await;
            let refusal = Refusal::new(RefusalCode::RunInProgress, format!("the run {run_id} works on this queue"));
            return Err(Refusal { retry_after_seconds: Some(until.since(now).as_secs().max(1)), ..refusal });
        }
        Err(error) => {
            bench.conclude(run, RunState::Stopped).await;
            return Err(error.into());
        }
    }
    let started = bench.move_tasks.start(&queue.dead_letter_queue_name, request.rate_per_second).await;
    if let Err(error) = bench.journal.unlock(&queue.name, &run.summary.run_id).await {
        tracing::warn!(queue = queue.name, error = %error, "the queue stays locked for a minute");
    }
    bench.conclude(run, state_after(&started)).await;
    started
}

async fn cancel(
    bench: &Workbench,
    queue: &StackQueue,
    request: &MoveTaskRequest,
    invocation: &Invocation,
) -> Result<MoveTask, Refusal> {
    let handle = request.task_handle.as_deref().unwrap_or_default();
    let tasks = bench.move_tasks.list(&queue.dead_letter_queue_name).await?;
    if !tasks.iter().any(|task| task.task_handle.as_deref() == Some(handle)) {
        let message = "no running task of this queue has that handle; `list` shows those that have one";
        return Err(Refusal::new(RefusalCode::WrongState, message));
    }
    let run = bench.announce(entry("move-task-cancel", queue, request), invocation).await?;
    let cancelled = bench.move_tasks.cancel(handle).await;
    bench.conclude(run, state_after(&cancelled)).await;
    cancelled
}

fn entry(deed: &'static str, queue: &StackQueue, request: &MoveTaskRequest) -> Entry {
    Entry {
        deed,
        action: Action::MoveTask,
        queues: vec![queue.name.clone()],
        filter: None,
        reason: request.reason.clone().unwrap_or_default(),
        claimed_by: request.claimed_by.clone(),
    }
}

const fn state_after(answer: &Result<MoveTask, Refusal>) -> RunState {
    match answer {
        Ok(_) => RunState::Finished,
        Err(_) => RunState::Stopped,
    }
}
