//! What the soak is asked for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::fault::Fault;

/// Kills, freezes and cuts off the real functions on a real local engine while jobs go in, then reckons up what became of every job.
///
/// Exit codes: 0 every promise was kept, 1 one was not or there is no result, 2 wrong usage, 130 interrupted.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "chaos", bin_name = "cargo chaos --", version)]
pub struct Arguments {
    /// How long jobs go in and faults go on.
    #[arg(long, default_value = "5", value_parser = minutes, value_name = "NUMBER")]
    pub minutes: Duration,
    /// No more jobs than these; without it, as many as there is time for.
    #[arg(long, value_name = "COUNT")]
    pub jobs: Option<u64>,
    /// Decides what happens when; without it, one is drawn and told.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Jobs that may be under way before clients wait.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(2..), value_name = "COUNT")]
    pub in_flight: u64,
    /// These kinds of faults alone; without it, all of them.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS")]
    pub faults: Vec<Fault>,
    /// The operator also looks at the providers' books for each job in doubt, and says what it was: then none may be left.
    #[arg(long)]
    pub resolve: bool,
    /// Prints every step of the plan and plays nothing.
    #[arg(long)]
    pub plan: bool,
    /// A parameter of the template, such as `EmailEffectPolicy=rerun`, under which mails are sent twice and the run has to fail.
    #[arg(long = "parameter", value_parser = parameter, value_name = "NAME=VALUE")]
    pub parameters: Vec<(String, String)>,
    /// A folder of packed functions (`producer-api.zip` and so on, one zip a function) to deploy; without it they are built.
    #[arg(long, value_name = "FOLDER")]
    pub functions: Option<PathBuf>,
    /// Writes the result to this file too, as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Arguments {
    /// The kinds of faults that are wanted.
    #[must_use]
    pub fn kinds(&self) -> BTreeSet<Fault> {
        if self.faults.is_empty() { Fault::ALL.into() } else { self.faults.iter().copied().collect() }
    }
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or_else(|| "it must be NAME=VALUE".to_owned())?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

/// A day at most: the engine keeps everything in memory.
fn minutes(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "it must be a number of minutes, such as 5 or 0.5".to_owned())?;
    if !(0.1..=1_440.0).contains(&number) {
        return Err("it must be between 0.1 and 1440 minutes".to_owned());
    }
    Ok(Duration::from_secs_f64(number * 60.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(std::iter::once("chaos").chain(words.iter().copied()))
    }

    #[test]
    fn without_arguments_it_takes_five_minutes_with_every_kind_of_fault() {
        let arguments = read(&[]).unwrap();
        assert_eq!((arguments.minutes, arguments.jobs), (Duration::from_secs(300), None));
        assert_eq!(arguments.kinds().len(), Fault::ALL.len());
    }

    #[test]
    fn kinds_are_chosen_by_name_and_unknown_ones_are_wrong_usage() {
        let arguments = read(&["--faults", "kill,answer_lost", "--minutes", "0.5"]).unwrap();
        assert_eq!(arguments.kinds(), BTreeSet::from([Fault::Kill, Fault::AnswerLost]));
        assert_eq!(arguments.minutes, Duration::from_secs(30));
        assert!(read(&["--faults", "kills"]).unwrap_err().to_string().contains("kill"));
    }

    #[test]
    fn a_time_that_is_none_is_wrong_usage() {
        for text in ["0", "-1", "NaN", "five", "100000"] {
            assert_eq!(read(&["--minutes", text]).unwrap_err().exit_code(), 2, "{text}");
        }
    }
}
