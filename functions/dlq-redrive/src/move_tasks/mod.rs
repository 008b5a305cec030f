//! SQS's own redrive.

mod scripted;
mod sqs;

use async_trait::async_trait;
use ikkai::queue::QueueName;

pub use self::scripted::ScriptedMoveTasks;
pub use self::sqs::SqsMoveTasks;

use crate::protocol::{MoveTask, Refusal};

/// Starts, lists and cancels SQS's message move tasks
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html>).
#[async_trait]
pub trait MoveTasks: Send + Sync + 'static {
    /// Starts moving everything from a dead-letter queue back to where it came from.
    ///
    /// # Errors
    /// When SQS refuses or does not answer; `unsupported` where the engine has no such operation.
    async fn start(&self, dead_letter_queue: &QueueName, rate_per_second: Option<u32>) -> Result<MoveTask, Refusal>;

    /// The last ten tasks, the youngest first.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    async fn list(&self, dead_letter_queue: &QueueName) -> Result<Vec<MoveTask>, Refusal>;

    /// Cancels a running task.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    async fn cancel(&self, task_handle: &str) -> Result<MoveTask, Refusal>;
}

/// Whether a task still moves messages, or may.
#[must_use]
pub fn is_active(task: &MoveTask) -> bool {
    !matches!(task.status.as_deref(), Some("COMPLETED" | "CANCELLED" | "FAILED"))
}
