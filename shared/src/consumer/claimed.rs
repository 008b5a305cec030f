//! A job this worker holds the lease of.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use serde_json::Value;
use tokio::sync::{Mutex, Notify};

use super::failure::Failure;
use crate::clock::EpochMillis;
use crate::idempotency::{Event, Guard, JobRecord, Ledger, StoreError, Verdict};

/// The record of a running job as its owner knows it. Handler, heartbeat and settlement write through here, one at a time.
#[derive(Debug)]
pub(crate) struct Claimed {
    ledger: Ledger,
    token: String,
    /// Progress of the runs before.
    came_with: Option<Value>,
    record: Mutex<JobRecord>,
    /// End of the lease as it was written last, in epoch milliseconds.
    lease_until: AtomicI64,
    effect_begun: AtomicBool,
    has_progressed: AtomicBool,
    is_lost: AtomicBool,
    lost: Notify,
}

impl Claimed {
    pub(crate) fn new(ledger: Ledger, token: String, record: JobRecord) -> Self {
        Self {
            ledger,
            token,
            came_with: record.progress.clone(),
            lease_until: AtomicI64::new(end_of_lease(&record).as_i64()),
            record: Mutex::new(record),
            effect_begun: AtomicBool::new(false),
            has_progressed: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            lost: Notify::new(),
        }
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn effect_begun(&self) -> bool {
        self.effect_begun.load(Ordering::Acquire)
    }

    pub(super) async fn begin_effect(&self, lease_until: EpochMillis) -> Result<(), Failure> {
        if self.is_lost.load(Ordering::Acquire) {
            return Err(Failure::lease_lost());
        }
        match self.apply(&Event::BeginEffect { token: self.token.clone(), lease_until }).await {
            Ok(Verdict::Done(_)) => {
                self.effect_begun.store(true, Ordering::Release);
                Ok(())
            }
            Ok(_) => Err(Failure::lease_lost()),
            // Written or not, the effect does not start, so this settles as an ordinary failure; and it takes the note away that may be
            // there, which it can only do if this copy of the record has it.
            Err(error) => {
                self.record.lock().await.effect_begun = true;
                Err(Failure::retry(error.code(), error.to_string()).before_effect())
            }
        }
    }

    /// Whether this run saved progress that is new.
    pub(super) fn has_progressed(&self) -> bool {
        self.has_progressed.load(Ordering::Acquire)
    }

    pub(super) async fn save_progress(&self, progress: Value) -> Result<(), Failure> {
        if self.is_lost.load(Ordering::Acquire) {
            return Err(Failure::lease_lost());
        }
        let is_new = self.came_with.as_ref() != Some(&progress);
        let mut record = self.record.lock().await;
        // Until the write is answered nobody knows what is stored. So it is derived from a record without progress, which makes it mention
        // the attribute always; and the copy that stays behind has some, so that a success removes it whatever became of this write.
        let mut written = JobRecord { progress: None, ..record.clone() };
        record.progress = Some(progress.clone());
        match self.apply_to(&mut written, &Event::SaveProgress { token: self.token.clone(), progress }).await {
            Ok(Verdict::Done(_)) => {
                *record = written;
                self.has_progressed.fetch_or(is_new, Ordering::AcqRel);
                Ok(())
            }
            Ok(_) => Err(Failure::lease_lost()),
            Err(error) => Err(Failure::retry(error.code(), error.to_string())),
        }
    }

    /// Extends the lease. `false`: it is lost.
    pub(crate) async fn renew(&self, lease_until: EpochMillis) -> bool {
        let renewed = self.apply(&Event::Renew { token: self.token.clone(), lease_until }).await;
        // Without an answer the lease may hold or not; the next tick asks again before it ends.
        !matches!(renewed, Ok(Verdict::LeaseLost | Verdict::Missing))
    }

    /// Applies an event of the lease's owner.
    pub(super) async fn apply(&self, event: &Event) -> Result<Verdict, StoreError> {
        self.apply_to(&mut *self.record.lock().await, event).await
    }

    async fn apply_to(&self, record: &mut JobRecord, event: &Event) -> Result<Verdict, StoreError> {
        let answer = self.ledger.apply_owned(record, event, Guard::Lease(self.token.clone())).await;
        self.lease_until.store(end_of_lease(record).as_i64(), Ordering::Release);
        answer
    }

    /// End of the lease, as far as this worker knows.
    pub(super) fn lease_until(&self) -> EpochMillis {
        EpochMillis::from_i64(self.lease_until.load(Ordering::Acquire))
    }

    /// Whether somebody else may own the job by now.
    pub(crate) fn lease_is_over(&self, now: EpochMillis) -> bool {
        self.lease_until() < now
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// The receipt or the lease is gone: whoever waits in [`Self::lost`] is told.
    pub(crate) fn set_lost(&self) {
        self.is_lost.store(true, Ordering::Release);
        self.lost.notify_waiters();
    }

    /// Resolves once the receipt or the lease is gone.
    pub(super) async fn lost(&self) {
        let told = self.lost.notified();
        if !self.is_lost.load(Ordering::Acquire) {
            told.await;
        }
    }
}

fn end_of_lease(record: &JobRecord) -> EpochMillis {
    record.lease_until.unwrap_or(record.updated_at)
}
