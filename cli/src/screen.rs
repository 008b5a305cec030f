//! Everything that the commands print. The only place that writes to standard output and standard error.
//!
//! Results go to standard output, what happens meanwhile to standard error, so that a result can be piped. On a terminal progress is a
//! moving line and words have colours; elsewhere it is plain lines. `NO_COLOR` (<https://no-color.org>) is honoured. What others wrote is printed so that
//! no terminal obeys it.

mod printable;

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

pub(crate) use self::printable::one_line;
use self::printable::printable;
use crate::progress::{Event, Progress};

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs: one JSON document.
    Json,
}

/// What a word means; on a terminal it gets a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// It is still going on, or needs a look.
    Open,
    /// Less important.
    Faint,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Open => "33",
            Self::Faint => "2",
        }
    }
}

/// Where the commands print.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    format: Format,
    colours: bool,
    moving: bool,
    sink: Sink,
}

/// Where lines go.
#[derive(Debug, Clone, Copy)]
enum Sink {
    /// To the outputs of this process.
    Process,
    /// Into the memory of a test.
    #[cfg(test)]
    Memory(&'static Memory),
}

/// What was printed in a test.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct Memory {
    lines: Mutex<Vec<String>>,
    notes: Mutex<Vec<String>>,
}

#[cfg(test)]
impl Memory {
    /// The result.
    pub(crate) fn result(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    /// What was said beside the result.
    pub(crate) fn notes(&self) -> String {
        self.notes.lock().unwrap().join("\n")
    }
}

impl Screen {
    /// The screen of this process.
    #[must_use]
    pub fn new(format: Format) -> Self {
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            format,
            colours: colours && format == Format::Text && std::io::stdout().is_terminal(),
            moving: std::io::stderr().is_terminal(),
            sink: Sink::Process,
        }
    }

    /// A screen that remembers, for as long as the test's process lives.
    #[cfg(test)]
    pub(crate) fn remembering(format: Format) -> (Self, &'static Memory) {
        let memory = Box::leak(Box::default());
        (Self { format, colours: false, moving: false, sink: Sink::Memory(memory) }, memory)
    }

    /// How results are printed.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether what was printed can be printed over.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.colours
    }

    /// A line of the result.
    pub fn line(&self, text: impl Display) {
        let text = text.to_string();
        let text = printable(&text, self.colours);
        match self.sink {
            Sink::Process => print_line(&mut std::io::stdout().lock(), &text),
            #[cfg(test)]
            Sink::Memory(memory) => memory.lines.lock().unwrap_or_else(PoisonError::into_inner).push(text.into_owned()),
        }
    }

    /// A result for programs.
    pub fn json(&self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.line(text),
            Err(error) => self.error(&error),
        }
    }

    /// A note beside the result.
    pub fn note(&self, text: impl Display) {
        let text = text.to_string();
        let text = printable(&text, self.colours);
        match self.sink {
            Sink::Process => print_line(&mut std::io::stderr().lock(), &text),
            #[cfg(test)]
            Sink::Memory(memory) => memory.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text.into_owned()),
        }
    }

    /// An error with all its causes.
    pub fn error(&self, error: &dyn std::error::Error) {
        self.note(format!("error: {}", chain(error)));
    }

    /// A word in its colour.
    #[must_use]
    pub fn paint(&self, tone: Tone, text: impl Display) -> String {
        if self.colours { format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()) } else { text.to_string() }
    }

    /// A word in one of the 256 colours of a terminal, for what has no tone but is to be told from others.
    #[must_use]
    pub fn shade(&self, colour: u8, text: impl Display) -> String {
        if self.colours { format!("\u{1b}[38;5;{colour}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    /// A table without rules between its rows. Colours only in the last column: elsewhere their codes count as width.
    pub fn table(&self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        table_lines(header, &[], rows).iter().for_each(|line| self.line(line));
    }

    /// Whether progress is a moving line; else it is plain lines, and only what matters is one.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.moving
    }

    /// Shows the progress of long work.
    #[must_use]
    pub fn progress(&self) -> Progress {
        if self.moving { self.moving_progress() } else { self.plain_progress() }
    }

    fn plain_progress(&self) -> Progress {
        let screen = *self;
        Progress::new(move |event| match event {
            Event::Began { step } => screen.note(format!("{step} …")),
            // A build's hundred crates would be a hundred lines in a log.
            Event::Detail { .. } => {}
            Event::Done { step, took } => screen.note(format!("{step}: done in {}", seconds(took))),
        })
    }

    fn moving_progress(&self) -> Progress {
        let screen = *self;
        let bar: Mutex<Option<(ProgressBar, String)>> = Mutex::new(None);
        let style = ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        Progress::new(move |event| {
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                Event::Began { step } => {
                    let spinner = ProgressBar::new_spinner().with_style(style.clone()).with_message(step.clone());
                    spinner.enable_steady_tick(Duration::from_millis(100));
                    *bar = Some((spinner, step));
                }
                Event::Detail { text } => {
                    if let Some((spinner, step)) = &*bar {
                        spinner.set_message(printable(&format!("{step}: {text}"), false).into_owned());
                    }
                }
                Event::Done { step, took } => {
                    if let Some((spinner, _)) = bar.take() {
                        spinner.finish_and_clear();
                    }
                    screen.note(format!("✓ {step} ({})", seconds(took)));
                }
            }
        })
    }
}

