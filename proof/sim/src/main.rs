//! The simulator on the command line.

use std::process::ExitCode;

use clap::Parser;
use ikkai_sim::{Fault, Mutant, campaign, play};

/// Plays simulated runs of Ikkai.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many runs.
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// The first seed.
    #[arg(long, alias = "from", default_value_t = 1)]
    seed: u64,
    /// Threads; as many as there are processors unless set.
    #[arg(long)]
    threads: Option<usize>,
    /// Tells what happens in the first run.
    #[arg(long)]
    timeline: bool,
    /// Looks for every mutant instead.
    #[arg(long)]
    mutants: bool,
    /// Plays with this mutant.
    #[arg(long)]
    mutant: Option<String>,
    /// Writes the summary to this file, as JSON.
    #[arg(long)]
    json: Option<std::path::PathBuf>,
}

#[allow(clippy::print_stdout, reason = "a program for the console")]
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mutant = arguments.mutant.as_deref().map(|name| Mutant::from_name(name).expect("a mutant"));
    if arguments.timeline {
        let outcome = play(arguments.seed, mutant, true);
        outcome.timeline.iter().for_each(|line| println!("{line}"));
        return ExitCode::SUCCESS;
    }
    if arguments.mutants {
        for mutant in Mutant::ALL {
            println!("{:<26} {:?}", mutant.name(), campaign::hunt(mutant, arguments.seed, 10_000));
        }
        return ExitCode::SUCCESS;
    }
    let summary = campaign::run(arguments.seed, arguments.runs, arguments.threads.unwrap_or(2));
    println!("runs {} calls/run {} faults/run {} took {:?} {}/s", summary.runs, summary.calls / summary.runs, summary.faults.total() as f64 / summary.runs as f64, summary.took, summary.runs as f64 / summary.took.as_secs_f64());
    for fault in Fault::ALL {
        println!("{:<26} {:>10}", fault.name(), summary.faults.of(fault));
    }
    for (seed, law) in &summary.violations {
        println!("{seed}: {law}");
    }
    ExitCode::SUCCESS
}
