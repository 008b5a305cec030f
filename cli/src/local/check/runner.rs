//! Carries probes out, several at once, and clears up after them.

use std::panic::AssertUnwindSafe;
use std::time::{Instant, SystemTime};

use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use super::finding::Verdict;
use super::lab::Lab;
use super::probe::Probe;
use super::record::{Measured, Record};
use super::trouble::Trouble;
use crate::progress::{Progress, Step};

/// Probes at once. Most of their time is waiting for visibility timeouts to end.
const AT_ONCE: usize = 8;

/// How a check ended.
#[derive(Debug)]
pub struct Ended {
    /// What was measured.
    pub record: Record,
    /// What was made and could not be removed, with the reason.
    pub left: Vec<String>,
    /// Whether it was interrupted. Then some probes are missing.
    pub interrupted: bool,
}

/// Carries probes out. Whatever happens, what was made is removed before this returns, also after Ctrl-C and SIGTERM.
pub async fn run(lab: &Lab, probes: &[Probe], progress: &Progress) -> Ended {
    let began = Instant::now();
    let mut record = Record::new(lab.place(), SystemTime::now());
    let step = progress.begin(format!("measuring {} {}", lab.place().engine(), lab.place().version()));
    let mut measured = Vec::new();
    let interrupted = tokio::select! {
        () = measure(lab, probes, &step, &mut measured) => false,
        () = end_asked_for() => true,
    };
    measured.sort_by_key(|(place, _)| *place);
    record.probes = measured.into_iter().map(|(_, measured)| measured).collect();
    record.made = lab.made();
    if !interrupted {
        step.done();
    }

    let step = progress.begin("removing what the check has made");
    let left = lab.clear().await;
    step.done();
    record.calls = lab.clients().calls();
    record.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ended { record, left, interrupted }
}

async fn measure(lab: &Lab, probes: &[Probe], step: &Step<'_>, measured: &mut Vec<(usize, Measured)>) {
    let permits = Semaphore::new(AT_ONCE);
    let permits = &permits;
    let mut running: FuturesUnordered<_> = probes
        .iter()
        .enumerate()
        .map(|(place, probe)| async move {
            let _permit = permits.acquire().await;
            let began = Instant::now();
            // A bug in one probe says nothing about the others.
            let outcome = AssertUnwindSafe((probe.run)(lab)).catch_unwind().await.unwrap_or(Err(Trouble::Panicked));
            (place, Measured::new(probe, outcome, began.elapsed()))
        })
        .collect();
    while let Some((place, one)) = running.next().await {
        measured.push((place, one));
        let (_, one) = &measured[measured.len() - 1];
        let verdict = one.verdict.map_or("not measured", Verdict::word);
        step.detail(format!("{} of {}, {}: {verdict}", measured.len(), probes.len(), one.probe));
    }
}

/// Ctrl-C, or what ends a process in order.
async fn end_asked_for() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        },
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}