/// The lines of a table without rules between its rows. Its `numbers`, columns counted from 0, stand to the right.
#[must_use]
pub fn table_lines(header: &[&str], numbers: &[usize], rows: impl IntoIterator<Item = Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    // A line break in a cell would begin a line that looks like another row.
    table.add_rows(rows.into_iter().map(|row| row.iter().map(|cell| one_line(cell)).collect::<Vec<_>>()));
    for column in numbers {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// `0.3 s`, `12 s`.
#[must_use]
pub fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

/// An error and its causes, each once: many errors repeat their cause in their own words.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let words = source.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = source.source();
    }
    text
}

/// A reader that went away (`ikkai … | head`) is no reason to fail.
fn print_line(out: &mut impl Write, text: &str) {
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn an_error_is_told_with_its_cause() {
        assert_eq!(chain(&Outer(std::io::Error::other("no memory"))), "cannot start: no memory");
    }

    #[test]
    fn a_cause_that_was_told_already_is_not_repeated() {
        assert_eq!(chain(&Outer(std::io::Error::other("cannot start"))), "cannot start");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(Duration::from_millis(340)), "0.3 s");
        assert_eq!(seconds(Duration::from_secs(72)), "72 s");
    }

    #[test]
    fn no_terminal_obeys_what_others_wrote() {
        for format in [Format::Text, Format::Json] {
            let (screen, memory) = Screen::remembering(format);
            screen.line("\u{1b}[2Jj-1  succeeded");
            screen.note("\u{9b}2Jerror");
            screen.json(&serde_json::json!({"reason": "\u{9b}2J\u{1b}[2J"}));
            let printed = [memory.result(), memory.notes()].concat();
            assert!(!printed.contains(['\u{1b}', '\u{9b}']), "{printed:?}");
            assert!(printed.contains(r"\u001b[2Jj-1  succeeded") && printed.contains(r"\u009b2Jerror"), "{printed:?}");
        }
    }

    #[test]
    fn no_cell_of_a_table_begins_a_row_of_its_own() {
        let lines = table_lines(&["job", "reason"], &[], [vec!["j-1".to_owned(), "no\nj-2  well".to_owned()]]);
        assert_eq!(lines, [" job  reason", r" j-1  no\nj-2  well"]);
    }

    #[test]
    fn nothing_is_painted_off_a_terminal() {
        let (screen, _) = Screen::remembering(Format::Text);
        assert_eq!(screen.paint(Tone::Bad, "dead"), "dead");
        assert_eq!(screen.shade(97, "job"), "job");
        let screen = Screen { colours: true, ..screen };
        assert_eq!(screen.paint(Tone::Bad, "dead"), "\u{1b}[31mdead\u{1b}[0m");
        assert_eq!(screen.shade(97, "job"), "\u{1b}[38;5;97mjob\u{1b}[0m");
    }
}
