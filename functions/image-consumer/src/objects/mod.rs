//! Where originals come from and outputs go: the seam to the bucket, what can go wrong there, and a double for tests.

mod failure;
mod memory;
mod s3;

use async_trait::async_trait;
use bytes::Bytes;
use ikkai::job::VersionId;

pub use self::{
    failure::ObjectError,
    memory::{MemoryObjects, ObjectCall},
    s3::S3Objects,
};

/// Reads and writes objects.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Begins to read an object: its length is known, its bytes are still to come.
    ///
    /// # Errors
    /// When there is no such object, or it cannot be read now.
    async fn open(&self, at: &ObjectAddress) -> Result<Box<dyn Download>, ObjectError>;

    /// Writes an object, over the one that may be there. Doing it twice is doing it once.
    ///
    /// # Errors
    /// When it is not known to be written.
    async fn put(&self, object: NewObject) -> Result<(), ObjectError>;
}

/// An object that is being read.
#[async_trait]
pub trait Download: Send {
    /// How many bytes it has.
    fn length(&self) -> u64;

    /// All of them.
    ///
    /// # Errors
    /// When the connection breaks before the last one.
    async fn read(self: Box<Self>) -> Result<Bytes, ObjectError>;
}

/// Which object. Its key is somebody's name for a file: it does not show in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectAddress {
    /// The bucket.
    pub bucket: String,
    /// The key.
    pub key: String,
    /// The version; without it the newest.
    pub version_id: Option<VersionId>,
}

impl std::fmt::Debug for ObjectAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectAddress").finish_non_exhaustive()
    }
}

/// An object to be written.
#[derive(Clone, PartialEq, Eq)]
pub struct NewObject {
    /// The bucket.
    pub bucket: String,
    /// The key.
    pub key: String,
    /// Its media type.
    pub content_type: &'static str,
    /// How long caches may keep it.
    pub cache_control: String,
    /// Its bytes.
    pub bytes: Bytes,
}

impl std::fmt::Debug for NewObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewObject")
            .field("content_type", &self.content_type)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
