//! Where discarded messages are kept.

mod memory;
mod s3;

use async_trait::async_trait;
use serde_json::Value;

pub use self::memory::{ArchiveFault, MemoryArchive};
pub use self::s3::S3Archive;

/// Keeps what is removed from queues.
#[async_trait]
pub trait Archive: Send + Sync + 'static {
    /// Writes a document under a key. It is there for good when this returns.
    ///
    /// # Errors
    /// When the archive refuses or does not answer.
    async fn put(&self, key: &str, document: &Value) -> Result<(), ArchiveError>;

    /// Where a key's document is, for people: `s3://bucket/key`.
    fn place(&self, key: &str) -> String;
}

/// Why something was not archived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the archive did not take the message ({code}); nothing was removed")]
pub struct ArchiveError {
    /// The service's error code, or what happened.
    pub code: String,
}
