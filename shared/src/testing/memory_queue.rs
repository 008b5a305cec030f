//! A queue in memory that remembers what was asked of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use crate::queue::{MAX_ENTRIES, OutgoingMessage, Queue, QueueDepth, QueueError, VisibilityChange};

/// A [`Queue`] that only takes notes. Faults are played in the order they were put in.
#[derive(Debug, Default)]
pub struct MemoryQueue {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<QueueCall>,
    faults: VecDeque<QueueFault>,
    latency: Duration,
    depth_latency: Duration,
    depth: QueueDepth,
}

/// One call, as one request to SQS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueCall {
    /// Messages sent.
    Send(Vec<OutgoingMessage>),
    /// Receipt handles and the time in which they become visible.
    ChangeVisibility(Vec<VisibilityChange>),
    /// Depth read.
    Depth,
}

/// What shall go wrong with the next sending or visibility call.
#[derive(Debug, Clone)]
pub enum QueueFault {
    /// The call fails; nothing is done.
    Refuse(QueueError),
    /// The call takes effect and fails all the same: its answer is lost.
    LoseAnswer,
    /// These entries fail, the others do not.
    FailEntries(Vec<(usize, QueueError)>),
    /// The call is held up before it takes effect.
    Delay(Duration),
    /// The call is on its way: it takes effect after this time, also when nobody waits for it any more.
    OnItsWay(Duration),
    /// The call is held up and then fails; nothing is done.
    DelayedRefusal(Duration, QueueError),
    /// Nobody ever answers; nothing is done.
    Hang,
}

impl MemoryQueue {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Plays `fault` at the next sending or visibility call that has none yet. A delay of zero lets one call pass.
    pub fn fail_next(&self, fault: QueueFault) {
        self.locked().faults.push_back(fault);
    }

    /// Every sending or visibility call takes this long from now on, on tokio's clock.
    pub fn set_latency(&self, latency: Duration) {
        self.locked().latency = latency;
    }

    /// Every depth read takes this long from now on, on tokio's clock.
    pub fn set_depth_latency(&self, latency: Duration) {
        self.locked().depth_latency = latency;
    }

    /// What [`Queue::depth`] answers.
    pub fn set_depth(&self, depth: QueueDepth) {
        self.locked().depth = depth;
    }

    /// Every call so far.
    #[must_use]
    pub fn calls(&self) -> Vec<QueueCall> {
        self.locked().calls.clone()
    }

    /// Every message that was taken.
    #[must_use]
    pub fn sent(&self) -> Vec<OutgoingMessage> {
        let calls = self.calls().into_iter();
        calls.filter_map(|call| if let QueueCall::Send(messages) = call { Some(messages) } else { None }).flatten().collect()
    }

    /// Visibility calls, each with its changes.
    #[must_use]
    pub fn visibility_calls(&self) -> Vec<Vec<VisibilityChange>> {
        let calls = self.calls().into_iter();
        calls.filter_map(|call| if let QueueCall::ChangeVisibility(changes) = call { Some(changes) } else { None }).collect()
    }

    /// The last visibility that was accepted for a receipt handle.
    #[must_use]
    pub fn last_visibility(&self, receipt_handle: &str) -> Option<Duration> {
        let all = self.visibility_calls().into_iter().flatten();
        all.filter(|change| change.receipt_handle == receipt_handle).map(|change| change.visible_in).reduce(|_, later| later)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn play(
        &self,
        entries: usize,
        note: impl FnOnce(&[bool]) -> QueueCall,
    ) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        assert!(entries <= MAX_ENTRIES, "SQS refuses a batch of {entries} entries");
        let (fault, latency) = {
            let mut state = self.locked();
            (state.faults.pop_front(), state.latency)
        };
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        if let Some(QueueFault::Delay(delay) | QueueFault::DelayedRefusal(delay, _)) = &fault {
            tokio::time::sleep(*delay).await;
        }
        let mut verdicts = vec![Ok(()); entries];
        match fault {
            Some(QueueFault::Hang) => std::future::pending().await,
            Some(QueueFault::Refuse(error) | QueueFault::DelayedRefusal(_, error)) => return Err(error),
            Some(QueueFault::FailEntries(failed)) => {
                for (index, error) in failed {
                    verdicts[index] = Err(error);
                }
            }
            Some(QueueFault::LoseAnswer) => {
                self.locked().calls.push(note(&vec![true; entries]));
                return Err(unanswered());
            }
            Some(QueueFault::OnItsWay(time)) => {
                let (state, call) = (self.state.clone(), note(&vec![true; entries]));
                let arrival = tokio::spawn(async move {
                    tokio::time::sleep(time).await;
                    state.lock().unwrap_or_else(PoisonError::into_inner).calls.push(call);
                });
                return arrival.await.map(|()| verdicts).map_err(|_| unanswered());
            }
            Some(QueueFault::Delay(_)) | None => {}
        }
        let taken: Vec<bool> = verdicts.iter().map(Result::is_ok).collect();
        self.locked().calls.push(note(&taken));
        Ok(verdicts)
    }
}

fn unanswered() -> QueueError {
    QueueError::Unavailable { operation: "any", code: "answer lost".to_owned() }
}

fn taken<T: Clone>(entries: &[T], taken: &[bool]) -> Vec<T> {
    entries.iter().zip(taken).filter(|(_, taken)| **taken).map(|(entry, _)| entry.clone()).collect()
}

#[async_trait]
impl Queue for MemoryQueue {
    async fn send(&self, messages: &[OutgoingMessage]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        self.play(messages.len(), |accepted| QueueCall::Send(taken(messages, accepted))).await
    }

    async fn change_visibility(&self, changes: &[VisibilityChange]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        self.play(changes.len(), |accepted| QueueCall::ChangeVisibility(taken(changes, accepted))).await
    }

    async fn depth(&self) -> Result<QueueDepth, QueueError> {
        let (answer, latency) = {
            let mut state = self.locked();
            state.calls.push(QueueCall::Depth);
            let refused = match state.faults.front().cloned() {
                Some(QueueFault::Refuse(error)) => Err(error),
                _ => Ok(()),
            };
            if refused.is_err() {
                state.faults.pop_front();
            }
            (refused.map(|()| state.depth), state.depth_latency)
        };
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        answer
    }
}
