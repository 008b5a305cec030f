//! The table as one caller sees it: calls take time, and go wrong.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use ikkai::clock::EpochMillis;
use ikkai::idempotency::{Claim, Created, FirstClaim, Guard, JobRecord, JobStore, Replaced, Status, StoreError};
use ikkai::job::JobId;

use crate::actor::{Actor, Step};
use crate::fault::Fault;
use crate::world::World;

/// What may go wrong with a read, and with a write.
const OF_READS: [Fault; 4] = [Fault::TableThrottled, Fault::TableFailed, Fault::TableTimedOut, Fault::TableSlow];
const OF_WRITES: [Fault; 7] = [
    Fault::TableThrottled,
    Fault::TableFailed,
    Fault::TableTimedOut,
    Fault::TableSlow,
    Fault::TableAnswerLost,
    Fault::TableWriteRepeated,
    Fault::TableWriteLate,
];

/// One caller's way to the table.
pub(crate) struct TroubledTable {
    pub(crate) world: Arc<World>,
    pub(crate) actor: Arc<Actor>,
    pub(crate) inner: Arc<dyn JobStore>,
}

impl TroubledTable {
    /// A write. `late` is the same on its way, when nobody waits for it any more.
    async fn write<T, F>(&self, done: impl Fn() -> F, late: impl FnOnce() -> BoxFuture<'static, ()>) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let fault = self.actor.draw(&self.world, &OF_WRITES);
        self.actor.begin(Step::WriteSent);
        self.world.pause(2, 12).await;
        let refused = match fault {
            Some(Fault::TableThrottled) => Some(StoreError::Throttled { operation: "a write" }),
            Some(Fault::TableFailed) => Some(unreachable("InternalServerError")),
            Some(Fault::TableTimedOut) => {
                self.world.pause(500, 6_000).await;
                Some(unreachable("timed out"))
            }
            Some(Fault::TableWriteLate) => {
                let delay = self.world.some_time(Duration::from_secs(1), Duration::from_secs(20));
                let late = late();
                tokio::spawn(async move {
                    tokio::time::sleep(delay).await;
                    late.await;
                });
                self.world.pause(200, 1_000).await;
                Some(unreachable("connection reset"))
            }
            Some(Fault::TableSlow) => {
                self.world.pause(500, 8_000).await;
                None
            }
            _ => None,
        };
        self.actor.end(Step::WriteSent);
        if let Some(error) = refused {
            return Err(error);
        }
        let mut answer = done().await?;
        self.actor.begin(Step::WriteDone);
        tokio::task::yield_now().await;
        if fault == Some(Fault::TableWriteRepeated) {
            self.world.pause(50, 2_000).await;
            answer = done().await?;
        }
        if fault == Some(Fault::TableAnswerLost) {
            self.world.pause(50, 4_000).await;
        }
        self.actor.end(Step::WriteDone);
        if fault == Some(Fault::TableAnswerLost) { Err(unreachable("the answer was lost")) } else { Ok(answer) }
    }
}

fn unreachable(what: &str) -> StoreError {
    StoreError::Unreachable { operation: "a call", code: what.to_owned(), source: what.into() }
}

#[async_trait]
impl JobStore for TroubledTable {
    async fn get(&self, job_id: &JobId) -> Result<Option<JobRecord>, StoreError> {
        let fault = self.actor.draw(&self.world, &OF_READS);
        self.world.pause(1, 8).await;
        match fault {
            Some(Fault::TableThrottled) => Err(StoreError::Throttled { operation: "a read" }),
            Some(Fault::TableFailed) => Err(unreachable("InternalServerError")),
            Some(Fault::TableTimedOut) => {
                self.world.pause(500, 6_000).await;
                Err(unreachable("timed out"))
            }
            Some(Fault::TableSlow) => {
                self.world.pause(500, 8_000).await;
                self.inner.get(job_id).await
            }
            _ => self.inner.get(job_id).await,
        }
    }

    async fn create(&self, record: &JobRecord, now: EpochMillis) -> Result<Created, StoreError> {
        let late = || {
            let (inner, record) = (self.inner.clone(), record.clone());
            async move { drop(inner.create(&record, now).await) }.boxed()
        };
        let created = self.write(|| self.inner.create(record, now), late).await;
        self.told("create", &record.job_id, &created, |created| matches!(created, Created::New));
        created
    }

    async fn claim(&self, claim: &Claim, now: EpochMillis) -> Result<FirstClaim, StoreError> {
        let late = || {
            let (inner, claim) = (self.inner.clone(), claim.clone());
            async move { drop(inner.claim(&claim, now).await) }.boxed()
        };
        let claimed = self.write(|| self.inner.claim(claim, now), late).await;
        self.told("claim", &claim.job_id, &claimed, |claimed| matches!(claimed, FirstClaim::Started(_)));
        claimed
    }

    async fn replace(&self, stored: Option<&JobRecord>, next: &JobRecord, guard: &Guard) -> Result<Replaced, StoreError> {
        let late = || {
            let (inner, stored, next, guard) = (self.inner.clone(), stored.cloned(), next.clone(), guard.clone());
            async move { drop(inner.replace(stored.as_ref(), &next, &guard).await) }.boxed()
        };
        let replaced = self.write(|| self.inner.replace(stored, next, guard), late).await;
        if next.status == Status::RetryScheduled && matches!(replaced, Ok(Replaced::Written)) {
            self.actor.gives_back(&next.job_id, self.world.now());
        }
        self.told(next.status.as_str(), &next.job_id, &replaced, |replaced| matches!(replaced, Replaced::Written));
        replaced
    }
}

impl TroubledTable {
    fn told<T>(&self, what: &str, job_id: &JobId, answer: &Result<T, StoreError>, won: impl Fn(&T) -> bool) {
        for law in self.world.table.broken() {
            self.world.broken(law);
        }
        self.world.tell(&self.actor.name, || {
            let said = match answer {
                Ok(answer) if won(answer) => "done".to_owned(),
                Ok(_) => "refused".to_owned(),
                Err(error) => error.code().to_owned(),
            };
            format!("{what} {job_id}: {said}")
        });
    }
}
