//! The command.
#![expect(clippy::print_stdout, reason = "a command's result goes to standard output")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use crate::figures::Figures;
use crate::rounds::{self, Effort};
use crate::{pages, rows, setup, table};

/// Measures Ikkai, the bare SDK and Powertools for AWS Lambda side by side. Exits with 1 when a target is missed.
#[derive(Debug, clap::Parser)]
#[command(name = "cargo compare")]
pub struct Arguments {
    /// Rounds; every contender has its turn in each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Batches of each scenario in a round.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batches: u32,
    /// One short round: shows that everything runs, and is too little for figures that count.
    #[arg(long, conflicts_with_all = ["rounds", "batches", "record"])]
    quick: bool,
    /// The cargo profile of the contenders; deployed functions are built with `release`.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Writes the figures and the rows into this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Keeps the figures in `bench/measured/compare.json`, and writes their tables into the pages.
    #[arg(long)]
    record: bool,
    /// Measures nothing: shows the figures of this file.
    #[arg(long, conflicts_with_all = ["rounds", "batches", "quick", "profile", "json"])]
    show: Option<PathBuf>,
}

impl Arguments {
    fn effort(&self) -> Effort {
        if self.quick {
            return Effort { rounds: 1, batches: 20, starts: 3 };
        }
        Effort { rounds: self.rounds, batches: self.batches as usize, starts: 5 }
    }
}

/// Measures and prints; whether every target was met.
///
/// # Errors
/// When something cannot be set up or measured.
pub async fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let figures = match &arguments.show {
        Some(file) => Figures::read(&fs::read_to_string(file)?)?,
        None => rounds::measure(&setup::set_up(&arguments.profile)?, arguments.effort(), &arguments.profile).await?,
    };
    let rows = rows::rows(&figures);
    println!("{}", table::text(&figures, &rows));
    if let Some(file) = &arguments.json {
        fs::write(file, figures.with_rows(&rows)?)?;
    }
    if arguments.record {
        pages::record(&setup::root(), &figures, &rows)?;
    }
    Ok(rows.iter().all(rows::Row::is_met))
}
