//! Some runs of every build: nothing is found on the code that is shipped, and every deliberate bug is.
//!
//! A seed that fails is played again, with a timeline, by `cargo sim -- --seed <seed> --runs 1 --timeline`.

use ikkai_sim::{Fault, Mutant, campaign, play};

#[test]
fn no_run_breaks_a_law() {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let summary = campaign::run(1, 400, threads, None);
    assert_eq!(summary.violations, []);
    let seldom: Vec<_> = Fault::ALL.into_iter().filter(|fault| summary.faults.of(*fault) == 0).collect();
    assert_eq!(seldom, [], "a fault that never happens proves nothing");
}

#[test]
fn every_deliberate_bug_is_found() {
    let missed: Vec<_> = Mutant::ALL.into_iter().filter(|mutant| campaign::hunt(*mutant, 1, 10_000).is_none()).collect();
    assert_eq!(missed, []);
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 1..20 {
        let (first, second) = (play(seed, None, true), play(seed, None, true));
        assert_eq!(first.timeline, second.timeline, "seed {seed}");
        assert_eq!((first.calls, first.faults), (second.calls, second.faults), "seed {seed}");
    }
}
