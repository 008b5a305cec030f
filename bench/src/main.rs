//! How fast Ikkai's functions start and how much memory they take.
//!
//!     cargo run -p ikkai-bench
//!
//! builds the functions as they are deployed, starts each of them many times against a fake Lambda runtime API, without any network, and prints a
//! table with a verdict. It fails when a target is missed. A busy machine makes it slower: the load is printed beside the figures.
//!
//!     cargo run -p ikkai-bench --release -- images
//!
//! measures how fast pictures are made, see [`images`].
#![expect(clippy::print_stdout, reason = "a command's result goes to standard output")]

mod functions;
mod images;
mod report;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ikkai_compare::{artifact, measure};

use functions::{FUNCTIONS, Function};
use report::Row;

/// Measures how fast Ikkai's functions start, and how much memory they take.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
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

#[derive(Debug, Subcommand)]
enum Command {
    /// Measures how fast pictures are made, and how much memory they take, beside sharp and the `image` crate.
    Images(images::Images),
    /// What `images` starts: makes a size of a file several times.
    #[command(hide = true)]
    Contender {
        /// Who makes it.
        name: images::Contender,
        /// The original.
        file: PathBuf,
        /// The longest side.
        size: u32,
        /// How often.
        pictures: u32,
    },
    /// What `images` starts: a batch through the consumer.
    #[command(hide = true)]
    Batch(images::Batch),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        None => run(&arguments).await,
        Some(Command::Images(images)) => images::run(images),
        Some(Command::Contender { name, file, size, pictures }) => name.run(file, *size, *pictures).and_then(told),
        Some(Command::Batch(batch)) => batch.run().await.and_then(told),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("benchmark failed: {}", with_causes(&*error));
            ExitCode::from(2)
        }
    }
}

/// Prints a contender's figures for the process that started it.
fn told(measured: images::Measured) -> Result<bool, Box<dyn Error>> {
    println!("{}", serde_json::to_string(&measured)?);
    Ok(true)
}

/// Measures and prints; whether all targets were met.
async fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let mut rows = Vec::new();
    for function in chosen(arguments.function.as_deref())? {
        let binary = match &arguments.binary {
            Some(binary) => binary.clone(),
            None => artifact::build(&[function.name], &arguments.profile)?.remove(0),
        };
        let starts = measure::starts(&binary, function.variables, arguments.starts).await?;
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
