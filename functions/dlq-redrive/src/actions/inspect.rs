//! `inspect`: everything about one job.

use std::ops::ControlFlow;

use ikkai::clock::EpochMillis;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::{JobId, privacy};
use serde_json::Value;

use super::members;
use crate::advice::{Subject, advice};
use crate::dead_letter::DeadLetter;
use crate::plan::{Rules, plan};
use crate::protocol::{Inspect, Inspection, RecordSummary, Refusal, RefusalCode, RunSummary, VerdictCode};
use crate::queues::StackQueue;
use crate::run::may_be_on_its_way;
use crate::telling::seen_message;
use crate::workbench::{Invocation, Workbench};

/// Runs that are searched for the job.
const RUNS_SEARCHED: usize = 20;

/// Verdicts of a run that are searched for the job.
const VERDICTS_SEARCHED: usize = 10_000;

/// Messages that are looked at to find the job's own.
const MESSAGES_SEARCHED: usize = 10_000;

/// The record of a job, its message, and the runs that touched it.
pub(crate) async fn inspect(bench: &Workbench, request: &Inspect, invocation: &Invocation) -> Result<Inspection, Refusal> {
    let job_id = members::job_id(&request.job_id)?;
    let record = bench.ledger.get(&job_id).await?;
    let queue = bench.queues.of_type(job_id.job_type().as_str());
    let (letter, seen) = match queue.filter(|_| request.message) {
        Some(queue) => search(bench, queue, &job_id, invocation).await?,
        None => (None, 0),
    };
    if record.is_none() && letter.is_none() {
        let message = format!("there is no record of this job, and no message of it among the {seen} that were looked at");
        return Err(Refusal::new(RefusalCode::UnknownJob, message));
    }
    let runs = match queue {
        Some(queue) => runs_of(bench, queue, &job_id, invocation).await?,
        None => Vec::new(),
    };
    Ok(tell(bench, &job_id, record.as_ref(), letter.as_ref().zip(queue), seen, runs))
}

fn tell(
    bench: &Workbench,
    job_id: &JobId,
    record: Option<&JobRecord>,
    letter: Option<(&DeadLetter, &StackQueue)>,
    seen: u64,
    runs: Vec<RunSummary>,
) -> Inspection {
    let now = bench.clock.now();
    let rules = Rules { max_generations: bench.limits.max_generations, override_quarantine: false };
    let verdict = match letter {
        Some((letter, _)) => plan(letter, rules, now).verdict(),
        None => without_message(bench, record, rules, now),
    };
    let content = letter.and_then(|(letter, _)| letter.places.iter().find(|place| place.job_id() == Some(job_id)));
    let has_source = letter.is_some_and(|(letter, _)| letter.message.source.is_some());
    let subject = Subject { content: content.map(|place| &place.content), record, has_source, verdict };
    Inspection {
        record: record.map(RecordSummary::from),
        payload: record.and_then(shown_payload),
        message: letter.map(|(letter, queue)| seen_message(letter, queue, verdict, now)),
        seen,
        verdict,
        advice: advice(subject, now),
        runs,
    }
}

/// The message of a job, if it is among those that the queue gives out.
async fn search(
    bench: &Workbench,
    queue: &StackQueue,
    job_id: &JobId,
    invocation: &Invocation,
) -> Result<(Option<DeadLetter>, u64), Refusal> {
    let mut found = None;
    let look = bench.look_through(queue, MESSAGES_SEARCHED, invocation, |letter| {
        if letter.job_ids().any(|known| known == job_id) {
            found = Some(letter);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let looked = look.await?;
    Ok((found, looked.count))
}

/// What a redrive by its id does with a job that has no message any more: one is made from its record.
fn without_message(bench: &Workbench, record: Option<&JobRecord>, rules: Rules, now: EpochMillis) -> VerdictCode {
    let Some(record) = record else { return VerdictCode::NotFound };
    let queue = bench.queues.of_type(record.job_type.as_str());
    match record.status {
        Status::Succeeded | Status::Cancelled => VerdictCode::AlreadyDone,
        Status::InDoubt => VerdictCode::InDoubt,
        Status::Running if !record.lease_is_over(now) => VerdictCode::Running,
        Status::Dead if record.generation >= rules.max_generations => VerdictCode::Quarantined,
        Status::Accepted | Status::RetryScheduled if may_be_on_its_way(record, now) => VerdictCode::Changed,
        // Nobody knows the group of a message that is gone.
        _ if record.envelope().is_none() || queue.is_none_or(|queue| queue.queue_name.is_fifo()) => VerdictCode::NotRebuildable,
        _ => VerdictCode::Redriven,
    }
}

/// Reference ids and parameters. What a direct sender has put there beside them is not shown.
fn shown_payload(record: &JobRecord) -> Option<Value> {
    record.payload.clone().filter(|payload| privacy::check(payload, "").is_empty())
}

/// The runs that touched a job, the last first.
async fn runs_of(
    bench: &Workbench,
    queue: &StackQueue,
    job_id: &JobId,
    invocation: &Invocation,
) -> Result<Vec<RunSummary>, Refusal> {
    let mut touched = Vec::new();
    for run in bench.journal.history(&queue.name, RUNS_SEARCHED).await? {
        if bench.clock.now() + bench.limits.reserve >= invocation.deadline {
            break;
        }
        if touches(bench, &run, job_id).await? {
            touched.push(run);
        }
    }
    Ok(touched)
}

async fn touches(bench: &Workbench, run: &RunSummary, job_id: &JobId) -> Result<bool, Refusal> {
    let is_it = |known: &String| known == job_id.as_str();
    if run.filter.as_ref().is_some_and(|filter| filter.job_ids.iter().any(is_it)) {
        return Ok(true);
    }
    let verdicts = bench.journal.verdicts(&run.run_id, VERDICTS_SEARCHED).await?;
    Ok(verdicts.iter().any(|verdict| verdict.job_ids.iter().any(is_it)))
}
