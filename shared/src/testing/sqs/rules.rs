//! How a queue in memory is set up.

use std::time::Duration;

/// Settings of a queue. A name that ends in `.fifo` makes it a FIFO queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueRules {
    /// How long messages are kept, from their sending on. SQS's longest, 14 days, unless said otherwise.
    pub retention: Duration,
    /// Where messages go that were received too often.
    pub dead_letters: Option<DeadLetterRule>,
    /// FIFO: whether messages without a deduplication id get one from their body.
    pub content_based_deduplication: bool,
}

/// SQS's redrive policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterRule {
    /// Name of the dead-letter queue.
    pub queue: String,
    /// So many receives are allowed. The message moves at the next one.
    pub max_receives: u32,
}

impl Default for QueueRules {
    fn default() -> Self {
        Self { retention: Duration::from_secs(14 * 86_400), dead_letters: None, content_based_deduplication: false }
    }
}

impl QueueRules {
    /// Messages go to `queue` after `max_receives` receives.
    #[must_use]
    pub fn dead_letters(mut self, queue: &str, max_receives: u32) -> Self {
        self.dead_letters = Some(DeadLetterRule { queue: queue.to_owned(), max_receives });
        self
    }

    /// Messages are kept for this long.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }
}
