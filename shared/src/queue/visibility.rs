//! Visibility of several messages in one call, with a fallback for queues that refuse the whole call for one bad receipt.

use super::queue_api::{Queue, QueueError, VisibilityChange};

/// Changes the visibility of up to ten messages; one verdict an entry, in order.
///
/// SQS answers for each entry. Some emulators refuse the whole call when one receipt is bad; then each message is tried by itself, so
/// that the others do not suffer.
///
/// # Errors
/// When the queue did not answer.
pub async fn change_each(queue: &dyn Queue, changes: &[VisibilityChange]) -> Result<Vec<Result<(), QueueError>>, QueueError> {
    match queue.change_visibility(changes).await {
        Err(error @ (QueueError::ReceiptLost | QueueError::Refused { .. })) if changes.len() <= 1 => Ok(vec![Err(error)]),
        Err(QueueError::ReceiptLost | QueueError::Refused { .. }) => {
            let single = changes.iter().map(|change| async move {
                let verdicts = queue.change_visibility(std::slice::from_ref(change)).await?;
                verdicts.into_iter().next().unwrap_or(Ok(()))
            });
            Ok(futures::future::join_all(single).await)
        }
        answered => answered,
    }
}
