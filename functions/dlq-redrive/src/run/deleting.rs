//! Removing messages from a dead-letter queue.

use ikkai::queue::{MAX_ENTRIES, QueueError};

use super::page::PAUSE;
use super::part::Part;
use crate::queues::StackQueue;

impl Part<'_> {
    /// Deletes received messages; whether each of them is gone, in order. To delete a message twice does no harm, so what failed
    /// is tried again.
    pub(super) async fn delete(&mut self, queue: &StackQueue, receipt_handles: &[String]) -> Vec<Result<(), QueueError>> {
        let mut verdicts = Vec::with_capacity(receipt_handles.len());
        for handles in receipt_handles.chunks(MAX_ENTRIES) {
            verdicts.extend(delete_page(queue, handles).await);
        }
        let again: Vec<_> = (0..verdicts.len()).filter(|index| may_pass(&verdicts[*index])).collect();
        if !again.is_empty() {
            tokio::time::sleep(PAUSE).await;
            let handles: Vec<_> = again.iter().map(|index| receipt_handles[*index].clone()).collect();
            let mut second = Vec::with_capacity(handles.len());
            for handles in handles.chunks(MAX_ENTRIES) {
                second.extend(delete_page(queue, handles).await);
            }
            for (index, verdict) in again.into_iter().zip(second) {
                verdicts[index] = verdict;
            }
        }
        self.progress.gone += verdicts.iter().filter(|verdict| verdict.is_ok()).count() as u64;
        verdicts
    }
}

/// One verdict a handle, whatever is answered.
async fn delete_page(queue: &StackQueue, handles: &[String]) -> Vec<Result<(), QueueError>> {
    let mut verdicts = match queue.dead_letters.delete(handles).await {
        Ok(verdicts) => verdicts,
        Err(error) => vec![Err(error); handles.len()],
    };
    let silence = || QueueError::Unavailable { operation: "DeleteMessageBatch", code: "no verdict for this entry".to_owned() };
    verdicts.resize_with(handles.len(), || Err(silence()));
    verdicts
}

const fn may_pass(verdict: &Result<(), QueueError>) -> bool {
    matches!(verdict, Err(QueueError::Unavailable { .. }))
}
