//! The jobs as they go on: a moving line each on a terminal, a plain line for each change elsewhere.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ikkai::idempotency::{JobRecord, Status};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::screen::{Screen, Tone, seconds};

/// The longest name of a job.
const NAME_WIDTH: usize = 22;

/// The longest name of a status.
const STATUS_WIDTH: usize = 15;

/// Where the jobs are shown.
#[derive(Debug)]
pub(super) struct Live {
    screen: Screen,
    /// On a terminal.
    bars: Option<MultiProgress>,
    colours: bool,
    began: Instant,
}

impl Live {
    /// On the standard error output, as all progress.
    pub(super) fn new(screen: Screen) -> Self {
        let moving = std::io::stderr().is_terminal();
        Self { screen, bars: moving.then(MultiProgress::new), colours: moving && screen.is_terminal(), began: Instant::now() }
    }

    /// Begins a job's line.
    pub(super) fn line(&self, name: &'static str) -> Line {
        let bar = self.bars.as_ref().map(|bars| {
            let bar = bars.add(ProgressBar::new_spinner().with_style(style("{spinner} {wide_msg}")));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Line {
            name,
            bar,
            screen: self.screen,
            colours: self.colours,
            began: self.began,
            of_job: Instant::now(),
            shown: Mutex::new(Shown::default()),
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// One job's line.
#[derive(Debug)]
pub(super) struct Line {
    name: &'static str,
    bar: Option<ProgressBar>,
    screen: Screen,
    colours: bool,
    /// When the first of all jobs began.
    began: Instant,
    of_job: Instant,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Shown {
    status: Option<Status>,
    attempts: u32,
    note: String,
}

impl Line {
    /// The record changed.
    pub(super) fn record(&self, record: &JobRecord) {
        self.change(|shown| {
            // What was said about the state before is no longer true.
            if shown.status != Some(record.status) {
                shown.note.clear();
            }
            shown.status = Some(record.status);
            shown.attempts = record.attempts;
        });
    }

    /// Something happens to the job that its record does not tell.
    pub(super) fn note(&self, note: &str) {
        self.change(|shown| note.clone_into(&mut shown.note));
    }

    fn change(&self, change: impl FnOnce(&mut Shown)) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let before = shown.clone();
        change(&mut shown);
        match &self.bar {
            Some(bar) => bar.set_message(self.moving(&shown)),
            None if *shown != before => self.plain(&plain_words(&shown)),
            None => {}
        }
    }

    /// The job has ended as it should, or not, and this is its story.
    pub(super) fn ended(&self, well: bool, status: Option<Status>, story: &str) {
        let (mark, tone) = if well { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
        match &self.bar {
            Some(bar) => {
                let status = status.map_or("", Status::as_str);
                let mark = self.paint(tone, mark);
                bar.set_style(style("{wide_msg}"));
                bar.finish_with_message(format!("{mark} {:<NAME_WIDTH$}  {status:<STATUS_WIDTH$}  {story}", self.name));
            }
            None => self.plain(&format!("{mark} {story}")),
        }
    }

    fn moving(&self, shown: &Shown) -> String {
        let status = shown.status.map_or("", Status::as_str);
        let status = self.paint(Tone::Open, format!("{status:<STATUS_WIDTH$}"));
        let attempt = if shown.attempts == 0 { String::new() } else { format!("attempt {}  ", shown.attempts) };
        format!("{:<NAME_WIDTH$}  {status}  {attempt}{}", self.name, shown.note)
    }

    fn plain(&self, words: &str) {
        self.screen.note(format!("{:>7}  {:<NAME_WIDTH$}  {words}", seconds(self.began.elapsed()), self.name));
    }

    /// Since the job began.
    pub(super) fn elapsed(&self) -> Duration {
        self.of_job.elapsed()
    }

    fn paint(&self, tone: Tone, text: impl std::fmt::Display) -> String {
        if self.colours { self.screen.paint(tone, text) } else { text.to_string() }
    }
}

fn plain_words(shown: &Shown) -> String {
    let mut words = Vec::new();
    if let Some(status) = shown.status {
        words.push(status.as_str().to_owned());
    }
    if shown.attempts > 0 {
        words.push(format!("attempt {}", shown.attempts));
    }
    if !shown.note.is_empty() {
        words.push(shown.note.clone());
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_a_log_says_state_attempt_and_what_happens() {
        let mut shown = Shown { note: "POST".into(), ..Shown::default() };
        assert_eq!(plain_words(&shown), "POST");
        shown = Shown { status: Some(Status::RetryScheduled), attempts: 1, note: "due in 1.2 s".into() };
        assert_eq!(plain_words(&shown), "retry_scheduled, attempt 1, due in 1.2 s");
    }

    #[test]
    fn every_status_fits_its_column() {
        assert!(Status::ALL.iter().all(|status| status.as_str().len() <= STATUS_WIDTH));
    }
}
