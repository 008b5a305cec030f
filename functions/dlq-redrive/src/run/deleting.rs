//! Removing messages from a dead-letter queue.

use ikkai::queue::{MAX_ENTRIES, QueueError};

use super::page::PAUSE;
use super::part::Part;
use crate::queues::StackQueue;

impl Part<'_> {
    /// Deletes received messages; whether each of them is gone, in order. To delete a message twice does no harm, so what failed
    /// is tried again.
    pub(super) async fn delete(&mut self, queue: &StackQueue, receipt_handles: &[String]) -> Vec<Result<(), QueueError>> {
        let verdicts = self.waited_for(delete_twice(queue, receipt_handles)).await;
        let verdicts = verdicts.unwrap_or_else(|| vec![Err(silence()); receipt_handles.len()]);
        self.progress.gone += verdicts.iter().filter(|verdict| verdict.is_ok()).count() as u64;
        verdicts
    }
}

async fn delete_twice(queue: &StackQueue, receipt_handles: &[String]) -> Vec<Result<(), QueueError>> {
    let mut verdicts = delete_all(queue, receipt_handles).await;
    let again: Vec<_> = (0..verdicts.len()).filter(|index| may_pass(&verdicts[*index])).collect();
    if !again.is_empty() {
        tokio::time::sleep(PAUSE).await;
        let handles: Vec<_> = again.iter().map(|index| receipt_handles[*index].clone()).collect();
        for (index, verdict) in again.into_iter().zip(delete_all(queue, &handles).await) {
            verdicts[index] = verdict;
        }
    }
    verdicts
}

async fn delete_all(queue: &StackQueue, receipt_handles: &[String]) -> Vec<Result<(), QueueError>> {
    let mut verdicts = Vec::with_capacity(receipt_handles.len());
    for handles in receipt_handles.chunks(MAX_ENTRIES) {
        verdicts.extend(delete_page(queue, handles).await);
    }
    verdicts
}

fn silence() -> QueueError {
    QueueError::Unavailable { operation: "DeleteMessageBatch", code: "no verdict for this entry".to_owned() }
}

/// One verdict a handle, whatever is answered.
async fn delete_page(queue: &StackQueue, handles: &[String]) -> Vec<Result<(), QueueError>> {
    let mut verdicts = match queue.dead_letters.delete(handles).await {
        Ok(verdicts) => verdicts,
        Err(error) => vec![Err(error); handles.len()],
    };
    verdicts.resize_with(handles.len(), || Err(silence()));
    verdicts
}

const fn may_pass(verdict: &Result<(), QueueError>) -> bool {
    matches!(verdict, Err(QueueError::Unavailable { .. }))
}
