//! Going through a queue by hand: every message once, nothing hidden for longer than the sweep, and no empty answer taken at its word.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use futures::StreamExt;
use ikkai::queue::{Inbox, MAX_ENTRIES, QueueError, ReceivedMessage, VisibilityChange, change_each};

/// Calls that release messages, side by side.
const RELEASES_AT_ONCE: usize = 4;

/// How a sweep goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepRules {
    /// How long a message that was taken stays hidden. Longer than the sweep lasts; afterwards it comes out by itself.
    pub hidden_for: Duration,
    /// How long a receive waits for a first message.
    pub wait: Duration,
    /// So many empty answers in a row make an empty queue.
    pub empties: u32,
}

/// A sweep through one queue.
///
/// A FIFO queue gives out no message of a group while another one of the group is hidden: what is left blocks what stands behind it, until the
/// sweep is over. So of a group whose messages are left, a sweep sees no more than the first ten.
pub struct Sweep<'a> {
    inbox: &'a dyn Inbox,
    rules: SweepRules,
    seen: HashSet<String>,
    /// Messages to release, by id, with the handle of their last receive: an older one releases nothing.
    held: BTreeMap<String, String>,
    /// Groups of messages that were left.
    groups: HashSet<String>,
}

impl std::fmt::Debug for Sweep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep").field("seen", &self.seen.len()).field("held", &self.held.len()).finish_non_exhaustive()
    }
}

/// Answers in which nothing was new, since the last one in which something was.
#[derive(Default)]
struct Barren {
    answers: u32,
    empty_in_a_row: u32,
    seen_again: usize,
}

impl Barren {
    fn note(&mut self, seen_again: usize) {
        self.answers += 1;
        self.seen_again += seen_again;
        self.empty_in_a_row = if seen_again == 0 { self.empty_in_a_row + 1 } else { 0 };
    }

    /// Nothing comes any more, or more came again than was ever seen: then the queue goes round. Less is no sign, because what became visible
    /// again may stand before what was never seen, and is hidden once more by having come.
    fn is_the_end(&self, empties: u32, seen: usize) -> bool {
        self.empty_in_a_row >= empties || (self.answers >= empties && self.seen_again > seen)
    }
}

impl<'a> Sweep<'a> {
    /// A sweep that has seen nothing yet.
    #[must_use]
    pub fn new(inbox: &'a dyn Inbox, rules: SweepRules) -> Self {
        Self { inbox, rules, seen: HashSet::new(), held: BTreeMap::new(), groups: HashSet::new() }
    }

    /// The next messages, at most `max` of them and at most ten; none when the queue is empty, or when everything that comes out was seen
    /// before: then messages have become visible again, and the queue goes round.
    ///
    /// # Errors
    /// When the queue does not answer. Messages that it took all the same come out by themselves, and the sweep can go on.
    pub async fn next(&mut self, max: usize) -> Result<Vec<ReceivedMessage>, QueueError> {
        let mut barren = Barren::default();
        while max > 0 && !barren.is_the_end(self.rules.empties.max(1), self.seen.len()) {
            let received = self.inbox.receive(max.min(MAX_ENTRIES), self.rules.hidden_for, self.rules.wait).await?;
            let count = received.len();
            let fresh = self.fresh(received);
            if !fresh.is_empty() {
                return Ok(fresh);
            }
            barren.note(count);
        }
        Ok(Vec::new())
    }

    /// What was never seen; the rest is held.
    fn fresh(&mut self, received: Vec<ReceivedMessage>) -> Vec<ReceivedMessage> {
        let mut fresh = Vec::with_capacity(received.len());
        for message in received {
            if self.seen.insert(message.message_id.clone()) {
                fresh.push(message);
            } else {
                self.held.insert(message.message_id, message.receipt_handle);
            }
        }
        fresh
    }

    /// Messages seen so far.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen.len()
    }

    /// Groups whose messages were left: of a FIFO queue nothing else of them comes out.
    #[must_use]
    pub fn groups_left(&self) -> usize {
        self.groups.len()
    }

    /// Leaves a message in the queue. It stays hidden until the sweep is over, or it would come out again at once.
    pub fn leave(&mut self, message: &ReceivedMessage) {
        self.groups.extend(message.group_id.clone());
        self.held.entry(message.message_id.clone()).or_insert_with(|| message.receipt_handle.clone());
    }

    /// Makes everything visible again that was left. What cannot be released comes out by itself, see [`SweepRules::hidden_for`].
    pub async fn release(self) {
        let changes =
            self.held.into_values().map(|receipt_handle| VisibilityChange { receipt_handle, visible_in: Duration::ZERO });
        let changes: Vec<_> = changes.collect();
        let inbox = self.inbox;
        let calls = futures::stream::iter(changes.chunks(MAX_ENTRIES));
        calls.for_each_concurrent(RELEASES_AT_ONCE, |changes| release(inbox, changes)).await;
    }
}

async fn release(inbox: &dyn Inbox, changes: &[VisibilityChange]) {
    let verdicts = match change_each(inbox, changes).await {
        Ok(verdicts) => verdicts,
        Err(error) => vec![Err(error)],
    };
    // A message whose receipt is lost is visible, gone, or in other hands.
    let failed = verdicts.into_iter().filter_map(Result::err).find(|error| *error != QueueError::ReceiptLost);
    if let Some(error) = failed {
        tracing::warn!(error = %error, "messages stay hidden until their time is over");
    }
}
