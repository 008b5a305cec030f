//! The queues of a stack, with their dead-letter queues.

use std::sync::Arc;

use ikkai::job::JobKind;
use ikkai::queue::{Inbox, QueueName};

use crate::protocol::{Refusal, RefusalCode};

/// A queue of the stack.
#[derive(Clone)]
pub struct StackQueue {
    /// Its name in the stack, such as `email`.
    pub name: String,
    /// The type of its jobs.
    pub kind: &'static JobKind,
    /// Its name in SQS.
    pub queue_name: QueueName,
    /// Its dead-letter queue's name in SQS.
    pub dead_letter_queue_name: QueueName,
    /// Where messages are put back.
    pub queue: Arc<dyn Inbox>,
    /// Where they are taken from.
    pub dead_letters: Arc<dyn Inbox>,
}

impl std::fmt::Debug for StackQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StackQueue").field("name", &self.name).field("queue_name", &self.queue_name).finish_non_exhaustive()
    }
}

/// All queues of the stack.
#[derive(Debug, Clone, Default)]
pub struct StackQueues(Vec<StackQueue>);

impl StackQueues {
    /// The stack's queues, in the order in which they are shown.
    #[must_use]
    pub fn new(queues: Vec<StackQueue>) -> Self {
        Self(queues)
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[StackQueue] {
        &self.0
    }

    /// The queue of a name, or all of them for `all`.
    ///
    /// # Errors
    /// When the stack has no such queue.
    pub fn chosen(&self, name: &str) -> Result<Vec<&StackQueue>, Refusal> {
        if name == "all" {
            return Ok(self.0.iter().collect());
        }
        match self.0.iter().find(|queue| queue.name == name) {
            Some(queue) => Ok(vec![queue]),
            None => {
                let known = self.0.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>().join(", ");
                let message = format!("this stack has no queue of that name; it has {known}, and `all` means each of them");
                Err(Refusal::new(RefusalCode::UnknownQueue, message))
            }
        }
    }

    /// The queue whose jobs are of this type.
    #[must_use]
    pub fn of_type(&self, job_type: &str) -> Option<&StackQueue> {
        self.0.iter().find(|queue| queue.kind.job_type == job_type)
    }

    /// The queue of this name in SQS: where SQS moved a message from.
    #[must_use]
    pub fn of_source(&self, source: &QueueName) -> Option<&StackQueue> {
        self.0.iter().find(|queue| queue.queue_name == *source)
    }
}
