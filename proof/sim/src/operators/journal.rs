//! The operators' journal, whose calls go wrong as well.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dlq_redrive::journal::{Begun, Journal, JournalError, Locked, MemoryJournal, Run};
use dlq_redrive::protocol::{MessageVerdict, RunSummary};
use ikkai::clock::EpochMillis;

use crate::fault::Fault;
use crate::world::World;

/// What all operators of a stack write into.
pub(crate) type Books = Arc<MemoryJournal>;

/// The journal as one operator's function sees it.
pub(super) struct TroubledJournal {
    pub(super) world: Arc<World>,
    pub(super) inner: Books,
}

impl TroubledJournal {
    async fn call<T>(&self, asked: impl Future<Output = Result<T, JournalError>>) -> Result<T, JournalError> {
        let world = &self.world;
        world.called();
        tokio::time::sleep(world.some_time(Duration::from_millis(2), Duration::from_millis(15))).await;
        let fails = world.allows(Fault::JournalFailed) && world.roll(|dice| dice.u32(0..1_000)) < world.plan.calls_in_trouble;
        if !fails {
            return asked.await;
        }
        world.happened(Fault::JournalFailed);
        if world.roll(fastrand::Rng::bool) {
            drop(asked.await);
        }
        Err(JournalError::Unavailable { operation: "a call", code: "no answer".to_owned() })
    }
}

#[async_trait]
impl Journal for TroubledJournal {
    async fn begin(&self, run: &Run) -> Result<Begun, JournalError> {
        self.call(self.inner.begin(run)).await
    }

    async fn save(&self, run: &Run, parts: u32) -> Result<bool, JournalError> {
        self.call(self.inner.save(run, parts)).await
    }

    async fn find(&self, run_id: &str) -> Result<Option<Run>, JournalError> {
        self.call(self.inner.find(run_id)).await
    }

    async fn add_verdicts(&self, run_id: &str, page: u32, verdicts: &[MessageVerdict]) -> Result<(), JournalError> {
        self.call(self.inner.add_verdicts(run_id, page, verdicts)).await
    }

    async fn verdicts(&self, run_id: &str, max: usize) -> Result<Vec<MessageVerdict>, JournalError> {
        self.call(self.inner.verdicts(run_id, max)).await
    }

    async fn history(&self, queue: &str, max: usize) -> Result<Vec<RunSummary>, JournalError> {
        self.call(self.inner.history(queue, max)).await
    }

    async fn lock(&self, queue: &str, run_id: &str, until: EpochMillis, now: EpochMillis) -> Result<Locked, JournalError> {
        self.call(self.inner.lock(queue, run_id, until, now)).await
    }

    async fn unlock(&self, queue: &str, run_id: &str) -> Result<(), JournalError> {
        self.call(self.inner.unlock(queue, run_id)).await
    }
}
