//! How fast Ikkai's functions start and how much memory they take.
//!
//!     cargo run -p ikkai-bench
//!
//! builds the functions as they are deployed, starts each of them many times against a fake Lambda runtime API, without any network, and prints a
//! table with a verdict. It fails when a target is missed. A busy machine makes it slower: the load is printed beside the figures.
#![expect(clippy::print_stdout, reason = "a command's result goes to standard output")]

mod artifact;
mod functions;
mod measure;
mod report;
mod silence;
mod statistics;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use functions::{FUNCTIONS, Function};
use report::Row;

/// Measures how fast Ikkai's functions start, and how much memory they take.
#[derive(Debug, Parser)]
struct Arguments {
    /// How often each function is started.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    starts: u32,
    /// The cargo profile to build and measure; deployed functions are built with `release`.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Measures only this function.
    #[arg(long)]
    function: Option<String>,
    /// Measures this binary, which is there already, instead of building one; needs --function for the environment it is given.
    #[arg(long, requires = "function")]
    binary: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("benchmark failed: {}", with_causes(&*error));
            ExitCode::from(2)
        }
    }
}

/// Measures and prints; whether all targets were met.
async fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let mut rows = Vec::new();
    for function in chosen(arguments.function.as_deref())? {
        let binary = match &arguments.binary {
            Some(binary) => binary.clone(),
            None => artifact::build(function.name, &arguments.profile)?,
        };
        let starts = measure::starts(&binary, function, arguments.starts).await?;
        rows.push(Row::new(function.name, &starts).ok_or("no start was measured")?);
    }
    print!("{}", report::table(&rows));
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        println!("\nload average of this machine: {}", load.split(' ').take(3).collect::<Vec<_>>().join(" "));
    }
    Ok(rows.iter().all(Row::is_met))
}

fn chosen(name: Option<&str>) -> Result<Vec<&'static Function>, String> {
    let chosen: Vec<_> = FUNCTIONS.iter().filter(|function| name.is_none_or(|name| name == function.name)).collect();
    if chosen.is_empty() {
        let known: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
        return Err(format!("no function of that name; take one of: {}", known.join(", ")));
    }
    Ok(chosen)
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
