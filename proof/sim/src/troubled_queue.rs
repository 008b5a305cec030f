//! A queue as one caller sees it: calls take time, and go wrong; what is deleted is looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use ikkai::queue::{Inbox, OutgoingMessage, Queue, QueueDepth, QueueError, ReceivedMessage, VisibilityChange};
use ikkai::testing::{MemorySqsQueue, SqsFault, SqsOperation};

use crate::actor::{Actor, Step};
use crate::fault::Fault;
use crate::laws;
use crate::stage::Line;
use crate::world::World;

const OF_SENDS: [Fault; 7] = [
    Fault::QueueFailed,
    Fault::QueueTimedOut,
    Fault::QueueSlow,
    Fault::QueueAnswerLost,
    Fault::QueueEntryFailed,
    Fault::QueueEntryUnmentioned,
    Fault::QueueSendLate,
];
const OF_CHANGES: [Fault; 6] = [
    Fault::QueueFailed,
    Fault::QueueTimedOut,
    Fault::QueueSlow,
    Fault::QueueAnswerLost,
    Fault::QueueEntryFailed,
    Fault::QueueEntryUnmentioned,
];
const OF_RECEIVES: [Fault; 4] =
    [Fault::QueueFailed, Fault::QueueAnswerLost, Fault::ReceiveFoundNothing, Fault::DuplicateDelivery];
const OF_DEPTHS: [Fault; 2] = [Fault::QueueFailed, Fault::QueueSlow];

/// One caller's way to a queue.
pub(crate) struct TroubledQueue {
    pub(crate) world: Arc<World>,
    pub(crate) actor: Arc<Actor>,
    pub(crate) line: Line,
    inner: Arc<MemorySqsQueue>,
    /// What this caller has received, by handle: a deletion names no message.
    received: Mutex<BTreeMap<String, laws::Letter>>,
    /// Why this caller deletes messages.
    deletes: laws::Deletes,
}

impl TroubledQueue {
    pub(crate) fn new(world: &Arc<World>, actor: &Arc<Actor>, name: &str, deletes: laws::Deletes) -> Self {
        Self {
            world: world.clone(),
            actor: actor.clone(),
            line: Line::of_queue(name),
            inner: world.sqs.queue(name),
            received: Mutex::default(),
            deletes,
        }
    }

    /// Makes the memory's next call of this kind go wrong.
    fn plan(&self, operation: SqsOperation, fault: Fault, entries: usize) {
        let some = || -> Vec<usize> { self.world.roll(|dice| (0..entries).filter(|_| dice.bool()).collect()) };
        let planned = match fault {
            Fault::QueueAnswerLost => SqsFault::LoseAnswer,
            Fault::QueueEntryFailed => {
                let passes = self.world.roll(fastrand::Rng::bool);
                SqsFault::FailEntries(some().into_iter().map(|entry| (entry, entry_error(passes))).collect())
            }
            Fault::QueueEntryUnmentioned => SqsFault::Unmentioned { entries: some(), done: self.world.roll(fastrand::Rng::bool) },
            Fault::ReceiveFoundNothing => SqsFault::FindNothing,
            Fault::DuplicateDelivery => SqsFault::StayVisible,
            _ => return,
        };
        self.world.sqs.fail_next(self.inner.name(), operation, planned);
    }

    /// What comes before the effect of a call. An error ends it there.
    async fn before(&self, operation: SqsOperation, fault: Option<Fault>, entries: usize) -> Result<(), QueueError> {
        self.actor.begin(Step::WriteSent);
        self.world.pause(2, 15).await;
        let refused = match fault {
            Some(Fault::QueueFailed) => Some(unavailable("ServiceUnavailable")),
            Some(Fault::QueueTimedOut) => {
                self.world.pause(500, 7_000).await;
                Some(unavailable("timed out"))
            }
            Some(Fault::QueueSlow) => {
                self.world.pause(500, 7_000).await;
                None
            }
            _ => None,
        };
        self.actor.end(Step::WriteSent);
        if let Some(fault) = fault {
            self.plan(operation, fault, entries);
        }
        refused.map_or(Ok(()), Err)
    }

