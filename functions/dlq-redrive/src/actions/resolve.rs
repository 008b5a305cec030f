//! `resolve`: somebody looked at the provider and says what became of a job in doubt.

use ikkai::clock::EpochMillis;
use ikkai::idempotency::{Event, JobRecord, LastError, Outcome, Resolution, Status, Verdict};
use ikkai::queue::{OutgoingMessage, send_all};

use super::members::{self, Members};
use crate::advice::WORKER_DIED;
use crate::entry::Entry;
use crate::protocol::{Action, Filter, RecordSummary, Refusal, RefusalCode, Resolve, ResolveAs, Resolved, RunState, RunSummary};
use crate::queues::StackQueue;
use crate::workbench::{Invocation, Workbench};

/// Runs on the queue that are searched for an earlier resolution of the job.
const RUNS_SEARCHED: usize = 100;

/// Ends the doubt about a job. The same resolution again changes nothing, and tells the caller of the job again.
pub(crate) async fn resolve(bench: &Workbench, request: &Resolve, invocation: &Invocation) -> Result<Resolved, Refusal> {
    check(request)?;
    let job_id = members::job_id(&request.job_id)?;
    let unknown = || Refusal::new(RefusalCode::UnknownJob, "there is no record of this job");
    let record = bench.ledger.get(&job_id).await?.ok_or_else(unknown)?;
    let generation = request.generation.unwrap_or(record.generation);
    if generation != record.generation {
        return Err(stale(generation, &record));
    }
    let queue = bench.queues.of_type(record.job_type.as_str());
    if !can_be_resolved(bench, &record, queue, request.r#as).await? {
        return Err(wrong_state(&record, bench.clock.now()));
    }
    let entry = Entry {
        deed: deed(request.r#as),
        action: Action::Resolve,
        queues: queue.iter().map(|queue| queue.name.clone()).collect(),
        filter: Some(Filter { job_ids: vec![job_id.to_string()], ..Filter::default() }),
        reason: request.reason.clone(),
        claimed_by: request.claimed_by.clone(),
    };
    let run = bench.announce(entry, invocation).await?;
    let run_id = run.summary.run_id.clone();
    let decision =
        bench.ledger.apply(&job_id, &Event::Resolve(Resolution { generation, outcome: outcome(bench, request) })).await?;
    let record = match (decision.verdict, decision.record) {
        (Verdict::Done(_) | Verdict::AlreadySucceeded(_), Some(record)) => record,
        (verdict, record) => {
            bench.conclude(run, RunState::Stopped).await;
            return Err(match (verdict, record) {
                (Verdict::Missing, _) => unknown(),
                (Verdict::OtherGeneration(_), Some(record)) => stale(generation, &record),
                (_, Some(record)) => wrong_state(&record, bench.clock.now()),
                (_, None) => unknown(),
            });
        }
    };
    let told = match (request.r#as, queue) {
        (ResolveAs::Done, Some(queue)) => tell_caller(&record, queue, &run_id).await,
        _ => Told::Nobody,
    };
    bench.conclude(run, RunState::Finished).await;
    tracing::info!(job_id = %job_id, outcome = deed(request.r#as), run_id, "job resolved");
    Ok(Resolved { record: RecordSummary::from(&*record), run_id, advice: what_next(request.r#as, told).to_owned() })
}

fn check(request: &Resolve) -> Result<(), Refusal> {
    let mut members = Members::default();
    members.reason(&request.reason);
    members.name("/claimedBy", request.claimed_by.as_deref());
    members.name("/providerRef", request.provider_ref.as_deref());
    if request.provider_ref.is_some() && request.r#as == ResolveAs::RunAgain {
        members.wrong("/providerRef", "not_allowed", "a job that shall run again has no effect yet: leave the member out");
    }
    members.check()
}

/// Jobs in doubt, and those that this very resolution has settled before: its answer may have been lost.
async fn can_be_resolved(
    bench: &Workbench,
    record: &JobRecord,
    queue: Option<&StackQueue>,
    r#as: ResolveAs,
) -> Result<bool, Refusal> {
    match (record.status, r#as, queue) {
        (Status::InDoubt, ..) => Ok(true),
        (Status::Dead, ResolveAs::RunAgain, _) => Ok(record.last_error == Some(LastError::resolved_to_run_again())),
        // A record does not tell whether its job succeeded by itself; the history does, since a resolution is announced there first.
        (Status::Succeeded, ResolveAs::Done, Some(queue)) => {
            let runs = bench.journal.history(&queue.name, RUNS_SEARCHED).await?;
            let resolved = |run: &RunSummary| {
                let jobs = run.filter.iter().flat_map(|filter| &filter.job_ids);
                run.run_id.starts_with(deed(r#as)) && jobs.into_iter().any(|job_id| job_id == record.job_id.as_str())
            };
            Ok(runs.iter().any(|run| run.action == Action::Resolve && resolved(run)))
        }
        _ => Ok(false),
    }
}

/// Somebody has put the job back meanwhile: its doubt, if it has one, is another run's.
fn stale(looked_at: u32, record: &JobRecord) -> Refusal {
    let (now, status) = (record.generation, record.status);
    let message = format!(
        "generation {looked_at} of the job was looked at, and it is generation {now} by now, which is {status}: nothing was done; \
         look at the job again, and at the provider"
    );
    Refusal::new(RefusalCode::StaleGeneration, message)
}

fn wrong_state(record: &JobRecord, now: EpochMillis) -> Refusal {
    let status = record.status;
    let mend = match status {
        Status::Dead => "a dead job needs no resolution; redrive it",
        Status::Succeeded | Status::Cancelled => "it has ended, and nothing is in doubt about it",
        Status::Running if record.lease_is_over(now) => WORKER_DIED,
        Status::Running => "a worker has it; look again later",
        _ => "it waits for its turn",
    };
    Refusal::new(RefusalCode::WrongState, format!("only a job in doubt can be resolved, and this one is {status}: {mend}"))
}

const fn deed(r#as: ResolveAs) -> &'static str {
    match r#as {
        ResolveAs::Done => "resolve-done",
        ResolveAs::RunAgain => "resolve-run-again",
    }
}

fn outcome(bench: &Workbench, request: &Resolve) -> Outcome {
    match request.r#as {
        ResolveAs::Done => Outcome::Done { provider_ref: request.provider_ref.clone(), keep_for: bench.limits.record_retention },
        ResolveAs::RunAgain => Outcome::RunAgain,
    }
}

/// Whether the caller of the job is told that it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Nobody wants to be told.
    Nobody,
    /// A message is on its way to the consumer, which tells the caller.
    OnItsWay,
    /// There could be no message.
    NotSent,
}

/// Puts a message of the job into its queue: a consumer that receives a job that has ended sends its completion event, and does nothing else.
async fn tell_caller(record: &JobRecord, queue: &StackQueue, run_id: &str) -> Told {
    if record.callback_url.is_none() {
        return Told::Nobody;
    }
    let Some(envelope) = record.envelope() else { return Told::NotSent };
    let is_fifo = queue.queue_name.is_fifo();
    let message = OutgoingMessage {
        group_id: is_fifo.then(|| record.job_id.to_string()),
        deduplication_id: is_fifo.then(|| run_id.to_owned()),
        ..OutgoingMessage::new(envelope.to_body())
    };
    match send_all(queue.queue.as_ref(), &[message]).await.pop() {
        Some(Ok(())) => Told::OnItsWay,
        Some(Err(error)) => {
            tracing::warn!(job_id = %record.job_id, error = %error, "the caller of a resolved job is not told");
            Told::NotSent
        }
        None => Told::NotSent,
    }
}

const fn what_next(r#as: ResolveAs, told: Told) -> &'static str {
    match (r#as, told) {
        (ResolveAs::RunAgain, _) => "the job is dead as of now; redrive it, and it runs again",
        (ResolveAs::Done, Told::Nobody) => {
            "the job counts as done; the next redrive deletes its message from the dead-letter queue"
        }
        (ResolveAs::Done, Told::OnItsWay) => {
            "the job counts as done and its caller is being told; the next redrive deletes its message from the dead-letter queue"
        }
        (ResolveAs::Done, Told::NotSent) => {
            "the job counts as done, but its caller could not be told: send the same request again to try once more"
        }
    }
}
