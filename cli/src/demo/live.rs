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

/// The longest name of a status that a job can end in.
const FINAL_WIDTH: usize = 9;

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
    /// Its story was told: what is read of the record after that is the same.
    ended: bool,
}

impl Line {
    /// The record changed.
    pub(super) fn record(&self, record: &JobRecord) {
        self.change(
            |shown| {
                shown.status = Some(record.status);
                shown.attempts = record.attempts;
            },
            Shown::state,
        );
    }

    /// Something happens to the job that its record does not tell.
    pub(super) fn note(&self, note: &str) {
        self.change(|shown| note.clone_into(&mut shown.note), |shown| shown.note.clone());
    }

    /// Off a terminal only what changed is told.
    fn change(&self, change: impl FnOnce(&mut Shown), news: impl FnOnce(&Shown) -> String) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.ended {
            return;
        }
        let before = shown.clone();
        change(&mut shown);
        match &self.bar {
            Some(bar) => bar.set_message(self.moving(&shown)),
            None if *shown != before => self.plain(&news(&shown)),
            None => {}
        }
    }

    /// The job has ended as it should, or not, and this is its story.
    pub(super) fn ended(&self, well: bool, status: Option<Status>, story: &str) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        let (mark, tone) = if well { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
        match &self.bar {
            Some(bar) => {
                let status = status.map_or("", Status::as_str);
                let mark = self.paint(tone, mark);
                bar.set_style(style("{wide_msg}"));
                let time = seconds(self.elapsed());
                bar.finish_with_message(format!("{mark} {:<NAME_WIDTH$}  {status:<FINAL_WIDTH$}  {time:>6}  {story}", self.name));
            }
            None => self.plain(&format!("{mark} {story}")),
        }
    }

    fn moving(&self, shown: &Shown) -> String {
        let status = shown.status.map_or("", Status::as_str);
        let status = self.paint(Tone::Open, format!("{status:<STATUS_WIDTH$}"));
        let attempt = if shown.attempts > 1 { format!("attempt {}: ", shown.attempts) } else { String::new() };
        format!("{:<NAME_WIDTH$}  {status}    {attempt}{}", self.name, shown.note)
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

impl Shown {
    fn state(&self) -> String {
        let status = self.status.map_or("", Status::as_str);
        if self.attempts == 0 { status.to_owned() } else { format!("{status}, attempt {}", self.attempts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_a_log_says_state_and_attempt() {
        let mut shown = Shown { status: Some(Status::Accepted), ..Shown::default() };
        assert_eq!(shown.state(), "accepted");
        shown = Shown { status: Some(Status::RetryScheduled), attempts: 1, ..shown };
        assert_eq!(shown.state(), "retry_scheduled, attempt 1");
    }

    #[test]
    fn every_status_fits_its_column() {
        for status in Status::ALL {
            let width = if status.is_final() { FINAL_WIDTH } else { STATUS_WIDTH };
            assert!(status.as_str().len() <= width, "{status}");
        }
    }
}
