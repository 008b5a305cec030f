//! The heartbeat of a batch: extends the visibility of its messages and the leases of its jobs together.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::clock::Clock;
use crate::consumer::Claimed;
use crate::queue::{MAX_ENTRIES, Queue, QueueError, VisibilityChange};

/// Extends what the batch holds, every third of a chunk.
///
/// A tick holds the list while its calls are out, and [`release`](Self::release) waits for the list: so once a job is released no
/// extension of it is on its way any more, and the visibility that its settlement sets is the last one.
pub(crate) struct Heartbeat {
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    chunk: Duration,
    skew: Duration,
    margin: Duration,
    call_timeout: Duration,
    held: Mutex<Vec<Held>>,
}

/// One message and its job.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) receipt_handle: String,
    pub(crate) claimed: Arc<Claimed>,
}

impl Heartbeat {
    pub(crate) fn new(queue: Arc<dyn Queue>, clock: Arc<dyn Clock>, chunk: Duration, skew: Duration, margin: Duration) -> Self {
        let call_timeout = chunk / 3;
        Self { queue, clock, chunk, skew, margin, call_timeout, held: Mutex::new(Vec::new()) }
    }

    /// Time between two ticks: a lease survives two lost ones.
    fn interval(&self) -> Duration {
        self.chunk / 3
    }

    pub(crate) async fn hold(&self, held: Held) {
        self.held.lock().await.push(held);
    }

    /// Stops extending this job and waits for a call that is out.
    pub(crate) async fn release(&self, claimed: &Arc<Claimed>) {
        self.held.lock().await.retain(|held| !Arc::ptr_eq(&held.claimed, claimed));
    }

    /// Beats until it is dropped.
    pub(crate) async fn beat(&self) {
        loop {
            tokio::time::sleep(self.interval()).await;
            self.tick().await;
        }
    }

    async fn tick(&self) {
        let held = self.held.lock().await;
        let lease_until = self.clock.now() + self.chunk + self.skew;
        let visible_in = self.chunk + self.skew + self.margin;
        let leases = futures::future::join_all(held.iter().map(|held| async {
            let renewed = tokio::time::timeout(self.call_timeout, held.claimed.renew(lease_until)).await;
            if renewed == Ok(false) {
                held.claimed.set_lost();
            }
        }));
        let messages = async {
            for batch in held.chunks(MAX_ENTRIES) {
                self.extend(batch, visible_in).await;
            }
        };
        futures::future::join(leases, messages).await;
    }

    async fn extend(&self, batch: &[Held], visible_in: Duration) {
        let changes: Vec<_> =
            batch.iter().map(|held| VisibilityChange { receipt_handle: held.receipt_handle.clone(), visible_in }).collect();
        match tokio::time::timeout(self.call_timeout, self.queue.change_visibility(&changes)).await {
            Ok(Ok(verdicts)) => {
                for (held, verdict) in batch.iter().zip(verdicts) {
                    if verdict == Err(QueueError::ReceiptLost) {
                        held.claimed.set_lost();
                    }
                }
            }
            Ok(Err(error)) => tracing::warn!(error = %error, "visibility call failed"),
            Err(_) => tracing::warn!(error = "no answer in time", "visibility call failed"),
        }
    }
}
