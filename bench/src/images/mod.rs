//! How many pictures a second the image consumer makes on one core, and how much memory that takes, beside what people use today.
//!
//! Every contender is a process of its own that makes one size of one photograph several times. They take turns, round by round, so that what
//! the machine does meanwhile falls on all of them. Processor time is measured, not time on the wall: it stays what it is on a busy machine.

mod contender;
mod photographs;
mod sharp;
mod table;

use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

pub(crate) use contender::{Batch, Contender};
use photographs::Photograph;
use sharp::Sharp;

/// Longest sides that are made.
const SIZES: [u32; 2] = [720, 256];
/// Pictures in a batch of the consumer, and the function's memory setting.
const BATCH: u32 = 10;
const FUNCTION_MEMORY_MB: u64 = 1769;
/// What one 24-megapixel JPEG may take.
const LARGE_TARGET_BYTES: u64 = 64 * 1_000_000;
const BYTES_PER_MB: f64 = 1_000_000.0;

/// What the measurement is made with.
#[derive(Debug, clap::Args)]
pub(crate) struct Images {
    /// Rounds; each contender is started once a round.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Pictures of a contender in a round.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pictures: u32,
}

/// What a contender's process tells about itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Processor time of one picture.
    pub(crate) cpu_ms: f64,
    /// Bytes of the output.
    pub(crate) bytes: usize,
    /// Largest resident memory of the process, the original included.
    pub(crate) peak_bytes: u64,
}

/// Measures and prints; whether the targets were met.
pub(crate) fn run(arguments: &Images) -> Result<bool, Box<dyn Error>> {
    let sharp = Sharp::set_up()?;
    let photographs = photographs::prepare(&sharp)?;
    let mut rows = Vec::new();
    for photograph in &photographs {
        for size in SIZES {
            rows.push(measure(&sharp, photograph, size, arguments)?);
        }
    }
    println!("{}", table::rendered(&rows));

    let Some(large) = photographs.last() else { return Err("there are no photographs".into()) };
    let batch = batch(&large.path)?;
    println!(
        "batch of {BATCH} × {}: peak {:.0} MB, the function has {FUNCTION_MEMORY_MB} MB",
        large.name,
        batch as f64 / BYTES_PER_MB
    );
    let ours = |row: &&table::Row| row.photograph == large.name;
    let peak = rows.iter().filter(ours).map(|row| row.peak(Contender::Ikkai.name())).max().unwrap_or(u64::MAX);
    // The target is about a photograph as it comes; the large one is the same, tiled, for the memory that it takes.
    let is_fast = rows.first().is_some_and(|row| row.ratio(Contender::Ikkai.name()) >= 1.0);
    let verdicts = [
        (is_fast, format!("sharp or better at {} px, {}", SIZES[0], photographs[0].name)),
        (peak <= LARGE_TARGET_BYTES, format!("at most 64 MB for a {}", large.name)),
        (batch < FUNCTION_MEMORY_MB << 20, format!("a batch of {BATCH} within the function's memory")),
    ];
    for (met, target) in &verdicts {
        println!("{}: {target}", if *met { "met" } else { "missed" });
    }
    Ok(verdicts.iter().all(|(met, _)| *met))
}

/// All contenders on one photograph and size, in turn.
fn measure(sharp: &Sharp, photograph: &Photograph, size: u32, arguments: &Images) -> Result<table::Row, Box<dyn Error>> {
    let mut row = table::Row::new(photograph.name, size);
    for _ in 0..arguments.rounds {
        row.add(sharp::NAME, sharp.contend(&photograph.path, size, arguments.pictures)?);
        for contender in Contender::ALL {
            row.add(contender.name(), ours(contender, &photograph.path, size, arguments.pictures)?);
        }
    }
    Ok(row)
}

/// Starts this program again as a contender.
fn ours(contender: Contender, file: &Path, size: u32, pictures: u32) -> Result<Measured, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("contender").arg(contender.name()).arg(file).args([size.to_string(), pictures.to_string()]);
    measured(&mut command)
}

fn batch(file: &Path) -> Result<u64, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("batch").arg(file).args([BATCH.to_string(), FUNCTION_MEMORY_MB.to_string()]);
    Ok(measured(&mut command)?.peak_bytes)
}

/// What a process printed.
fn measured(command: &mut Command) -> Result<Measured, Box<dyn Error>> {
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("a contender failed: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
