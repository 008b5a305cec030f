//! What a run has to remember between its parts. Small: it is kept in one item with the run.

use std::collections::BTreeSet;

use ikkai::clock::EpochMillis;
use serde::{Deserialize, Serialize};

/// Until so many messages count towards the run's `max`, each page of messages is written down by itself.
pub(super) const COUNTED_CLOSELY: u64 = 100;

/// So many messages are counted in advance later on.
const LARGE_RESERVE: u64 = 100;

/// Jobs that are watched at most.
const MOST_WATCHED: usize = 50;

/// Names that are remembered at most.
const MOST_NAMES: usize = 500;

/// Messages that are remembered as judged at most. All names together have to fit into the run's item, which has 400 KB
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>).
const MOST_JUDGED: usize = 3_000;

/// What a run has to remember between its parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Which of the run's queues it is at.
    pub(super) queue: usize,
    /// Messages in each dead-letter queue when the run began; 0 means that the number is not known.
    pub(super) snapshots: Vec<u64>,
    /// Messages of the present queue's snapshot that are gone.
    pub(super) gone: u64,
    /// Messages and jobs that count towards the run's `max`.
    pub(super) counted: u64,
    /// Up to so many may count by the messages that are being sent. Should the part die, they count: some of them may have gone out.
    #[serde(default)]
    pub(super) reserved: u64,
    /// Where the canary is.
    pub(super) canary: Canary,
    /// Jobs that were sent, and are not known to be over. One that is dead or in doubt has failed again: it was neither when it
    /// was sent.
    pub(super) watched: Vec<String>,
    /// Jobs that are known to have failed again: each counts once.
    #[serde(default)]
    pub(super) failed: BTreeSet<String>,
    /// How many of these were not watched.
    #[serde(default)]
    pub(super) failed_unwatched: u64,
    /// Sent since the last look at them.
    pub(super) sent_since_look: u32,
    /// Jobs of the filter whose message was found, or that were dealt with without one.
    pub(super) found: BTreeSet<String>,
    /// Messages that were sent and perhaps not deleted: they must not be sent again.
    pub(super) undeleted: BTreeSet<String>,
    /// Messages that have their verdict and stay in the queue: a later part leaves them without a second one.
    #[serde(default)]
    pub(super) judged: BTreeSet<String>,
    /// FIFO groups, with their queue, one of whose messages could not be sent: the later ones have to wait.
    pub(super) blocked: BTreeSet<String>,
    /// Pages of verdicts that are written.
    pub(super) pages: u32,
    /// Verdicts on these pages.
    pub(super) verdicts: u64,
    /// Verdicts of earlier parts.
    pub(super) verdicts_before: u64,
    /// A part is at work, or has died.
    pub(super) at_work: bool,
}

/// The first messages of a run, which the others wait for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Canary {
    /// None is wanted, or it is well.
    #[default]
    Off,
    /// So many are still to be sent; these were.
    Sending { missing: u32, jobs: Vec<String> },
    /// These have to be over until then.
    Waiting { jobs: Vec<String>, until: EpochMillis },
}

impl Progress {
    /// Counts messages before they are sent, and returns how many an earlier part had counted and not written down:
    ///
    /// ```text
    /// a part counts what it has sent, and writes the number down
    /// it sends ten more, and dies
    /// the next part knows nothing of the ten, and would send ten more than the run may
    /// ```
    pub(super) fn take_over(&mut self) -> u64 {
        let unwritten = if self.at_work { self.reserved.saturating_sub(self.counted) } else { 0 };
        self.counted += unwritten;
        unwritten
    }

    /// Counts `next` messages in advance, later on more of them at a time; whether that is news, and has to be written down before they are sent.
    pub(super) fn reserve(&mut self, next: u64, most: u64) -> bool {
        if self.reserved >= self.counted.saturating_add(next) {
            return false;
        }
        let ahead = if self.counted < COUNTED_CLOSELY { next } else { next.max(LARGE_RESERVE) };
        self.reserved = self.counted.saturating_add(ahead).min(most.max(self.counted.saturating_add(next)));
        true
    }

    /// Nothing is being sent. While messages are counted closely, a death from here on costs none of them.
    pub(super) fn settle(&mut self) {
        if self.counted <= COUNTED_CLOSELY {
            self.reserved = self.counted;
        }
    }

    /// Remembers jobs that were sent, as long as there is room: who is watched stays so until it is over, or jobs that take long to
    /// fail would never be seen to.
    pub(super) fn watch(&mut self, jobs: &[String]) {
        self.sent_since_look = self.sent_since_look.saturating_add(u32::try_from(jobs.len()).unwrap_or(u32::MAX));
        let room = MOST_WATCHED.saturating_sub(self.watched.len());
        self.watched.extend(jobs.iter().take(room).cloned());
    }

    /// Remembers a job that has failed again; whether that is news.
    pub(super) fn note_failed(&mut self, job_id: &str) -> bool {
        self.failed.len() < MOST_NAMES && self.failed.insert(job_id.to_owned())
    }

    /// Remembers a message that must not be sent again.
    pub(super) fn remember_undeleted(&mut self, message_id: &str) {
        if self.undeleted.len() < MOST_NAMES {
            self.undeleted.insert(message_id.to_owned());
        }
    }

    /// Remembers a message that stays in the queue with its verdict.
    pub(super) fn remember_judged(&mut self, message_id: &str) {
        if self.judged.len() < MOST_JUDGED {
            self.judged.insert(message_id.to_owned());
        }
    }

    /// Holds a group back for the rest of the run.
    pub(super) fn block(&mut self, group: String) {
        if self.blocked.len() < MOST_NAMES {
            self.blocked.insert(group);
        }
    }
}
