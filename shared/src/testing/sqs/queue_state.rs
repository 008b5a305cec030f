//! What one queue does, call by call. Pure: the time is given.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::rules::QueueRules;
use super::stored::{Departure, StoredMessage, Whereabouts};
use crate::clock::EpochMillis;
use crate::queue::{MAX_MESSAGE_BYTES, OutgoingMessage, QueueDepth, QueueError, QueueName, ReceivedMessage};
use crate::visibility::visibility_seconds;

/// For so long a FIFO queue takes a second message with the same deduplication id for the first one
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html>).
const DEDUPLICATION_WINDOW: Duration = Duration::from_secs(300);

/// A queue with its messages, in the order in which they came.
#[derive(Debug)]
pub(super) struct QueueState {
    pub(super) name: QueueName,
    pub(super) rules: QueueRules,
    messages: BTreeMap<u64, StoredMessage>,
    recent: HashMap<String, EpochMillis>,
    /// No message was sent earlier.
    oldest: Option<EpochMillis>,
    departed: Vec<(StoredMessage, Departure)>,
}

/// What one receive took out.
pub(super) struct Taken {
    pub(super) received: Vec<ReceivedMessage>,
    /// Messages that were received too often: they belong into the dead-letter queue.
    pub(super) dead: Vec<StoredMessage>,
}

impl QueueState {
    pub(super) fn new(name: QueueName, rules: QueueRules) -> Self {
        Self { name, rules, messages: BTreeMap::new(), recent: HashMap::new(), oldest: None, departed: Vec::new() }
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = &StoredMessage> {
        self.messages.values()
    }

    pub(super) fn departed(&self) -> &[(StoredMessage, Departure)] {
        &self.departed
    }

    /// Drops what is past its retention.
    pub(super) fn expire(&mut self, now: EpochMillis) {
        let retention = self.rules.retention;
        if self.oldest.is_none_or(|oldest| oldest + retention > now) {
            return;
        }
        let over: Vec<u64> =
            self.messages.iter().filter(|(_, kept)| kept.sent_at + retention <= now).map(|(sequence, _)| *sequence).collect();
        for sequence in over {
            self.depart(sequence, Departure::Expired);
        }
        self.oldest = self.messages.values().map(|kept| kept.sent_at).min();
    }

    pub(super) fn send(&mut self, message: &OutgoingMessage, sequence: u64, now: EpochMillis) -> Result<(), QueueError> {
        let delay = whole_seconds(message.delay.min(OutgoingMessage::MAX_DELAY));
        message.check(MAX_MESSAGE_BYTES).map_err(|_| refused("SendMessage", "InvalidParameterValue"))?;
        let deduplication_id = match self.name.is_fifo() {
            true => Some(self.deduplication_id(message, delay)?),
            false => None,
        };
        if let Some(id) = &deduplication_id {
            self.recent.retain(|_, since| *since + DEDUPLICATION_WINDOW > now);
            if self.recent.contains_key(id) {
                return Ok(());
            }
            self.recent.insert(id.clone(), now);
        }
        let stored = StoredMessage {
            message_id: message_id(sequence),
            body: message.body.clone(),
            attributes: message.attributes.clone(),
            trace_header: message.trace_header.clone(),
            group_id: message.group_id.clone(),
            deduplication_id,
            sent_at: now,
            receive_count: 0,
            source: None,
            visible_at: now + delay,
        };
        self.insert(sequence, stored);
        Ok(())
    }

    fn deduplication_id(&self, message: &OutgoingMessage, delay: Duration) -> Result<String, QueueError> {
        if message.group_id.is_none() {
            return Err(refused("SendMessage", "MissingParameter"));
        }
        let of_body = || self.rules.content_based_deduplication.then(|| sha256_hex(&message.body));
        match message.deduplication_id.clone().or_else(of_body) {
            // FIFO queues have one delay for all messages.
            Some(id) if delay.is_zero() => Ok(id),
            _ => Err(refused("SendMessage", "InvalidParameterValue")),
        }
    }

    /// Puts in what SQS moved here. The id stays. A FIFO queue takes the message's id for its deduplication id, and its age starts again
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>).
    pub(super) fn bury(&mut self, dead: StoredMessage, source: &QueueName, sequence: u64, now: EpochMillis) {
        let fifo = self.name.is_fifo();
        let buried = StoredMessage {
            deduplication_id: fifo.then(|| dead.message_id.clone()),
            sent_at: if fifo { now } else { dead.sent_at },
            receive_count: 0,
            source: Some(source.clone()),
            visible_at: now,
            ..dead
        };
        self.insert(sequence, buried);
    }

    /// Takes out up to `max` visible messages whose source is known, each with it.
    pub(super) fn take_returning(
        &mut self,
        max: usize,
        now: EpochMillis,
        is_known: impl Fn(&QueueName) -> bool,
    ) -> Vec<(QueueName, StoredMessage)> {
        let returns = |kept: &StoredMessage| kept.visible_at <= now && kept.source.as_ref().is_some_and(&is_known);
        let taken: Vec<u64> =
            self.messages.iter().filter(|(_, kept)| returns(kept)).map(|(sequence, _)| *sequence).take(max).collect();
        let taken = taken.into_iter().filter_map(|sequence| self.messages.remove(&sequence));
        taken.filter_map(|stored| Some((stored.source.clone()?, stored))).collect()
    }