    /// What comes after it.
    async fn after(&self) {
        self.actor.begin(Step::WriteDone);
        tokio::task::yield_now().await;
        self.actor.end(Step::WriteDone);
    }

    fn note_stale(&self, verdicts: &Result<Vec<Result<(), QueueError>>, QueueError>) {
        for verdict in verdicts.iter().flatten() {
            if *verdict == Err(QueueError::ReceiptLost) {
                self.world.happened(Fault::StaleReceipt);
            }
        }
    }

    fn told<T, E>(&self, what: &str, count: usize, answer: &Result<Vec<Result<T, E>>, QueueError>) {
        self.world.tell(&self.actor.name, || {
            let said = match answer {
                Ok(verdicts) => format!("{} of {count} done", verdicts.iter().filter(|verdict| verdict.is_ok()).count()),
                Err(error) => error.to_string(),
            };
            format!("{what} {}: {said}", self.inner.name())
        });
    }
}

fn unavailable(code: &str) -> QueueError {
    QueueError::Unavailable { operation: "a call", code: code.to_owned() }
}

fn entry_error(passes: bool) -> QueueError {
    let (operation, code) = ("an entry", "InternalError".to_owned());
    if passes { QueueError::Unavailable { operation, code } } else { QueueError::Refused { operation, code } }
}

#[async_trait]
impl Queue for TroubledQueue {
    async fn send(&self, messages: &[OutgoingMessage]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        let fault = self.actor.draw(&self.world, &OF_SENDS);
        self.before(SqsOperation::Send, fault, messages.len()).await?;
        if fault == Some(Fault::QueueSendLate) {
            let (inner, messages, world, line) = (self.inner.clone(), messages.to_vec(), self.world.clone(), self.line);
            let delay = world.some_time(Duration::from_secs(1), Duration::from_secs(20));
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                drop(inner.send(&messages).await);
                world.arrived(line);
            });
            self.world.pause(200, 2_000).await;
            return Err(unavailable("connection reset"));
        }
        let sent = self.inner.send(messages).await;
        self.world.arrived(self.line);
        self.after().await;
        self.told("send to", messages.len(), &sent);
        sent
    }

    async fn change_visibility(&self, changes: &[VisibilityChange]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        let fault = self.actor.draw(&self.world, &OF_CHANGES);
        self.before(SqsOperation::ChangeVisibility, fault, changes.len()).await?;
        let changed = self.inner.change_visibility(changes).await;
        self.world.arrived(self.line);
        self.after().await;
        self.note_stale(&changed);
        self.told("visibility in", changes.len(), &changed);
        changed
    }

    async fn depth(&self) -> Result<QueueDepth, QueueError> {
        let fault = self.actor.draw(&self.world, &OF_DEPTHS);
        self.before(SqsOperation::Depth, fault, 0).await?;
        self.inner.depth().await
    }
}

#[async_trait]
impl Inbox for TroubledQueue {
    async fn receive(&self, max: usize, visible_in: Duration, wait: Duration) -> Result<Vec<ReceivedMessage>, QueueError> {
        let fault = self.actor.draw(&self.world, &OF_RECEIVES);
        self.before(SqsOperation::Receive, fault, 0).await?;
        let received = self.inner.receive(max, visible_in, wait).await;
        self.after().await;
        let received = received?;
        let mut known = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        for message in &received {
            known.insert(message.receipt_handle.clone(), laws::Letter::of(message));
        }
        self.world.tell(&self.actor.name, || format!("receive from {}: {} messages", self.inner.name(), received.len()));
        Ok(received)
    }

    async fn delete(&self, receipt_handles: &[String]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        let fault = self.actor.draw(&self.world, &OF_CHANGES);
        self.before(SqsOperation::Delete, fault, receipt_handles.len()).await?;
        {
            let known = self.received.lock().unwrap_or_else(PoisonError::into_inner);
            let letters = receipt_handles.iter().filter_map(|handle| known.get(handle));
            letters.for_each(|letter| laws::deleted(&self.world, self.deletes, letter));
        }
        let deleted = self.inner.delete(receipt_handles).await;
        self.after().await;
        self.told("delete from", receipt_handles.len(), &deleted);
        deleted
    }
}
