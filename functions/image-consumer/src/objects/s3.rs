//! Amazon S3.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_s3::{
    Client,
    config::{Builder, StalledStreamProtectionConfig, timeout::TimeoutConfig},
    error::{ProvideErrorMetadata, SdkError},
    primitives::ByteStream,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use bytes::{Bytes, BytesMut};
use ikkai::aws::connections::never_connected;

use super::{Download, NewObject, ObjectAddress, ObjectError, Objects};

/// How long one request may take up to the answer's head; of a write that is all of it.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// The same with the SDK's own retries: reading and writing an object twice is harmless.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(25);
/// A body that brings nothing for this long has stalled.
const STALLED_AFTER: Duration = Duration::from_secs(5);

/// Objects in S3.
#[derive(Clone, Debug)]
pub struct S3Objects {
    client: Client,
}

impl S3Objects {
    /// Makes a client from the SDK configuration, `Builder::from(&sdk_config)`. Bodies take longer than the answers of other services, so
    /// it has timeouts of its own.
    #[must_use]
    pub fn new(config: Builder) -> Self {
        let timeouts =
            TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).operation_timeout(OPERATION_TIMEOUT).build();
        let stalled = StalledStreamProtectionConfig::enabled().grace_period(STALLED_AFTER).build();
        Self { client: Client::from_conf(config.timeout_config(timeouts).stalled_stream_protection(stalled).build()) }
    }

    /// Opens `connections` connections, so that the first pictures make no TLS handshake. The call is a `ListBuckets` without its
    /// signature, which S3 refuses at the door. Best effort: whatever is answered, the connections stay.
    pub async fn warm_up(&self, connections: usize) {
        let once = aws_sdk_s3::config::retry::RetryConfig::disabled();
        ikkai::aws::warm_up(connections, || {
            let lean = aws_sdk_s3::Config::builder().retry_config(once.clone());
            let call = self.client.list_buckets().customize().config_override(lean);
            Box::pin(call.interceptor(ikkai::aws::connections::Unsigned).send())
        })
        .await;
    }
}

#[async_trait]
impl Objects for S3Objects {
    async fn open(&self, at: &ObjectAddress) -> Result<Box<dyn Download>, ObjectError> {
        let version = at.version_id.as_ref().map(|version| version.as_str().to_owned());
        let request = self.client.get_object().bucket(&at.bucket).key(&at.key).set_version_id(version);
        let answer = request.send().await.map_err(|error| classify(&error))?;
        let length = answer.content_length.and_then(|length| u64::try_from(length).ok());
        let length = length.ok_or(ObjectError::Unavailable { code: "bucket_answer_unreadable" })?;
        Ok(Box::new(S3Download { length, body: answer.body }))
    }

    async fn put(&self, object: NewObject) -> Result<(), ObjectError> {
        let NewObject { bucket, key, content_type, cache_control, bytes } = object;
        let request = self.client.put_object().bucket(bucket).key(key).content_type(content_type).cache_control(cache_control);
        request.body(ByteStream::from(bytes)).send().await.map_err(|error| classify(&error))?;
        Ok(())
    }
}

struct S3Download {
    length: u64,
    body: ByteStream,
}

#[async_trait]
impl Download for S3Download {
    fn length(&self) -> u64 {
        self.length
    }

    /// Into a buffer of the announced length: the SDK's own collecting would take it twice.
    async fn read(mut self: Box<Self>) -> Result<Bytes, ObjectError> {
        let lost = || ObjectError::Unavailable { code: "bucket_connection_lost" };
        let length = usize::try_from(self.length).map_err(|_| lost())?;
        let mut bytes = BytesMut::with_capacity(length);
        while let Some(part) = self.body.next().await {
            let part = part.map_err(|_| lost())?;
            if bytes.len() + part.len() > length {
                return Err(lost());
            }
            bytes.extend_from_slice(&part);
        }
        if bytes.len() == length { Ok(bytes.freeze()) } else { Err(lost()) }
    }
}

fn classify<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> ObjectError {
    match error {
        SdkError::ServiceError(answered) => {
            ObjectError::from_answer(answered.raw().status().as_u16(), answered.err().code().unwrap_or_default())
        }
        SdkError::ResponseError(unreadable) => ObjectError::from_answer(unreadable.raw().status().as_u16(), ""),
        SdkError::TimeoutError(_) => ObjectError::Unavailable { code: "bucket_timeout" },
        SdkError::ConstructionFailure(_) => ObjectError::Unavailable { code: "request_not_built" },
        SdkError::DispatchFailure(failure) if never_connected(failure) => ObjectError::Outage { code: "bucket_unreachable" },
        _ => ObjectError::Unavailable { code: "bucket_connection_lost" },
    }
}
