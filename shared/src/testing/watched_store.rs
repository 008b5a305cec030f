//! A store that counts its calls and fails on demand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use crate::clock::EpochMillis;
use crate::idempotency::{Claim, Created, FirstClaim, Guard, JobRecord, JobStore, Replaced, StoreError};
use crate::job::JobId;

/// Wraps a [`JobStore`]: notes each call, and plays faults on calls of one kind in the order they were put in.
pub struct WatchedStore {
    inner: Arc<dyn JobStore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: Vec<StoreCall>,
    faults: VecDeque<(StoreCall, StoreFault)>,
    latency: Duration,
}

/// One call, as one request to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreCall {
    /// A read.
    Get,
    /// A conditional put.
    Create,
    /// The one-write claim.
    Claim,
    /// A conditional update.
    Replace,
}

/// What shall go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// Nothing is done.
    Throttle,
    /// Nothing is done and nobody answers.
    Unreachable,
    /// The call takes effect; its answer is lost for good.
    LoseAnswer,
    /// The call takes effect, its answer is lost, and the SDK's own repetition is what answers.
    RepeatAfterLostAnswer,
    /// The call is held up before it takes effect.
    Delay(Duration),
    /// The call takes effect; nobody ever answers.
    Hang,
}

impl std::fmt::Debug for WatchedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchedStore").field("calls", &self.calls()).finish_non_exhaustive()
    }
}

impl WatchedStore {
    /// Watches `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn JobStore>) -> Self {
        Self { inner, state: Mutex::default() }
    }

    /// Plays `fault` at the next call of this kind that has none yet.
    pub fn fail_next(&self, call: StoreCall, fault: StoreFault) {
        self.locked().faults.push_back((call, fault));
    }

    /// Every call takes this long from now on, on tokio's clock.
    pub fn set_latency(&self, latency: Duration) {
        self.locked().latency = latency;
    }

    /// Every call so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<StoreCall> {
        self.locked().calls.clone()
    }

    /// How many of them were writes.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.calls().iter().filter(|call| **call != StoreCall::Get).count()
    }

    /// How many of them were reads.
    #[must_use]
    pub fn reads(&self) -> usize {
        self.calls().iter().filter(|call| **call == StoreCall::Get).count()
    }

    /// Forgets the calls so far.
    pub fn forget(&self) {
        self.locked().calls.clear();
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn play<T, F>(&self, call: StoreCall, ask: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let (fault, latency) = {
            let mut state = self.locked();
            state.calls.push(call);
            let position = state.faults.iter().position(|(wanted, _)| *wanted == call);
            let fault = position.and_then(|position| state.faults.remove(position)).map(|(_, fault)| fault);
            (fault, state.latency)
        };
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        match fault {
            None => ask().await,
            Some(StoreFault::Throttle) => Err(StoreError::Throttled { operation: "a test" }),
            Some(StoreFault::Unreachable) => Err(unreachable_store()),
            Some(StoreFault::LoseAnswer) => {
                ask().await?;
                Err(unreachable_store())
            }
            Some(StoreFault::RepeatAfterLostAnswer) => {
                ask().await?;
                ask().await
            }
            Some(StoreFault::Hang) => {
                ask().await?;
                std::future::pending().await
            }
            Some(StoreFault::Delay(delay)) => {
                tokio::time::sleep(delay).await;
                ask().await
            }
        }
    }
}

fn unreachable_store() -> StoreError {
    StoreError::Unreachable { operation: "a test", code: "no answer".to_owned(), source: "the answer was lost".into() }
}

#[async_trait]
impl JobStore for WatchedStore {
    async fn get(&self, job_id: &JobId) -> Result<Option<JobRecord>, StoreError> {
        self.play(StoreCall::Get, || self.inner.get(job_id)).await
    }

    async fn create(&self, record: &JobRecord, now: EpochMillis) -> Result<Created, StoreError> {
        self.play(StoreCall::Create, || self.inner.create(record, now)).await
    }

    async fn claim(&self, claim: &Claim, now: EpochMillis) -> Result<FirstClaim, StoreError> {
        self.play(StoreCall::Claim, || self.inner.claim(claim, now)).await
    }

    async fn replace(&self, stored: Option<&JobRecord>, next: &JobRecord, guard: &Guard) -> Result<Replaced, StoreError> {
        self.play(StoreCall::Replace, || self.inner.replace(stored, next, guard)).await
    }
}
