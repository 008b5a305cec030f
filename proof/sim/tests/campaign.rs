//! Some hundred runs: nothing is found on the code that is shipped, and every mutant is.

use ikkai_sim::campaign;

#[test]
fn no_run_breaks_a_law() {
    let runs = std::env::var("IKKAI_SIM_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(2_000);
    let first = std::env::var("IKKAI_SIM_SEED").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1);
    let summary = campaign::run(first, runs, 2);
    eprintln!("{} runs in {:?}, calls {} faults {}", summary.runs, summary.took, summary.calls, summary.faults.total());
    for fault in ikkai_sim::Fault::ALL { eprintln!("{:<26} {:>8}", fault.name(), summary.faults.of(fault)); }
    assert_eq!(summary.violations, []);
}

#[test]
#[ignore = "a seed by hand"]
fn one() {
    let first: u64 = std::env::var("IKKAI_SIM_SEED").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1);
    let runs: u64 = std::env::var("IKKAI_SIM_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1);
    let mutant = std::env::var("IKKAI_SIM_MUTANT").ok().and_then(|name| ikkai_sim::Mutant::from_name(&name));
    for seed in first..first + runs {
        let began = std::time::Instant::now();
        if runs > 1 { eprint!("{seed} "); }
        let outcome = ikkai_sim::play(seed, mutant, runs == 1);
        outcome.timeline.iter().for_each(|line| eprintln!("{line}"));
        eprintln!("calls {} faults {} {:?} {:?}", outcome.calls, outcome.faults.total(), began.elapsed(), outcome.violations);
    }
}