    /// Puts in what SQS moved back here out of a dead-letter queue: a new message.
    pub(super) fn put_back(&mut self, returned: StoredMessage, sequence: u64, now: EpochMillis) {
        let back = StoredMessage {
            message_id: message_id(sequence),
            sent_at: now,
            receive_count: 0,
            source: None,
            visible_at: now,
            ..returned
        };
        self.insert(sequence, back);
    }

    /// Receives up to `max` messages. `buries` says whether there is a dead-letter queue to move to.
    pub(super) fn receive(&mut self, max: usize, visible_in: Duration, buries: bool, now: EpochMillis) -> Taken {
        let most = self.rules.dead_letters.as_ref().filter(|_| buries).map(|rule| rule.max_receives);
        let mut blocked = self.blocked_groups(now);
        let (mut received, mut dead) = (Vec::new(), Vec::new());
        for (sequence, stored) in &mut self.messages {
            if received.len() == max {
                break;
            }
            if self.name.is_fifo() && stored.group_id.as_ref().is_some_and(|group| blocked.contains(group)) {
                continue;
            }
            if stored.whereabouts(now) != Whereabouts::Visible {
                blocked.extend(stored.group_id.clone());
            } else if most.is_some_and(|most| stored.receive_count >= most) {
                dead.push(*sequence);
            } else {
                stored.receive_count += 1;
                stored.visible_at = now + whole_seconds(visible_in);
                received.push(stored.received(format!("{}/{sequence}/{}", self.name.as_str(), stored.receive_count)));
            }
        }
        let dead = dead.into_iter().filter_map(|sequence| self.messages.remove(&sequence)).collect();
        Taken { received, dead }
    }

    /// Takes out what came after this position.
    pub(super) fn take_after(&mut self, sequence: u64) -> Vec<StoredMessage> {
        self.messages.split_off(&(sequence + 1)).into_values().collect()
    }

    /// A FIFO group with a message in flight gives out no other.
    fn blocked_groups(&self, now: EpochMillis) -> HashSet<String> {
        match self.name.is_fifo() {
            true => {
                self.messages.values().filter(|kept| kept.visible_at > now).filter_map(|kept| kept.group_id.clone()).collect()
            }
            false => HashSet::new(),
        }
    }

    /// Lets a received message stay visible, as a standard queue may hand one out twice.
    pub(super) fn reveal(&mut self, receipt_handle: &str, now: EpochMillis) {
        if let Some((sequence, _)) = self.parsed(receipt_handle)
            && let Some(stored) = self.messages.get_mut(&sequence)
        {
            stored.visible_at = now;
        }
    }

    /// An old handle deletes nothing: a standard queue says yes all the same, a FIFO queue says no
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html>).
    pub(super) fn delete(&mut self, receipt_handle: &str, now: EpochMillis) -> Result<(), QueueError> {
        let (sequence, receive) = self.parsed(receipt_handle).ok_or(QueueError::ReceiptLost)?;
        match self.messages.get(&sequence) {
            None => Ok(()),
            Some(stored) if self.name.is_fifo() && (stored.receive_count != receive || stored.visible_at <= now) => {
                Err(QueueError::ReceiptLost)
            }
            Some(stored) if stored.receive_count != receive => Ok(()),
            Some(_) => {
                self.depart(sequence, Departure::Deleted);
                Ok(())
            }
        }
    }

    pub(super) fn change_visibility(&mut self, handle: &str, visible_in: Duration, now: EpochMillis) -> Result<(), QueueError> {
        let (sequence, receive) = self.parsed(handle).ok_or(QueueError::ReceiptLost)?;
        match self.messages.get_mut(&sequence) {
            Some(stored) if stored.receive_count == receive && stored.visible_at > now => {
                stored.visible_at = now + whole_seconds(visible_in);
                Ok(())
            }
            _ => Err(QueueError::ReceiptLost),
        }
    }

    pub(super) fn depth(&self, now: EpochMillis) -> QueueDepth {
        let mut depth = QueueDepth::default();
        for stored in self.messages.values() {
            match stored.whereabouts(now) {
                Whereabouts::Visible => depth.visible += 1,
                Whereabouts::InFlight => depth.in_flight += 1,
                Whereabouts::Delayed => depth.delayed += 1,
            }
        }
        depth
    }

    fn insert(&mut self, sequence: u64, stored: StoredMessage) {
        self.oldest = Some(self.oldest.map_or(stored.sent_at, |oldest| oldest.min(stored.sent_at)));
        self.messages.insert(sequence, stored);
    }

    fn depart(&mut self, sequence: u64, how: Departure) {
        self.departed.extend(self.messages.remove(&sequence).map(|stored| (stored, how)));
    }

    /// Position and receive of a handle of this queue.
    fn parsed(&self, receipt_handle: &str) -> Option<(u64, u32)> {
        let rest = receipt_handle.strip_prefix(self.name.as_str())?.strip_prefix('/')?;
        let (sequence, receive) = rest.split_once('/')?;
        Some((sequence.parse().ok()?, receive.parse().ok()?))
    }
}

fn message_id(sequence: u64) -> String {
    format!("{sequence:08x}-0000-4000-8000-000000000000")
}

fn sha256_hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn whole_seconds(duration: Duration) -> Duration {
    Duration::from_secs(u64::try_from(visibility_seconds(duration)).unwrap_or(0))
}

pub(super) fn refused(operation: &'static str, code: &str) -> QueueError {
    QueueError::Refused { operation, code: code.to_owned() }
}
