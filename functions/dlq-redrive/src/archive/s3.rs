//! The archive in S3.

use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::ChecksumAlgorithm;
use serde_json::Value;

use super::{Archive, ArchiveError};

/// Keeps documents below a prefix of a bucket, encrypted as the bucket says. S3 checks each of them against the checksum that is sent along
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html>).
#[derive(Debug, Clone)]
pub struct S3Archive {
    client: Client,
    bucket: String,
    prefix: String,
}

impl S3Archive {
    /// An archive in `bucket`, below `prefix`.
    #[must_use]
    pub fn new(client: Client, bucket: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self { client, bucket: bucket.into(), prefix: prefix.into() }
    }
}

#[async_trait]
impl Archive for S3Archive {
    async fn put(&self, key: &str, document: &Value) -> Result<(), ArchiveError> {
        let put = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(format!("{}{key}", self.prefix))
            .content_type("application/json")
            .checksum_algorithm(ChecksumAlgorithm::Crc32)
            .body(ByteStream::from(document.to_string().into_bytes()))
            .send();
        Box::pin(put).await.map(drop).map_err(|error| ArchiveError { code: code(&error).to_owned() })
    }

    fn place(&self, key: &str) -> String {
        format!("s3://{}/{}{key}", self.bucket, self.prefix)
    }
}

fn code<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> &str {
    error.code().unwrap_or(match error {
        SdkError::TimeoutError(_) => "timed out",
        SdkError::DispatchFailure(_) => "no connection",
        _ => "no readable answer",
    })
}
