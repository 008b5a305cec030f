//! How it goes, while it goes.

use std::time::Duration;

use ikkai_cli::screen::Screen;
use tokio::time::{Instant, sleep};

use crate::book::Book;
use crate::fault::Fault;
use crate::tally::Tally;

/// Time between two lines where lines stay.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Time between two looks where one line moves.
const MOVE_EVERY: Duration = Duration::from_millis(500);

/// Shows where jobs stand and what has gone wrong.
#[derive(Debug)]
pub struct Live<'a> {
    screen: Screen,
    book: &'a Book,
    tally: &'a Tally,
}

impl<'a> Live<'a> {
    /// Shows on this screen.
    #[must_use]
    pub fn new(screen: Screen, book: &'a Book, tally: &'a Tally) -> Self {
        Self { screen, book, tally }
    }

    /// Shows for as long as it is asked to.
    pub async fn tell(&self, what: &str) {
        let began = Instant::now();
        let progress = self.screen.progress();
        let step = progress.begin(what);
        loop {
            sleep(if self.screen.moves() { MOVE_EVERY } else { LINE_EVERY }).await;
            let line = format!("{:>4} s  {}", began.elapsed().as_secs(), self.line());
            if self.screen.moves() { step.detail(line) } else { self.screen.note(line) }
        }
    }

    fn line(&self) -> String {
        let jobs = self.book.standing();
        let faults = self.tally.counts();
        let of = |fault: Fault| faults.get(&fault).copied().unwrap_or(0);
        let others: u64 =
            faults.iter().filter(|(fault, _)| !matches!(fault, Fault::Kill | Fault::Freeze)).map(|(_, count)| count).sum();
        format!(
            "{} accepted, {} done, {} in flight, {} dead, {} in doubt; {} killed, {} frozen, {others} other faults",
            jobs.accepted,
            jobs.done,
            jobs.in_flight,
            jobs.dead,
            jobs.in_doubt,
            of(Fault::Kill),
            of(Fault::Freeze)
        )
    }
}
