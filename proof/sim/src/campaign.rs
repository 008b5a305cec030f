//! Many runs, side by side.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fault::Tally;
use crate::mutant::Mutant;
use crate::run::play;

/// What came out of many runs.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// The first seed.
    pub first_seed: u64,
    /// How many were played.
    pub runs: u64,
    /// Calls to services, all runs together.
    pub calls: u64,
    /// What went wrong in them.
    pub faults: Tally,
    /// Runs that broke a law, by seed, with the first law that each broke.
    pub violations: Vec<(u64, String)>,
    /// How long it took.
    pub took: Duration,
}

/// Seeds that a thread takes at a time.
const SHARE: u64 = 64;
/// Violations after which a campaign has seen enough.
const ENOUGH: usize = 20;

/// Plays the runs of `runs` seeds from `first_seed` on, on as many threads, with a deliberate bug or without.
#[must_use]
pub fn run(first_seed: u64, runs: u64, threads: usize, mutant: Option<Mutant>) -> Summary {
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let summary = Mutex::new(Summary { first_seed, ..Summary::default() });
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(SHARE, Ordering::Relaxed);
                    let is_enough = summary.lock().unwrap_or_else(PoisonError::into_inner).violations.len() >= ENOUGH;
                    if from >= runs || is_enough {
                        return;
                    }
                    let share = play_share(first_seed + from, SHARE.min(runs - from), mutant);
                    summary.lock().unwrap_or_else(PoisonError::into_inner).add(share);
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.violations.sort();
    summary.took = began.elapsed();
    summary
}

fn play_share(first_seed: u64, runs: u64, mutant: Option<Mutant>) -> Summary {
    let mut summary = Summary::default();
    for seed in first_seed..first_seed + runs {
        let outcome = play(seed, mutant, false);
        summary.runs += 1;
        summary.calls += outcome.calls;
        summary.faults.add(&outcome.faults);
        summary.violations.extend(outcome.violations.into_iter().next().map(|law| (seed, law)));
    }
    summary
}

impl Summary {
    /// Calls and faults of a run, on average.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "averages")]
    pub fn per_run(&self) -> (f64, f64) {
        let runs = self.runs.max(1) as f64;
        (self.calls as f64 / runs, self.faults.total() as f64 / runs)
    }

    /// Runs a second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    pub fn rate(&self) -> f64 {
        self.runs as f64 / self.took.as_secs_f64().max(f64::EPSILON)
    }

    fn add(&mut self, share: Self) {
        self.runs += share.runs;
        self.calls += share.calls;
        self.faults.add(&share.faults);
        self.violations.extend(share.violations);
    }
}

/// The first of at most `most` seeds from `first_seed` on whose run finds a mutant, with the law that it breaks.
#[must_use]
pub fn hunt(mutant: Mutant, first_seed: u64, most: u64) -> Option<(u64, String)> {
    (first_seed..first_seed + most).find_map(|seed| {
        let outcome = play(seed, Some(mutant), false);
        outcome.violations.into_iter().next().map(|law| (seed, law))
    })
}
