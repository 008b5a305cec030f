//! All queues of an SQS in memory, and the way from a queue into its dead-letter queue.

use std::collections::BTreeMap;
use std::time::Duration;

use super::queue_state::{QueueState, refused};
use super::rules::QueueRules;
use super::stored::StoredMessage;
use crate::clock::EpochMillis;
use crate::queue::{MAX_MESSAGE_BYTES, OutgoingMessage, QueueError, QueueName, ReceivedMessage};

/// Queues by name.
#[derive(Debug, Default)]
pub(super) struct World {
    queues: BTreeMap<String, QueueState>,
    sequence: u64,
}

impl World {
    pub(super) fn create(&mut self, name: &str, rules: QueueRules) {
        self.queues.insert(name.to_owned(), QueueState::new(QueueName::new(name), rules));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.queues.remove(name);
    }

    /// The queue as it is `now`: what is past its retention is gone.
    pub(super) fn queue(&mut self, name: &str, now: EpochMillis) -> Result<&mut QueueState, QueueError> {
        let queue = self.queues.get_mut(name).ok_or_else(|| refused("GetQueueUrl", "QueueDoesNotExist"))?;
        queue.expire(now);
        Ok(queue)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.queues.keys().cloned().collect()
    }

    pub(super) fn send(&mut self, name: &str, message: &OutgoingMessage, now: EpochMillis) -> Result<(), QueueError> {
        let sequence = self.next();
        self.queue(name, now)?.send(message, sequence, now)
    }

    /// What makes SQS refuse a batch as a whole.
    pub(super) fn check_batch(messages: &[OutgoingMessage]) -> Result<(), QueueError> {
        let bytes: usize = messages.iter().map(OutgoingMessage::bytes).sum();
        match messages.len() > 1 && bytes > MAX_MESSAGE_BYTES {
            true => Err(refused("SendMessageBatch", "BatchRequestTooLong")),
            false => Ok(()),
        }
    }

    /// Receives, and moves what was received too often: SQS does that at the receive, not before.
    pub(super) fn receive(
        &mut self,
        name: &str,
        max: usize,
        visible_in: Duration,
        now: EpochMillis,
    ) -> Result<Vec<ReceivedMessage>, QueueError> {
        let target = self.queue(name, now)?.rules.dead_letters.clone().map(|rule| rule.queue);
        let target = target.filter(|target| self.queues.contains_key(target));
        let taken = self.queue(name, now)?.receive(max, visible_in, target.is_some(), now);
        for dead in taken.dead {
            let sequence = self.next();
            if let Some(buried) = target.as_ref().and_then(|target| self.queues.get_mut(target)) {
                buried.bury(dead, &QueueName::new(name), sequence, now);
            }
        }
        Ok(taken.received)
    }

    /// Sends messages to `name` and moves them into its dead-letter queue.
    pub(super) fn bury(&mut self, name: &str, messages: &[OutgoingMessage], now: EpochMillis) -> Result<(), QueueError> {
        let before = self.sequence;
        for message in messages {
            self.send(name, message, now)?;
        }
        let source = self.queue(name, now)?;
        let target = source.rules.dead_letters.clone().map(|rule| rule.queue).unwrap_or_default();
        let (source_name, dead) = (source.name.clone(), source.take_after(before));
        for dead in dead {
            let sequence = self.next();
            self.queue(&target, now)?.bury(dead, &source_name, sequence, now);
        }
        Ok(())
    }

    pub(super) fn holds(&self, like: impl Fn(&str, &StoredMessage) -> bool) -> bool {
        self.queues.iter().any(|(name, queue)| queue.messages().any(|message| like(name, message)))
    }

    /// Moves visible messages back to their sources. One without a source, or whose source is gone, stays.
    pub(super) fn move_back(&mut self, name: &str, max: usize, now: EpochMillis) -> usize {
        let known: Vec<String> = self.names();
        let Ok(queue) = self.queue(name, now) else { return 0 };
        let returning = queue.take_returning(max, now, |source| known.iter().any(|name| name == source.as_str()));
        let moved = returning.len();
        for (source, message) in returning {
            let sequence = self.next();
            if let Some(queue) = self.queues.get_mut(source.as_str()) {
                queue.put_back(message, sequence, now);
            }
        }
        moved
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}
