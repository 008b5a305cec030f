//! How many instructions Ikkai's own work takes.
//!
//!     cargo instructions
//!
//! runs each [case](cases) under callgrind, compares the counts with those that are kept in `counts.json` and prints a table. It exits with 1 when
//! one has grown by more than 5 %, and with 2 when something could not be counted or compared. See `README.md`.
#![expect(clippy::print_stdout, reason = "a command's result goes to standard output")]

mod callgrind;
mod cases;
mod comparison;
mod counts;
mod measured;
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use cases::Case;
use comparison::Comparison;
use counts::{Circumstances, Counts};

/// Where the counts are kept.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.json");

/// Counts the instructions of Ikkai's own work and compares them with those that are kept.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Keeps what was counted, in place of what was kept before.
    #[arg(long)]
    record: bool,
    /// Writes what was counted into this file too.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What runs under callgrind: one case.
    #[command(hide = true)]
    Play {
        /// Its name.
        case: Case,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Some(Command::Play { case }) => {
            case.play();
            Ok(true)
        }
        None => run(&arguments),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("counting failed: {}", with_causes(&*error));
            ExitCode::from(2)
        }
    }
}

/// Counts, prints and keeps; whether nothing has grown.
fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let circumstances = Circumstances::of_this_run()?;
    let counts = Counts::count(circumstances)?;
    if let Some(file) = &arguments.json {
        counts.write(file)?;
    }
    let kept = Path::new(KEPT);
    if arguments.record {
        print!("{}", table::counted(&counts));
        counts.write(kept)?;
        println!("\nkept in {}", kept.display());
        return Ok(true);
    }
    let kept = Counts::read(kept)?;
    let comparison = Comparison::new(&kept, &counts)?;
    print!("{}", table::compared(&comparison, &kept, &counts));
    Ok(comparison.holds())
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
