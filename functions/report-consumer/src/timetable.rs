//! When a run of a long job has to stop.

use std::time::Duration;

use tokio::time::Instant;

/// Decides before each page whether it fits. Keeping the draft and publishing the report need a part of the time; and a page may take
/// twice as long as the slowest one so far.
#[derive(Debug)]
pub(crate) struct Timetable {
    began_late: bool,
    reserve: Duration,
    slowest: Duration,
    began: Instant,
    pages: u32,
}

/// Time kept back for the end of a run: a quarter of it, within these limits. An upload of five megabytes is the longest step in it.
const LEAST_RESERVE: Duration = Duration::from_secs(2);
const MOST_RESERVE: Duration = Duration::from_secs(10);

impl Timetable {
    /// Of a run that has so much time left.
    pub(crate) fn new(remaining: Duration) -> Self {
        let reserve = (remaining / 4).clamp(LEAST_RESERVE, MOST_RESERVE);
        Self { began_late: remaining < reserve, reserve, slowest: Duration::ZERO, began: Instant::now(), pages: 0 }
    }

    /// Whether another page would take time that the end of the run needs.
    pub(crate) fn is_over(&self, remaining: Duration) -> bool {
        remaining < self.reserve + self.slowest * 2
    }

    /// Whether there was no time from the start, which is no fault of the job's.
    pub(crate) const fn began_late(&self) -> bool {
        self.began_late
    }

    /// How long a page may take at most.
    pub(crate) fn longest_page(&self, remaining: Duration) -> Duration {
        remaining.saturating_sub(self.reserve)
    }

    /// A page begins.
    pub(crate) fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// It is done.
    pub(crate) fn end(&mut self) {
        self.pages += 1;
        self.slowest = self.slowest.max(self.began.elapsed());
    }

    /// How many pages this run did.
    pub(crate) const fn pages(&self) -> u32 {
        self.pages
    }
}
