//! Going through a queue by hand: every message once, nothing hidden for longer than the sweep, and no empty answer taken at its word.

use std::collections::HashSet;
use std::time::Duration;

use ikkai::queue::{Inbox, MAX_ENTRIES, QueueError, ReceivedMessage, VisibilityChange};

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
pub struct Sweep<'a> {
    inbox: &'a dyn Inbox,
    rules: SweepRules,
    seen: HashSet<String>,
    held: Vec<String>,
}

impl std::fmt::Debug for Sweep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep").field("seen", &self.seen.len()).field("held", &self.held.len()).finish_non_exhaustive()
    }
}

impl<'a> Sweep<'a> {
    /// A sweep that has seen nothing yet.
    #[must_use]
    pub fn new(inbox: &'a dyn Inbox, rules: SweepRules) -> Self {
        Self { inbox, rules, seen: HashSet::new(), held: Vec::new() }
    }

    /// The next messages, at most `max` of them and at most ten; none when the queue is empty, or when everything that comes out was seen
    /// before: then messages have become visible again, and the queue goes round.
    ///
    /// # Errors
    /// When the queue does not answer.
    pub async fn next(&mut self, max: usize) -> Result<Vec<ReceivedMessage>, QueueError> {
        for _ in 0..self.rules.empties.max(1) {
            let received = self.inbox.receive(max.min(MAX_ENTRIES), self.rules.hidden_for, self.rules.wait).await?;
            let mut fresh = Vec::with_capacity(received.len());
            for message in received {
                if self.seen.insert(message.message_id.clone()) {
                    fresh.push(message);
                } else {
                    self.held.push(message.receipt_handle);
                }
            }
            if !fresh.is_empty() {
                return Ok(fresh);
            }
        }
        Ok(Vec::new())
    }

    /// Messages seen so far.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen.len()
    }

    /// Leaves a message in the queue. It stays hidden until the sweep is over, or it would come out again at once.
    pub fn leave(&mut self, message: &ReceivedMessage) {
        self.held.push(message.receipt_handle.clone());
    }

    /// Makes everything visible again that was left. What cannot be released comes out by itself, see [`SweepRules::hidden_for`].
    pub async fn release(self) {
        for handles in self.held.chunks(MAX_ENTRIES) {
            let changes: Vec<_> = handles
                .iter()
                .map(|handle| VisibilityChange { receipt_handle: handle.clone(), visible_in: Duration::ZERO })
                .collect();
            if let Err(error) = self.inbox.change_visibility(&changes).await {
                tracing::warn!(error = %error, "messages stay hidden until their time is over");
            }
        }
    }
}
