//! `history`: what operators did.

use std::collections::HashSet;

use super::members::Members;
use crate::protocol::{History, HistoryRequest, Refusal, RefusalCode, RunSummary};
use crate::workbench::Workbench;

/// Most verdicts of an answer.
const MOST_VERDICTS: usize = 10_000;

/// Most runs of an answer.
const MOST_RUNS: u64 = 100;

/// The last runs on a queue, or one run with the verdict of every message.
pub(crate) async fn history(bench: &Workbench, request: &HistoryRequest) -> Result<History, Refusal> {
    let mut members = Members::default();
    members.within("/max", request.max.into(), 1, MOST_RUNS);
    members.check()?;
    match &request.run_id {
        Some(run_id) => one(bench, request, run_id).await,
        None => several(bench, request).await,
    }
}

async fn one(bench: &Workbench, request: &HistoryRequest, run_id: &str) -> Result<History, Refusal> {
    let chosen = bench.queues.chosen(&request.queue)?;
    let unknown = || {
        let message = "there is no such run on this queue; history without runId lists those that there are";
        Refusal::new(RefusalCode::UnknownRun, message)
    };
    let run = bench.journal.find(run_id).await?.ok_or_else(unknown)?;
    if request.queue != "all" && !run.summary.queues.iter().any(|name| chosen.iter().any(|queue| queue.name == *name)) {
        return Err(unknown());
    }
    let verdicts = bench.journal.verdicts(run_id, MOST_VERDICTS).await?;
    Ok(History { runs: vec![run.summary], verdicts: Some(verdicts) })
}

/// A run over several queues stands in the history of each of them, and is told once.
async fn several(bench: &Workbench, request: &HistoryRequest) -> Result<History, Refusal> {
    let max = usize::try_from(request.max).unwrap_or(usize::MAX);
    let mut told = HashSet::new();
    let mut runs: Vec<RunSummary> = Vec::new();
    for queue in bench.queues.chosen(&request.queue)? {
        let found = bench.journal.history(&queue.name, max).await?;
        runs.extend(found.into_iter().filter(|run| told.insert(run.run_id.clone())));
    }
    // RFC 3339 in UTC with milliseconds: the order of the texts is the order of the times.
    runs.sort_by(|left, right| (&right.started_at, &right.run_id).cmp(&(&left.started_at, &left.run_id)));
    runs.truncate(max);
    Ok(History { runs, verdicts: None })
}
