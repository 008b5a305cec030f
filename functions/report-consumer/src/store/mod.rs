//! Where reports and their drafts are kept.

mod memory;
mod s3;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use self::{
    memory::{MemoryReportStore, StoreCall},
    s3::S3ReportStore,
};

/// What an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectKind {
    /// A table, saved under this file name.
    Csv(String),
    /// A page.
    Html,
    /// A draft that nobody but this function reads.
    Draft,
}

/// An object to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its key in the bucket.
    pub key: String,
    /// What it is.
    pub kind: ObjectKind,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// A part of an upload that the store has taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadedPart {
    /// Its number, from one.
    pub number: i32,
    /// The store's name for its content.
    pub etag: String,
    /// Its checksum, where the store keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32: Option<String>,
}

/// Keeps objects; large ones are written part by part, over several invocations. Every operation may be repeated: it replaces what the
/// first try wrote.
#[async_trait]
pub trait ReportStore: Send + Sync + 'static {
    /// Smallest part of an upload, except for its last one, in bytes.
    fn least_part_bytes(&self) -> usize;

    /// Writes an object as a whole.
    ///
    /// # Errors
    /// When the store refuses or does not answer; it may have been written all the same.
    async fn put(&self, object: Object) -> Result<(), ReportStoreError>;

    /// Reads an object; `None` when there is none.
    ///
    /// # Errors
    /// When the store refuses or does not answer.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, ReportStoreError>;

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// When the store refuses or does not answer.
    async fn delete(&self, key: &str) -> Result<(), ReportStoreError>;

    /// Begins an upload and names it. The object appears when the upload is completed.
    ///
    /// # Errors
    /// When the store refuses or does not answer.
    async fn begin_upload(&self, key: &str, kind: &ObjectKind) -> Result<String, ReportStoreError>;

    /// Uploads a part; the same number again replaces it.
    ///
    /// # Errors
    /// [`ReportStoreError::UploadGone`] when there is no such upload; or the store refuses or does not answer.
    async fn upload_part(&self, key: &str, upload: &str, number: i32, body: Vec<u8>) -> Result<UploadedPart, ReportStoreError>;

    /// Makes the object of these parts.
    ///
    /// # Errors
    /// [`ReportStoreError::UploadGone`] when there is no such upload, or its parts are not these; or the store refuses or does not answer.
    async fn complete_upload(&self, key: &str, upload: &str, parts: &[UploadedPart]) -> Result<(), ReportStoreError>;

    /// Gives an upload up, if it is there.
    ///
    /// # Errors
    /// When the store refuses or does not answer.
    async fn abort_upload(&self, key: &str, upload: &str) -> Result<(), ReportStoreError>;
}

/// Why the store did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportStoreError {
    /// Too many requests.
    #[error("the reports bucket asks to slow down")]
    Throttled,
    /// The upload was completed, given up or removed, or its parts were replaced.
    #[error("the report's upload is gone; the report begins anew")]
    UploadGone,
    /// Permission is missing, or the bucket does not exist. Only an operator can change that.
    #[error(
        "the report may not {operation} in the reports bucket ({code}); check the function's role and IKKAI_REPORTS_BUCKET, \
         its reports wait"
    )]
    Refused {
        /// The operation.
        operation: &'static str,
        /// The service's error code.
        code: String,
    },
    /// S3 cannot be reached, or says that the failure is its own.
    #[error("the reports bucket cannot be used now for {operation} ({code})")]
    Outage {
        /// The operation.
        operation: &'static str,
        /// The service's error code, or what happened.
        code: String,
    },
    /// No answer in time, which may be for want of the function's own network, or none that can be used.
    #[error("the reports bucket did not answer {operation} ({code})")]
    Unavailable {
        /// The operation.
        operation: &'static str,
        /// The service's error code, or what happened.
        code: String,
    },
}

impl ReportStoreError {
    /// Stable machine name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Throttled => "reports_throttled",
            Self::UploadGone => "reports_upload_gone",
            Self::Refused { .. } => "reports_refused",
            Self::Outage { .. } => "reports_outage",
            Self::Unavailable { .. } => "reports_unavailable",
        }
    }
}
