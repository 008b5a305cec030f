//! The simulator on the command line.
#![allow(clippy::print_stdout, reason = "a program for the console")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use ikkai_sim::campaign::{self, Summary};
use ikkai_sim::{Fault, Mutant, Outcome, play};
use serde_json::json;

/// Plays simulated runs of Ikkai: the shipped code on AWS in memory, under faults. Exits with 1 when a run breaks a law, or a mutant is not found.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many runs; their seeds follow each other.
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// The first seed. A campaign is cut into shares, and resumed, by it.
    #[arg(long, alias = "from", default_value_t = 1)]
    seed: u64,
    /// Threads; as many as there are processors unless set.
    #[arg(long)]
    threads: Option<usize>,
    /// Tells what happens, line by line. For one run.
    #[arg(long)]
    timeline: bool,
    /// Looks for every mutant, in at most so many runs each as `--runs` says.
    #[arg(long)]
    mutants: bool,
    /// Plays with this deliberate bug.
    #[arg(long, value_parser = mutant)]
    mutant: Option<Mutant>,
    /// Every kind of fault has to have happened at least so often.
    #[arg(long)]
    least_faults: Option<u64>,
    /// Writes the summary into this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn mutant(name: &str) -> Result<Mutant, String> {
    let known = || Mutant::ALL.map(Mutant::name).join(", ");
    Mutant::from_name(name).ok_or_else(|| format!("there is no such mutant; there are {}", known()))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let threads = arguments.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    let all_is_well = if arguments.mutants {
        hunt_all(&arguments)
    } else if arguments.runs == 1 || arguments.timeline {
        tell(&play(arguments.seed, arguments.mutant, arguments.timeline))
    } else {
        let summary = campaign::run(arguments.seed, arguments.runs, threads, arguments.mutant);
        print(&summary, threads);
        save(&arguments, &summary_json(&summary, threads)) && is_well(&summary, arguments.least_faults)
    };
    if all_is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One run, told.
fn tell(outcome: &Outcome) -> bool {
    outcome.timeline.iter().for_each(|line| println!("{line}"));
    println!("seed {}: {} calls, {} faults", outcome.seed, outcome.calls, outcome.faults.total());
    outcome.violations.iter().for_each(|law| println!("broken: {law}"));
    outcome.violations.is_empty()
}

fn print(summary: &Summary, threads: usize) {
    let (calls, faults) = summary.per_run();
    let rate = summary.rate();
    let last = summary.first_seed + summary.runs.saturating_sub(1);
    println!("{} runs, seeds {} to {last}, on {threads} threads", summary.runs, summary.first_seed);
    println!(
        "{:.1} s, {rate:.0} runs a second; {calls:.0} calls and {faults:.1} faults a run on average",
        summary.took.as_secs_f64()
    );
    for fault in Fault::ALL {
        println!("  {:<26} {:>10}", fault.name(), summary.faults.of(fault));
    }
    for (seed, law) in &summary.violations {
        println!("seed {seed} breaks a law: {law}");
        println!("  again: cargo sim -- --seed {seed} --runs 1 --timeline");
    }
    println!("{} runs broke a law", summary.violations.len());
}

fn is_well(summary: &Summary, least_faults: Option<u64>) -> bool {
    let seldom = Fault::ALL.into_iter().filter(|fault| least_faults.is_some_and(|least| summary.faults.of(*fault) < least));
    let seldom: Vec<_> = seldom.map(Fault::name).collect();
    if !seldom.is_empty() {
        println!("too seldom: {}", seldom.join(", "));
    }
    summary.violations.is_empty() && seldom.is_empty()
}

fn summary_json(summary: &Summary, threads: usize) -> serde_json::Value {
    let (calls, faults) = summary.per_run();
    let kinds: serde_json::Map<_, _> =
        Fault::ALL.into_iter().map(|fault| (fault.name().to_owned(), summary.faults.of(fault).into())).collect();
    json!({
        "firstSeed": summary.first_seed, "runs": summary.runs, "threads": threads, "seconds": summary.took.as_secs_f64(),
        "runsPerSecond": summary.rate(), "callsPerRun": calls, "faultsPerRun": faults, "faults": kinds,
        "violations": summary.violations.iter().map(|(seed, law)| json!({"seed": seed, "law": law})).collect::<Vec<_>>(),
    })
}

/// Every mutant, with the run that finds it.
fn hunt_all(arguments: &Arguments) -> bool {
    let mut missed = 0;
    let mut found = serde_json::Map::new();
    for mutant in Mutant::ALL {
        let hunted = campaign::hunt(mutant, arguments.seed, arguments.runs);
        let runs = hunted.as_ref().map(|(seed, _)| seed - arguments.seed + 1);
        match &hunted {
            Some((_, law)) => println!("{:<26} run {:>6}  {law}", mutant.name(), runs.unwrap_or(0)),
            None => println!("{:<26} not found in {} runs", mutant.name(), arguments.runs),
        }
        missed += usize::from(hunted.is_none());
        found.insert(mutant.name().to_owned(), json!({"run": runs, "law": hunted.map(|(_, law)| law)}));
    }
    println!("{} of {} mutants found", Mutant::ALL.len() - missed, Mutant::ALL.len());
    save(arguments, &json!({ "mutants": found })) && missed == 0
}

fn save(arguments: &Arguments, summary: &serde_json::Value) -> bool {
    let Some(file) = &arguments.json else { return true };
    match std::fs::write(file, format!("{summary:#}\n")) {
        Ok(()) => true,
        Err(error) => {
            println!("{} could not be written: {error}", file.display());
            false
        }
    }
}
