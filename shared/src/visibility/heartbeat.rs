//! The heartbeat of a batch: keeps its messages invisible and the leases of its running jobs alive.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::clock::{Clock, EpochMillis};
use crate::consumer::Claimed;
use crate::queue::{MAX_ENTRIES, Queue, QueueError, VisibilityChange, change_each};

/// Extends what the batch holds, every third of a chunk: the leases of the jobs that run, and the visibility of every message until the
/// batch is answered, also of those that wait for their turn or are through already.
///
/// A tick holds the list while its calls are out, and [`release`](Self::release) and [`stop`](Self::stop) wait for the list: so once a job
/// is released no extension of its lease is on its way any more, and after the stop the visibility that is set next is the last one.
pub(crate) struct Heartbeat {
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    pace: Pace,
    held: Mutex<Held>,
}

/// The times of a heartbeat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Length of a lease.
    pub(crate) chunk: Duration,
    /// How far clocks may differ.
    pub(crate) skew: Duration,
    /// How much longer than its lease a message stays invisible.
    pub(crate) margin: Duration,
    /// No call is out after this moment.
    pub(crate) calls_end: EpochMillis,
}

#[derive(Default)]
struct Held {
    receipts: Vec<String>,
    leases: Vec<HeldLease>,
}

struct HeldLease {
    receipt: Option<String>,
    claimed: Arc<Claimed>,
}

impl Heartbeat {
    /// A heartbeat for the messages with these receipts.
    pub(crate) fn new(queue: Arc<dyn Queue>, clock: Arc<dyn Clock>, pace: Pace, receipts: Vec<String>) -> Self {
        Self { queue, clock, pace, held: Mutex::new(Held { receipts, leases: Vec::new() }) }
    }

    /// Time between two ticks: a lease survives two lost ones.
    fn interval(&self) -> Duration {
        self.pace.chunk / 3
    }

    /// Extends the lease of a job from now on. It is lost with its message's receipt.
    pub(crate) async fn hold(&self, receipt: Option<String>, claimed: Arc<Claimed>) {
        self.held.lock().await.leases.push(HeldLease { receipt, claimed });
    }

    /// Stops extending this job's lease and waits for a call that is out. Its message stays invisible until the batch is answered.
    pub(crate) async fn release(&self, claimed: &Arc<Claimed>) {
        self.held.lock().await.leases.retain(|lease| !Arc::ptr_eq(&lease.claimed, claimed));
    }

    /// Stops extending anything and waits for a call that is out.
    pub(crate) async fn stop(&self) {
        *self.held.lock().await = Held::default();
    }

    /// Beats until it is dropped.
    pub(crate) async fn beat(&self) {
        loop {
            tokio::time::sleep(self.interval()).await;
            self.tick().await;
        }
    }

    async fn tick(&self) {
        let mut held = self.held.lock().await;
        let now = self.clock.now();
        let call_timeout = self.interval().min(self.pace.calls_end.since(now));
        let lease_until = now + self.pace.chunk + self.pace.skew;
        let leases = futures::future::join_all(held.leases.iter().map(|lease| async {
            let renewed = tokio::time::timeout(call_timeout, lease.claimed.renew(lease_until)).await;
            if renewed == Ok(false) || lease.claimed.lease_is_over(self.clock.now()) {
                lease.claimed.set_lost();
            }
        }));
        let messages = futures::future::join_all(held.receipts.chunks(MAX_ENTRIES).map(|batch| self.extend(batch, call_timeout)));
        let (_, lost) = futures::future::join(leases, messages).await;
        for receipt in lost.into_iter().flatten() {
            held.receipts.retain(|kept| *kept != receipt);
            held.leases
                .iter()
                .filter(|lease| lease.receipt.as_ref() == Some(&receipt))
                .for_each(|lease| lease.claimed.set_lost());
        }
    }

    /// Extends the visibility of up to ten messages and answers which receipts are lost.
    async fn extend(&self, receipts: &[String], call_timeout: Duration) -> Vec<String> {
        let visible_in = self.pace.chunk + self.pace.skew + self.pace.margin;
        let changes: Vec<_> =
            receipts.iter().map(|receipt| VisibilityChange { receipt_handle: receipt.clone(), visible_in }).collect();
        match tokio::time::timeout(call_timeout, change_each(self.queue.as_ref(), &changes)).await {
            Ok(Ok(verdicts)) => {
                let lost = receipts.iter().zip(verdicts).filter(|(_, verdict)| *verdict == Err(QueueError::ReceiptLost));
                lost.map(|(receipt, _)| receipt.clone()).collect()
            }
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "visibility call failed");
                Vec::new()
            }
            Err(_) => {
                tracing::warn!(error = "no answer in time", "visibility call failed");
                Vec::new()
            }
        }
    }
}
