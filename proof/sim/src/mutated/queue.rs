//! A queue that does what wrong code around it would.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use ikkai::queue::{Inbox, OutgoingMessage, Queue, QueueDepth, QueueError, ReceivedMessage, VisibilityChange};

use super::Stash;
use crate::mutant::Mutant;
use crate::troubled_queue::TroubledQueue;
use crate::world::World;

/// What the heartbeat sets: a lease's chunk, the skew and the margin of the defaults.
const BEAT: Duration = Duration::from_secs(45 + 10 + 30);

pub(super) struct MutatedQueue {
    world: Arc<World>,
    queue: Arc<TroubledQueue>,
    mutant: Mutant,
    stash: Stash,
    beat: Mutex<Vec<VisibilityChange>>,
}

impl MutatedQueue {
    pub(super) fn new(world: &Arc<World>, queue: Arc<TroubledQueue>, mutant: Mutant, stash: &Stash) -> Self {
        Self { world: world.clone(), queue, mutant, stash: stash.clone(), beat: Mutex::default() }
    }

    /// The heartbeat that was on its way when visibility was set for the last time.
    async fn late_beat(&self, changes: &[VisibilityChange]) {
        let beat = self.beat.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let late: Vec<_> =
            beat.into_iter().filter(|beat| changes.iter().any(|change| change.receipt_handle == beat.receipt_handle)).collect();
        if !late.is_empty() {
            drop(self.queue.change_visibility(&late).await);
        }
    }
}

#[async_trait]
impl Queue for MutatedQueue {
    async fn send(&self, messages: &[OutgoingMessage]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        match self.mutant {
            Mutant::RenewalNotSent => Ok(messages.iter().map(|_| Ok(())).collect()),
            Mutant::SendFailuresIgnored => {
                let sent = self.queue.send(messages).await?;
                Ok(sent.into_iter().map(|_| Ok(())).collect())
            }
            Mutant::AnswerBeforeSend => {
                let (queue, world, messages) = (self.queue.clone(), self.world.clone(), messages.to_vec());
                let verdicts = messages.iter().map(|_| Ok(())).collect();
                tokio::spawn(async move {
                    tokio::time::sleep(world.some_time(Duration::from_millis(100), Duration::from_secs(3))).await;
                    // The sandbox is frozen after its answer, and may never be thawed.
                    if !world.chance(20) {
                        drop(queue.send(&messages).await);
                    }
                });
                Ok(verdicts)
            }
            Mutant::ResetAfterSend => {
                let sent = self.queue.send(messages).await;
                let resets = std::mem::take(&mut *self.stash.lock().unwrap_or_else(PoisonError::into_inner));
                tokio::time::sleep(Duration::from_millis(20)).await;
                resets.iter().for_each(|record| self.world.table.force(record));
                sent
            }
            _ => self.queue.send(messages).await,
        }
    }

    async fn change_visibility(&self, changes: &[VisibilityChange]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        let changed = self.queue.change_visibility(changes).await;
        if self.mutant == Mutant::HeartbeatAfterBackoff {
            if changes.iter().all(|change| change.visible_in == BEAT) {
                *self.beat.lock().unwrap_or_else(PoisonError::into_inner) = changes.to_vec();
            } else {
                self.late_beat(changes).await;
            }
        }
        changed
    }

    async fn depth(&self) -> Result<QueueDepth, QueueError> {
        self.queue.depth().await
    }
}

#[async_trait]
impl Inbox for MutatedQueue {
    async fn receive(&self, max: usize, visible_in: Duration, wait: Duration) -> Result<Vec<ReceivedMessage>, QueueError> {
        let received = self.queue.receive(max, visible_in, wait).await?;
        if self.mutant == Mutant::DeleteBeforeSend && !received.is_empty() {
            let handles: Vec<String> = received.iter().map(|message| message.receipt_handle.clone()).collect();
            drop(self.queue.delete(&handles).await);
        }
        Ok(received)
    }

    async fn delete(&self, receipt_handles: &[String]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        self.queue.delete(receipt_handles).await
    }
}
