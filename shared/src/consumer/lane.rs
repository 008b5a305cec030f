//! Lanes of a batch: jobs of one lane run one after the other, lanes run side by side.

use super::entry::Entry;
use super::outcome::Blocks;
use super::received::Received;

/// On a standard queue each job has a lane of its own; on a FIFO queue each message group has one.
pub(super) struct Lane {
    /// Places of its jobs in the batch, in order.
    pub(super) entries: Vec<usize>,
    /// The first job that is not through.
    pub(super) next: usize,
    /// From here on nothing is started: something before it stands in the way.
    blocked_from: usize,
}

impl Lane {
    fn of(entries: Vec<usize>) -> Self {
        Self { blocked_from: entries.len(), entries, next: 0 }
    }

    /// The next job, if one is left.
    pub(super) fn current(&self) -> Option<usize> {
        self.entries.get(self.next).copied()
    }

    /// Whether the next job must not start.
    pub(super) const fn is_blocked(&self) -> bool {
        self.next >= self.blocked_from
    }

    /// The next job is through, and blocks others.
    pub(super) fn pass(&mut self, blocks: Blocks, hold_after_death: bool, batch: &[Entry]) {
        let message_of = |position: usize| self.entries.get(position).map(|&entry| batch[entry].message);
        let blocked_from = match blocks {
            Blocks::Everything => self.next + 1,
            Blocks::MessagesWhereHeld if hold_after_death => {
                let own = message_of(self.next);
                (self.next + 1..self.entries.len()).find(|&position| message_of(position) != own).unwrap_or(self.entries.len())
            }
            Blocks::MessagesWhereHeld | Blocks::Nothing => self.entries.len(),
        };
        self.blocked_from = self.blocked_from.min(blocked_from);
        self.next += 1;
    }
}

/// Deals the jobs of a batch out, keeping the order within each lane.
pub(super) fn lanes(batch: &[Entry], received: &[Received], is_fifo: bool) -> Vec<Lane> {
    if !is_fifo {
        return (0..batch.len()).map(|entry| Lane::of(vec![entry])).collect();
    }
    let mut groups: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (index, entry) in batch.iter().enumerate() {
        let group = received[entry.message].group_id.as_deref();
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, entries)) => entries.push(index),
            None => groups.push((group, vec![index])),
        }
    }
    groups.into_iter().map(|(_, entries)| Lane::of(entries)).collect()
}
