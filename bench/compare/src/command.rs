//! The command.
#![expect(clippy::print_stdout, reason = "a command's result goes to standard output")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use crate::figures::Figures;
use crate::rounds::{self, Effort};
use crate::setup::Origin;
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
    /// Measures the binaries of this folder, which are there already, instead of building them.
    #[arg(long, conflicts_with_all = ["profile", "record"])]
    binaries: Option<PathBuf>,
    /// Writes the figures and the rows into this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Keeps the figures in `bench/measured/compare.json`, and writes their tables into the pages.
    #[arg(long)]
    record: bool,
    /// Measures nothing: shows the figures of this file.
    #[arg(long, conflicts_with_all = ["rounds", "batches", "quick", "profile"])]
    show: Option<PathBuf>,
}

impl Arguments {
    fn origin(&self) -> Origin {
        self.binaries.clone().map_or_else(|| Origin::Profile(self.profile.clone()), Origin::Folder)
    }

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
        None => rounds::measure(&setup::set_up(&arguments.origin())?, arguments.effort()).await?,
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::contender::Contender;
    use crate::rows::tests::good;

    async fn verdict_on(figures: &Figures) -> bool {
        let file =
            std::env::temp_dir().join(format!("ikkai-compare-{}-{:?}.json", std::process::id(), std::thread::current().id()));
        fs::write(&file, figures.with_rows(&rows::rows(figures)).expect("JSON")).expect("a file");
        let show = file.display().to_string();
        let shown = run(&Arguments::parse_from(["compare", "--show", &show])).await.expect("it is shown");
        fs::remove_file(file).expect("it was there");
        shown
    }

    #[tokio::test]
    async fn the_exit_status_follows_the_rows_of_a_file_that_was_written_and_read() {
        assert!(verdict_on(&good()).await);
        let mut slower = good();
        slower.contenders.get_mut(&Contender::Ikkai).expect("a contender").init_ms = 10.1;
        assert!(!verdict_on(&slower).await);
        let mut without = good();
        without.contenders.remove(&Contender::Python);
        assert!(!verdict_on(&without).await);
    }
}
