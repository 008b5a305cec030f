//! Laws that are looked at while a run goes on.

use std::time::Duration;

use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::JobId;
use ikkai::queue::ReceivedMessage;
use ikkai::testing::StoredMessage;

use crate::actor::Actor;
use crate::stage::Line;
use crate::world::World;

/// A message that somebody has received: what has to be known of it when it is deleted.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub(crate) message_id: String,
    pub(crate) job_id: Option<JobId>,
}

impl Letter {
    pub(crate) fn of(message: &ReceivedMessage) -> Self {
        Self { message_id: message.message_id.clone(), job_id: job_of(&message.body) }
    }
}

/// Who deletes messages, and so why they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletes {
    /// The mapping: the worker has not reported the message as failed.
    Acknowledged,
    /// An operator who puts messages back.
    PutBack,
}

/// The job in a body, as far as it is one that a client has posted.
pub(crate) fn job_of(body: &str) -> Option<JobId> {
    let (_, rest) = body.split_once("\"jobId\":\"")?;
    let (job_id, _) = rest.split_once('"')?;
    JobId::parse_stored(job_id).ok()
}

/// A message is about to be deleted for good: its job has to be done, or there has to be another message of it. Only who discards a dead job
/// may take its last message, and cancels it before.
pub(crate) fn deleted(world: &World, why: Deletes, letter: &Letter) {
    let Some(job_id) = &letter.job_id else { return };
    let status = world.table.status(job_id);
    let is_done = matches!(status, Some(Status::Succeeded | Status::Cancelled));
    if is_done || has_other_message(world, job_id, &letter.message_id) {
        return;
    }
    let by = match why {
        Deletes::Acknowledged => "acknowledged",
        Deletes::PutBack => "deleted from the dead-letter queue",
    };
    let status = status.map_or("without a record", Status::as_str);
    world.broken(format!("the last message of a job was {by} while it is {status}: {job_id}"));
}

/// A message whose job waits is not hidden for much longer than its job: a circuit that is open may hold it back for less than this.
const LATE: Duration = Duration::from_secs(55);

/// An invocation whose calls all went well has answered: the message of a job that it has just given back comes out when the job is due, where
/// there is no other message of it.
pub(crate) fn comes_back_in_time(world: &World, worker: &Actor, message: &ReceivedMessage, line: Line) {
    let Some(job_id) = job_of(&message.body) else { return };
    if !worker.has_just_given_back(&job_id, world.now()) || has_other_message(world, &job_id, &message.message_id) {
        return;
    }
    let waits_until = world.table.records.look(&job_id, |record| {
        let waits = |record: &&JobRecord| record.status == Status::RetryScheduled && record.schema_held_since.is_none();
        record.filter(waits).and_then(|record| record.retry_at)
    });
    let Some(due) = waits_until else { return };
    let latest = due.max(world.now()) + LATE;
    let is_late = |stored: &StoredMessage| {
        stored.message_id == message.message_id && stored.receive_count == message.receive_count && stored.visible_at > latest
    };
    if world.sqs.holds(|queue, stored| queue == line.queue() && is_late(stored)) {
        world.broken(format!("a message comes back long after its job is due: {job_id}"));
    }
}

/// Whether a queue holds another message of a job.
pub(crate) fn has_other_message(world: &World, job_id: &JobId, message_id: &str) -> bool {
    world.sqs.holds(|_, stored| stored.message_id != message_id && stored.body.contains(job_id.as_str()))
}

/// An effect happened: at most once, unless an operator has said again.
pub(crate) fn effect(world: &World, job_id: &JobId, effects: usize) {
    let allowed = match Line::of_job(job_id.as_str()) {
        Line::Mail => 1 + world.allowance(job_id) as usize,
        Line::Charge => 1,
    };
    if effects > allowed {
        world.broken(format!("an effect happened {effects} times, {allowed} allowed: {job_id}"));
    }
}
