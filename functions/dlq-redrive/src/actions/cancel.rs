//! `cancel`: an operator takes a job back that nobody wants done any more, whoever has posted it.

use ikkai::clock::EpochMillis;
use ikkai::idempotency::{Event, JobRecord, Status, Verdict};

use super::members::{self, Members};
use crate::advice::WORKER_DIED;
use crate::entry::Entry;
use crate::protocol::{Action, Cancel, Cancelled, Filter, RecordSummary, Refusal, RefusalCode, RunState};
use crate::workbench::{Invocation, Workbench};

/// Cancels a job. Twice is as good as once.
pub(crate) async fn cancel(bench: &Workbench, request: &Cancel, invocation: &Invocation) -> Result<Cancelled, Refusal> {
    check(request)?;
    let job_id = members::job_id(&request.job_id)?;
    let unknown = || Refusal::new(RefusalCode::UnknownJob, "there is no record of this job");
    let record = bench.ledger.get(&job_id).await?.ok_or_else(unknown)?;
    if let Some(refusal) = too_late(&record, bench.clock.now()) {
        return Err(refusal);
    }
    let was = record.status;
    let queue = bench.queues.of_type(record.job_type.as_str());
    let entry = Entry {
        deed: "cancel",
        action: Action::Cancel,
        queues: queue.iter().map(|queue| queue.name.clone()).collect(),
        filter: Some(Filter { job_ids: vec![job_id.to_string()], ..Filter::default() }),
        reason: request.reason.clone(),
        claimed_by: request.claimed_by.clone(),
    };
    let run = bench.announce(entry, invocation).await?;
    let run_id = run.summary.run_id.clone();
    let decision = bench.ledger.apply(&job_id, &Event::Cancel { keep_for: bench.limits.record_retention }).await?;
    let record = match (decision.verdict, decision.record) {
        (Verdict::Cancelled, Some(record)) => record,
        (_, record) => {
            bench.conclude(run, RunState::Stopped).await;
            let changed = || Refusal::new(RefusalCode::WrongState, "the job was changed meanwhile; look at it again");
            return Err(record.map_or_else(unknown, |record| too_late(&record, bench.clock.now()).unwrap_or_else(changed)));
        }
    };
    bench.conclude(run, RunState::Finished).await;
    tracing::info!(job_id = %job_id, outcome = "cancelled", run_id, "job cancelled");
    Ok(Cancelled { record: RecordSummary::from(&*record), run_id, advice: what_next(was).to_owned() })
}

fn check(request: &Cancel) -> Result<(), Refusal> {
    let mut members = Members::default();
    members.reason(&request.reason);
    members.name("/claimedBy", request.claimed_by.as_deref());
    members.check()
}

/// Why a job cannot be taken back. An effect that may have happened is not hidden behind "cancelled".
fn too_late(record: &JobRecord, now: EpochMillis) -> Option<Refusal> {
    let why = match record.status {
        Status::Running if record.lease_is_over(now) => WORKER_DIED,
        Status::Running => "a worker has it; look again when it has ended",
        Status::Succeeded => "it is done",
        Status::InDoubt => "its effect may have happened: look at the provider, then resolve it",
        Status::RetryScheduled | Status::Dead if record.doubt().is_some() => {
            "an earlier run may have had its effect, and a cancelled job would hide that"
        }
        _ => return None,
    };
    let message = format!("the job is {} and cannot be cancelled: {why}", record.status);
    Some(Refusal::new(RefusalCode::WrongState, message))
}

const fn what_next(was: Status) -> &'static str {
    match was {
        Status::Dead => "the job does not run any more; the next redrive deletes its message from the dead-letter queue",
        _ => "the job does not run any more: when its message comes, it is acknowledged without work",
    }
}
