//! Reports in an S3 bucket.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use aws_sdk_s3::{
    Client,
    config::{Builder, timeout::TimeoutConfig},
    error::{ProvideErrorMetadata, SdkError},
    primitives::ByteStream,
    types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart},
};
use ikkai::aws::connections::never_connected;

use super::{Object, ObjectKind, ReportStore, ReportStoreError, UploadedPart};

/// How long one try of a request may take. A part has five megabytes and more, and a small function has a small share of the network.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a request may take with its repetitions.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(45);

/// Keeps reports in a bucket, encrypted as the bucket says. S3 checks each part and each object against the checksum that the SDK sends along
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html>).
#[derive(Clone)]
pub struct S3ReportStore {
    client: Client,
    bucket: String,
}

impl fmt::Debug for S3ReportStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3ReportStore").field("bucket", &self.bucket).finish_non_exhaustive()
    }
}

impl S3ReportStore {
    /// A store in `bucket`, with a client of its own made from the SDK configuration: its requests are larger than those of other clients and
    /// may take longer.
    #[must_use]
    pub fn new(config: Builder, bucket: impl Into<String>) -> Self {
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).operation_timeout(OPERATION_TIMEOUT);
        Self { client: Client::from_conf(config.timeout_config(timeouts.build()).build()), bucket: bucket.into() }
    }
}

impl ObjectKind {
    const fn content_type(&self) -> &'static str {
        match self {
            Self::Csv(_) => "text/csv; charset=utf-8; header=present",
            Self::Html => "text/html; charset=utf-8",
            Self::Draft => "application/octet-stream",
        }
    }

    /// File names hold what keys hold: nothing that would have to be quoted.
    fn disposition(&self) -> Option<String> {
        match self {
            Self::Csv(name) => Some(format!("attachment; filename=\"{name}\"")),
            Self::Html => Some("inline".to_owned()),
            Self::Draft => None,
        }
    }
}

#[async_trait]
impl ReportStore for S3ReportStore {
    /// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>
    fn least_part_bytes(&self) -> usize {
        5 * 1024 * 1024
    }

    async fn put(&self, object: Object) -> Result<(), ReportStoreError> {
        let put = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(&object.key)
            .content_type(object.kind.content_type())
            .set_content_disposition(object.kind.disposition())
            .body(ByteStream::from(object.body));
        Box::pin(put.send()).await.map(drop).map_err(|error| refused("PutObject", &error))
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, ReportStoreError> {
        const OPERATION: &str = "GetObject";
        let found = match Box::pin(self.client.get_object().bucket(&self.bucket).key(key).send()).await {
            Ok(found) => found,
            Err(error) if error.code() == Some("NoSuchKey") => return Ok(None),
            Err(error) => return Err(refused(OPERATION, &error)),
        };
        let cut_off = |_| ReportStoreError::Unavailable { operation: OPERATION, code: "the answer was cut off".to_owned() };
        found.body.collect().await.map(|body| Some(body.to_vec())).map_err(cut_off)
    }

    async fn delete(&self, key: &str) -> Result<(), ReportStoreError> {
        let delete = self.client.delete_object().bucket(&self.bucket).key(key);
        Box::pin(delete.send()).await.map(drop).map_err(|error| refused("DeleteObject", &error))
    }

    async fn begin_upload(&self, key: &str, kind: &ObjectKind) -> Result<String, ReportStoreError> {
        const OPERATION: &str = "CreateMultipartUpload";
        let begin = self
            .client
            .create_multipart_upload()
            .bucket(&self.bucket)
            .key(key)
            .content_type(kind.content_type())
            .set_content_disposition(kind.disposition())
            .checksum_algorithm(ChecksumAlgorithm::Crc32);
        let begun = Box::pin(begin.send()).await.map_err(|error| refused(OPERATION, &error))?;
        begun.upload_id.ok_or_else(|| unreadable(OPERATION))
    }

    async fn upload_part(&self, key: &str, upload: &str, number: i32, body: Vec<u8>) -> Result<UploadedPart, ReportStoreError> {
        const OPERATION: &str = "UploadPart";
        let part = self
            .client
            .upload_part()
            .bucket(&self.bucket)
            .key(key)
            .upload_id(upload)
            .part_number(number)
            .checksum_algorithm(ChecksumAlgorithm::Crc32)
            .body(ByteStream::from(body));
        let taken = Box::pin(part.send()).await.map_err(|error| refused(OPERATION, &error))?;
        let etag = taken.e_tag.ok_or_else(|| unreadable(OPERATION))?;
        Ok(UploadedPart { number, etag, crc32: taken.checksum_crc32 })
    }

    async fn complete_upload(&self, key: &str, upload: &str, parts: &[UploadedPart]) -> Result<(), ReportStoreError> {
        let parts = parts.iter().map(|part| {
            let part_of_it = CompletedPart::builder().part_number(part.number).e_tag(&part.etag);
            part_of_it.set_checksum_crc32(part.crc32.clone()).build()
        });
        let complete = self
            .client
            .complete_multipart_upload()
            .bucket(&self.bucket)
            .key(key)
            .upload_id(upload)
            .multipart_upload(CompletedMultipartUpload::builder().set_parts(Some(parts.collect())).build());
        Box::pin(complete.send()).await.map(drop).map_err(|error| refused("CompleteMultipartUpload", &error))
    }

    async fn abort_upload(&self, key: &str, upload: &str) -> Result<(), ReportStoreError> {
        let abort = self.client.abort_multipart_upload().bucket(&self.bucket).key(key).upload_id(upload);
        match Box::pin(abort.send()).await.map_err(|error| refused("AbortMultipartUpload", &error)) {
            Ok(_) | Err(ReportStoreError::UploadGone) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn unreadable(operation: &'static str) -> ReportStoreError {
    ReportStoreError::Unavailable { operation, code: "no readable answer".to_owned() }
}

/// By name: most errors of S3 are modelled for no operation
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>).
fn refused<E: ProvideErrorMetadata, R>(operation: &'static str, error: &SdkError<E, R>) -> ReportStoreError {
    match error.code() {
        Some("SlowDown" | "ServiceUnavailable" | "RequestLimitExceeded" | "ThrottlingException") => ReportStoreError::Throttled,
        Some("NoSuchUpload" | "InvalidPart" | "InvalidPartOrder") => ReportStoreError::UploadGone,
        Some(
            code @ ("AccessDenied"
            | "AllAccessDisabled"
            | "InvalidAccessKeyId"
            | "NoSuchBucket"
            | "PermanentRedirect"
            | "KMS.DisabledException"),
        ) => ReportStoreError::Refused { operation, code: code.to_owned() },
        Some("InternalError") => ReportStoreError::Outage { operation, code: "InternalError".to_owned() },
        Some(code) => ReportStoreError::Unavailable { operation, code: code.to_owned() },
        None => match error {
            SdkError::TimeoutError(_) => ReportStoreError::Unavailable { operation, code: "timed out".to_owned() },
            SdkError::DispatchFailure(failure) if never_connected(failure) => {
                ReportStoreError::Outage { operation, code: "no connection".to_owned() }
            }
            SdkError::DispatchFailure(_) => ReportStoreError::Unavailable { operation, code: "connection lost".to_owned() },
            _ => unreadable(operation),
        },
    }
}
