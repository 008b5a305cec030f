//! What the demo is asked for.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::local::engine::{ENGINE_VARIABLE, EngineKind};

/// Plays what happens to jobs, good and bad, on a complete AWS on this machine, and checks what came of it.
///
/// Exit codes: 0 everything was as promised, 1 something was not, 2 wrong usage, 130 interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "demo", bin_name = "cargo demo --", version)]
pub struct Arguments {
    /// Plays one section only; without it, all of them.
    #[arg(long, value_enum, value_name = "SECTION")]
    pub(super) only: Option<Section>,
    /// What plays AWS.
    #[arg(long, value_enum, env = ENGINE_VARIABLE, default_value_t)]
    pub(super) engine: EngineKind,
    /// Writes the results to this file too, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Leaves the environment running at the end, for `cargo ikkai local status`, `send`, `job show` and the like.
    #[arg(long)]
    pub(super) keep: bool,
    /// Is the process that stays; `--keep` starts it.
    #[arg(long, hide = true, requires = "keep")]
    pub(super) stay: bool,
    /// The word before the arguments, where the demo is a part of a larger command.
    #[arg(skip)]
    subcommand: Option<&'static str>,
}

/// A part of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Section {
    /// The main job, end to end: a posted job becomes exactly one mail, whatever goes wrong on the way.
    Main,
    /// All consumers: pictures, charges, reports, webhooks and bounces, each checked by something that others wrote.
    Consumers,
    /// The operators: what is in a dead-letter queue is listed, mended, put back, resolved, discarded.
    Operators,
}

impl Section {
    /// Every section, in the order in which they are played.
    const ALL: [Self; 3] = [Self::Main, Self::Consumers, Self::Operators];
}

impl Arguments {
    /// Reads the program's name and its arguments. A `--` before the first of them is passed over: it comes from habit, since
    /// `cargo demo -- --json F` needs one and the alias brings none.
    ///
    /// # Errors
    /// Wrong usage, or the help or the version was asked for; [`clap::Error::exit`] says so and ends the process.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut words = words.into_iter();
        let program = words.next();
        let arguments = words.skip_while(|word| word == OsStr::new("--"));
        Self::try_parse_from(program.into_iter().chain(arguments))
    }

    /// The same arguments as those of a subcommand with this name.
    #[must_use]
    pub fn within_command(self, name: &'static str) -> Self {
        Self { subcommand: Some(name), ..self }
    }

    /// The sections to play.
    pub(super) fn sections(&self) -> Vec<Section> {
        self.only.map_or_else(|| Section::ALL.to_vec(), |section| vec![section])
    }

    /// The same for the process that stays.
    pub(super) fn of_the_one_that_stays(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.subcommand.iter().map(Into::into).collect();
        words.extend(["--keep".into(), "--stay".into(), "--engine".into(), self.engine.name().into()]);
        if let Some(section) = self.only.and_then(|section| section.to_possible_value()) {
            words.extend(["--only".into(), section.get_name().into()]);
        }
        if let Some(path) = &self.json {
            words.extend(["--json".into(), path.into()]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::read(std::iter::once("demo").chain(words.iter().copied()).map(OsString::from))
    }

    #[test]
    fn without_arguments_every_section_is_played_and_nothing_stays() {
        let arguments = read(&[]).unwrap();
        assert_eq!(arguments.sections(), Section::ALL);
        assert_eq!((arguments.json, arguments.keep), (None, false));
    }

    #[test]
    fn a_leading_double_dash_is_passed_over() {
        let arguments = read(&["--", "--json", "f.json", "--keep"]).unwrap();
        assert_eq!(arguments, read(&["--json", "f.json", "--keep"]).unwrap());
        assert_eq!((arguments.json, arguments.keep), (Some("f.json".into()), true));
        assert!(read(&["--keep", "--", "--json", "f"]).is_err(), "but only at the front");
    }

    #[test]
    fn an_unknown_section_is_wrong_usage_that_names_the_known_ones() {
        let error = read(&["--only", "everything"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains("'everything'") && text.contains("possible values: main, consumers, operators"), "{text}");
        assert_eq!(read(&["--only", "main"]).unwrap().sections(), [Section::Main]);
        assert_eq!(read(&["--only", "consumers"]).unwrap().sections(), [Section::Consumers]);
        assert_eq!(read(&["--only", "operators"]).unwrap().sections(), [Section::Operators]);
    }

    #[test]
    fn wrong_usage_shows_how_to_call_it_through_cargo() {
        let text = read(&["--jsno", "f"]).unwrap_err().to_string();
        assert!(text.contains("cargo demo --"), "{text}");
        assert_eq!(read(&["--help"]).unwrap_err().exit_code(), 0);
    }

    #[test]
    fn the_process_that_stays_is_asked_for_the_same() {
        let arguments = read(&["--only", "main", "--engine", "localstack", "--json", "f.json", "--keep"]).unwrap();
        assert_eq!(arguments.engine, EngineKind::Localstack);
        let words = std::iter::once("demo".into()).chain(arguments.of_the_one_that_stays());
        assert_eq!(Arguments::read(words).unwrap(), Arguments { stay: true, ..arguments });
    }
}
