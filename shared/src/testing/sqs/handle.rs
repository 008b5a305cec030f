//! One queue of an SQS in memory, as a client holds it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::fault::{EntryFate, Moment, SqsFault, SqsOperation};
use super::queue_state::QueueState;
use super::world::World;
use super::{Inner, SqsCall};
use crate::clock::EpochMillis;
use crate::queue::{Inbox, MAX_ENTRIES, OutgoingMessage, Queue, QueueDepth, QueueError, ReceivedMessage, VisibilityChange};

/// So often a waiting receive looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Longest wait of a receive.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// A queue of a [`MemorySqs`](super::MemorySqs). The queue may be missing: then every call is refused, as SQS does.
#[derive(Debug, Clone)]
pub struct MemorySqsQueue {
    pub(super) inner: Arc<Inner>,
    pub(super) name: String,
}

impl MemorySqsQueue {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Notes the call and plays the part of its fault that comes before the effect.
    async fn begin(&self, operation: SqsOperation, entries: usize) -> Result<Option<SqsFault>, QueueError> {
        assert!(entries <= MAX_ENTRIES, "SQS refuses a batch of {entries} entries");
        let (fault, latency) = {
            let mut state = self.inner.locked();
            state.calls.push(SqsCall { queue: self.name.clone(), operation });
            (state.faults.draw(&self.name, operation, entries), state.latency)
        };
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        match fault {
            Some(SqsFault::Refuse(error)) => Err(error),
            Some(SqsFault::Crash(Moment::Before)) => self.crash().await,
            Some(SqsFault::Delay(delay)) => {
                tokio::time::sleep(delay).await;
                Ok(None)
            }
            fault => Ok(fault),
        }
    }

    /// Plays the part of the fault that comes after the effect.
    async fn end(&self, fault: Option<SqsFault>) -> Result<(), QueueError> {
        match fault {
            Some(SqsFault::LoseAnswer) => Err(unavailable("answer lost")),
            Some(SqsFault::Crash(Moment::After)) => self.crash().await,
            _ => Ok(()),
        }
    }

    async fn crash<T>(&self) -> T {
        self.inner.crashed.notify_one();
        std::future::pending().await
    }

    /// A batch call: one verdict an entry.
    async fn each<E>(
        &self,
        operation: SqsOperation,
        entries: &[E],
        act: impl Fn(&mut World, &E, EpochMillis) -> Result<(), QueueError>,
    ) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        let fault = self.begin(operation, entries.len()).await?;
        let verdicts = self.on_queue(|world, now| {
            let verdict = |(index, entry)| match SqsFault::fate(fault.as_ref(), index) {
                EntryFate::Done => act(world, entry, now),
                EntryFate::Failed(error) => Err(error),
                EntryFate::Unmentioned(done) => {
                    let _ = done.then(|| act(world, entry, now));
                    Err(unavailable("the answer names no verdict for this entry"))
                }
            };
            entries.iter().enumerate().map(verdict).collect()
        })?;
        self.end(fault).await?;
        Ok(verdicts)
    }

    /// Does something to all queues, if this one exists.
    fn on_queue<T>(&self, act: impl FnOnce(&mut World, EpochMillis) -> T) -> Result<T, QueueError> {
        let now = self.inner.clock.now();
        let mut state = self.inner.locked();
        state.world.queue(&self.name, now)?;
        Ok(act(&mut state.world, now))
    }

    fn one<T>(&self, act: impl FnOnce(&mut QueueState, EpochMillis) -> T) -> Result<T, QueueError> {
        let now = self.inner.clock.now();
        let mut state = self.inner.locked();
        state.world.queue(&self.name, now).map(|queue| act(queue, now))
    }

    async fn receive_within(&self, max: usize, visible_in: Duration, wait: Duration) -> Result<Vec<ReceivedMessage>, QueueError> {
        let until = tokio::time::Instant::now() + wait.min(MAX_WAIT);
        loop {
            let received =
                self.on_queue(|world, now| world.receive(&self.name, max.clamp(1, MAX_ENTRIES), visible_in, now))??;
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            if !received.is_empty() || left.is_zero() {
                return Ok(received);
            }
            tokio::time::sleep(LOOK_AGAIN.min(left)).await;
        }
    }
}

#[async_trait]
impl Queue for MemorySqsQueue {
    async fn send(&self, messages: &[OutgoingMessage]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        World::check_batch(messages)?;
        self.each(SqsOperation::Send, messages, |world, message, now| world.send(&self.name, message, now)).await
    }

    async fn change_visibility(&self, changes: &[VisibilityChange]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let change = |world: &mut World, change: &VisibilityChange, now| {
            world.queue(&self.name, now)?.change_visibility(&change.receipt_handle, change.visible_in, now)
        };
        self.each(SqsOperation::ChangeVisibility, changes, change).await
    }

    async fn depth(&self) -> Result<QueueDepth, QueueError> {
        let fault = self.begin(SqsOperation::Depth, 0).await?;
        let depth = self.one(|queue, now| queue.depth(now))?;
        self.end(fault).await?;
        Ok(depth)
    }
}

#[async_trait]
impl Inbox for MemorySqsQueue {
    async fn receive(&self, max: usize, visible_in: Duration, wait: Duration) -> Result<Vec<ReceivedMessage>, QueueError> {
        let fault = self.begin(SqsOperation::Receive, 0).await?;
        if fault == Some(SqsFault::FindNothing) {
            return Ok(Vec::new());
        }
        let received = self.receive_within(max, visible_in, wait).await?;
        if fault == Some(SqsFault::StayVisible) {
            self.one(|queue, now| received.iter().for_each(|message| queue.reveal(&message.receipt_handle, now)))?;
        }
        self.end(fault).await?;
        Ok(received)
    }

    async fn delete(&self, receipt_handles: &[String]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        if receipt_handles.is_empty() {
            return Ok(Vec::new());
        }
        let delete = |world: &mut World, handle: &String, now| world.queue(&self.name, now)?.delete(handle, now);
        self.each(SqsOperation::Delete, receipt_handles, delete).await
    }
}

fn unavailable(what: &str) -> QueueError {
    QueueError::Unavailable { operation: "any", code: what.to_owned() }
}
