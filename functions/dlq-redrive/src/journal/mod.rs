//! What operators did: runs, their verdicts, and the lock that lets one run work on a queue at a time.

pub mod conformance;
mod dynamodb;
mod memory;

use async_trait::async_trait;
use ikkai::clock::EpochMillis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::dynamodb::DynamoDbJournal;
pub use self::memory::{JournalFault, MemoryJournal};
use crate::protocol::{MessageVerdict, RunSummary};

/// A run, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What is told about it.
    pub summary: RunSummary,
    /// Digest of the request without its cursor: the same run id with another request is refused.
    pub request_digest: String,
    /// Parts that are over. The cursor names the number.
    pub parts: u32,
    /// When it began: orders the history.
    pub began_at: EpochMillis,
    /// What the engine needs to go on.
    pub progress: Value,
    /// The answer to the last part, for a caller that did not get it.
    pub last_answer: Option<Value>,
}

/// Keeps runs. Every write is conditional or may be repeated.
#[async_trait]
pub trait Journal: Send + Sync + 'static {
    /// Writes a new run, and its place in the history of its queues.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn begin(&self, run: &Run) -> Result<Begun, JournalError>;

    /// Writes a run on, if it still has `parts` parts.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn save(&self, run: &Run, parts: u32) -> Result<bool, JournalError>;

    /// Reads a run.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn find(&self, run_id: &str) -> Result<Option<Run>, JournalError>;

    /// Writes verdicts of a run down, as its page of this number; the same page again replaces it.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn add_verdicts(&self, run_id: &str, page: u32, verdicts: &[MessageVerdict]) -> Result<(), JournalError>;

    /// The verdicts of a run in order, at most `max` of them.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn verdicts(&self, run_id: &str, max: usize) -> Result<Vec<MessageVerdict>, JournalError>;

    /// The runs on a queue, the last first, at most `max` of them.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn history(&self, queue: &str, max: usize) -> Result<Vec<RunSummary>, JournalError>;

    /// Takes a queue for a run until `until`, or takes it for longer. A lock whose time is over is free.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn lock(&self, queue: &str, run_id: &str, until: EpochMillis, now: EpochMillis) -> Result<Locked, JournalError>;

    /// Lets a queue go, if the run still has it.
    ///
    /// # Errors
    /// When the table does not answer.
    async fn unlock(&self, queue: &str, run_id: &str) -> Result<(), JournalError>;
}

/// Answer of [`Journal::begin`].
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// The run is new.
    New,
    /// There is a run of this id.
    Exists(Box<Run>),
}

/// Answer of [`Journal::lock`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locked {
    /// The queue is this run's.
    Yes,
    /// Another run has it, until then.
    HeldBy {
        /// The other run.
        run_id: String,
        /// The end of its time.
        until: EpochMillis,
    },
}

/// Why the journal did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Permission is missing.
    #[error("the function may not {operation} on the redrive table; check its role")]
    Denied {
        /// The operation.
        operation: &'static str,
    },
    /// No answer, throttled, or refused.
    #[error("the redrive table could not be reached for {operation} ({code})")]
    Unavailable {
        /// The operation.
        operation: &'static str,
        /// The service's error code, or what happened.
        code: String,
    },
    /// A stored item cannot be understood.
    #[error("an item of the redrive table cannot be understood: {problem}")]
    Corrupt {
        /// What is wrong with it.
        problem: String,
    },
}
