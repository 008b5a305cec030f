//! `status`: how full the queues are, what moves, what hangs.

use std::time::Duration;

use futures::future::{join, try_join_all};
use ikkai::clock::EpochMillis;
use ikkai::queue::{Inbox, MAX_ENTRIES, QueueDepth, QueueName, VisibilityChange};

use super::members::Members;
use crate::move_tasks::is_active;
use crate::protocol::{Depth, MoveTask, QueueStatus, Refusal, RefusalCode, StatusAnswer, StatusRequest, StuckJob};
use crate::queues::StackQueue;
use crate::telling::moment;
use crate::workbench::{Invocation, Workbench};

/// How long the sampled messages stay hidden, should they not be released.
const SAMPLE_HIDDEN_FOR: Duration = Duration::from_secs(5);

/// Most stuck jobs of an answer.
const MOST_STUCK: usize = 100;

/// A job is not called stuck within its first minute.
const LEAST_STUCK_SECONDS: u64 = 60;

/// How full the queues are, and which jobs do not go on by themselves.
pub(crate) async fn status(bench: &Workbench, request: &StatusRequest, invocation: &Invocation) -> Result<StatusAnswer, Refusal> {
    let mut members = Members::default();
    if let Some(seconds) = request.stuck_after_seconds {
        members.within("/stuckAfterSeconds", seconds, LEAST_STUCK_SECONDS, u64::from(u32::MAX));
    }
    members.check()?;
    let chosen = bench.queues.chosen(&request.queue)?;
    let queues = try_join_all(chosen.iter().map(|queue| of_queue(bench, queue))).await?;
    let stuck = match request.stuck_after_seconds {
        Some(seconds) => Some(stuck(bench, &chosen, Duration::from_secs(seconds), invocation).await?),
        None => None,
    };
    Ok(StatusAnswer { queues, stuck })
}

async fn of_queue(bench: &Workbench, queue: &StackQueue) -> Result<QueueStatus, Refusal> {
    let depths = join(
        depth_of(queue.queue.as_ref(), &queue.queue_name),
        depth_of(queue.dead_letters.as_ref(), &queue.dead_letter_queue_name),
    );
    let (depth, dead_letters) = depths.await;
    let (depth, dead_letters) = (depth?, dead_letters?);
    let oldest = match dead_letters.visible {
        0 => None,
        _ => oldest_of_sample(queue).await?,
    };
    Ok(QueueStatus {
        name: queue.name.clone(),
        queue: queue.queue_name.as_str().to_owned(),
        dead_letter_queue: queue.dead_letter_queue_name.as_str().to_owned(),
        job_type: queue.kind.job_type.to_owned(),
        depth,
        dead_letters,
        oldest_dead_letter_at: oldest.map(moment),
        move_tasks: active_move_tasks(bench, queue).await?,
        last_run: bench.journal.history(&queue.name, 1).await?.into_iter().next(),
    })
}

async fn depth_of(inbox: &dyn Inbox, name: &QueueName) -> Result<Depth, Refusal> {
    let QueueDepth { visible, in_flight, delayed } = inbox.depth().await.map_err(|error| Refusal::of_queue(name, &error))?;
    Ok(Depth { visible, in_flight, delayed })
}

/// SQS tells nobody how old a queue's oldest message is but CloudWatch; ten messages are a sample.
async fn oldest_of_sample(queue: &StackQueue) -> Result<Option<EpochMillis>, Refusal> {
    let sampled = queue.dead_letters.receive(MAX_ENTRIES, SAMPLE_HIDDEN_FOR, Duration::ZERO).await;
    let sampled = sampled.map_err(|error| Refusal::of_queue(&queue.dead_letter_queue_name, &error))?;
    let release: Vec<_> = sampled
        .iter()
        .map(|message| VisibilityChange { receipt_handle: message.receipt_handle.clone(), visible_in: Duration::ZERO })
        .collect();
    if !release.is_empty()
        && let Err(error) = queue.dead_letters.change_visibility(&release).await
    {
        tracing::warn!(error = %error, "sampled messages stay hidden for some seconds");
    }
    Ok(sampled.iter().filter_map(|message| message.sent_at).min())
}

async fn active_move_tasks(bench: &Workbench, queue: &StackQueue) -> Result<Option<Vec<MoveTask>>, Refusal> {
    match bench.move_tasks.list(&queue.dead_letter_queue_name).await {
        Ok(tasks) => Ok(Some(tasks.into_iter().filter(is_active).collect())),
        Err(refusal) if refusal.code == RefusalCode::Unsupported => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// A list that is not whole would be taken for one that is, so a scan that does not end in time is a refusal.
async fn stuck(
    bench: &Workbench,
    chosen: &[&StackQueue],
    after: Duration,
    invocation: &Invocation,
) -> Result<Vec<StuckJob>, Refusal> {
    let now = bench.clock.now();
    let job_types: Vec<_> = chosen.iter().map(|queue| queue.kind.job_type).collect();
    let patience = invocation.deadline.since(now + bench.limits.reserve);
    match tokio::time::timeout(patience, bench.stuck.stuck(&job_types, now - after, MOST_STUCK)).await {
        Ok(found) => Ok(found?),
        Err(_) => Err(Refusal::new(
            RefusalCode::Unavailable,
            "the jobs table could not be read to its end within the invocation; raise RedriveTimeoutSeconds, or leave stuckAfterSeconds out",
        )),
    }
}
