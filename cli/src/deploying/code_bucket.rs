//! The bucket that a stack's code and templates are in: `<stack>-code-<account>-<region>`.

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::create_bucket::CreateBucketError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    AbortIncompleteMultipartUpload, BucketLifecycleConfiguration, BucketLocationConstraint, BucketVersioningStatus,
    CreateBucketConfiguration, ExpirationStatus, LifecycleRule, LifecycleRuleFilter, NoncurrentVersionExpiration,
    PublicAccessBlockConfiguration, ServerSideEncryption, ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration,
    ServerSideEncryptionRule, VersioningConfiguration,
};
use bytes::Bytes;
use serde_json::json;

use super::account::Account;

/// The region that a bucket is in when none is named: naming it is an error.
const UNNAMED_REGION: &str = "us-east-1";

/// The bucket does not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeBucketError {
    /// S3 refused a call.
    #[error("{call} on the code bucket `{bucket}` failed: {told}")]
    Refused {
        /// Which call.
        call: &'static str,
        /// Which bucket.
        bucket: String,
        /// What S3 said.
        told: String,
    },
}

/// The code bucket of a stack.
#[derive(Debug, Clone)]
pub struct CodeBucket {
    client: Client,
    name: String,
    account: Account,
}

impl CodeBucket {
    /// The bucket's name for a stack.
    #[must_use]
    pub fn name_of(stack: &str, account: &Account) -> String {
        format!("{stack}-code-{}-{}", account.id, account.region)
    }

    /// The bucket of a stack, made if it is not there, with the settings that it has to have.
    ///
    /// They are looked at every time: a first deployment that was cut off has left a bucket without them, and nothing else would notice.
    ///
    /// # Errors
    /// S3 refuses, or the bucket belongs to somebody else.
    pub async fn ensure(config: &SdkConfig, stack: &str, account: &Account) -> Result<Self, CodeBucketError> {
        let bucket = Self { client: Client::new(config), name: Self::name_of(stack, account), account: account.clone() };
        // Asked with the account's id: a bucket of this name that somebody else has made is no place for code.
        let head = bucket.client.head_bucket().bucket(&bucket.name).expected_bucket_owner(&account.id).send().await;
        if bucket.is_missing("HeadBucket", head)? {
            bucket.make().await?;
        }
        bucket.close().await?;
        bucket.keep_versions().await?;
        bucket.encrypt().await?;
        bucket.tidy().await?;
        bucket.refuse_plain_http().await?;
        Ok(bucket)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL that CloudFormation reads an object by.
    #[must_use]
    pub fn url(&self, key: &str) -> String {
        format!("https://s3.{}.{}/{}/{key}", self.account.region, self.account.domain(), self.name)
    }

    /// Uploads an object whose key tells its content, unless it is there.
    ///
    /// # Errors
    /// S3 refuses.
    pub async fn put(&self, key: &str, body: Bytes) -> Result<Put, CodeBucketError> {
        let head = self.client.head_object().bucket(&self.name).key(key).expected_bucket_owner(&self.account.id).send().await;
        if head.is_ok() {
            return Ok(Put::WasThere);
        }
        let put = self.client.put_object().bucket(&self.name).key(key).expected_bucket_owner(&self.account.id);
        put.body(ByteStream::from(body)).send().await.map_err(|error| self.refused("PutObject", &error))?;
        Ok(Put::Uploaded)
    }

    async fn make(&self) -> Result<(), CodeBucketError> {
        let mut create = self.client.create_bucket().bucket(&self.name);
        if self.account.region != UNNAMED_REGION {
            let place = BucketLocationConstraint::from(self.account.region.as_str());
            create = create.create_bucket_configuration(CreateBucketConfiguration::builder().location_constraint(place).build());
        }
        match create.send().await {
            // Another deployment of the stack was faster.
            Err(error) if error.as_service_error().is_some_and(CreateBucketError::is_bucket_already_owned_by_you) => Ok(()),
            made => made.map(drop).map_err(|error| self.refused("CreateBucket", &error)),
        }
    }

    // -- settings that are the same in every bucket ----------------------------------------------------------------------------

    async fn close(&self) -> Result<(), CodeBucketError> {
        let block = PublicAccessBlockConfiguration::builder();
        let block =
            block.block_public_acls(true).block_public_policy(true).ignore_public_acls(true).restrict_public_buckets(true);
        let put = self.client.put_public_access_block().bucket(&self.name).expected_bucket_owner(&self.account.id);
        let put = put.public_access_block_configuration(block.build()).send().await;
        put.map(drop).map_err(|error| self.refused("PutPublicAccessBlock", &error))
    }

    async fn keep_versions(&self) -> Result<(), CodeBucketError> {
        let versions = VersioningConfiguration::builder().status(BucketVersioningStatus::Enabled).build();
        let put = self.client.put_bucket_versioning().bucket(&self.name).expected_bucket_owner(&self.account.id);
        let put = put.versioning_configuration(versions).send().await;
        put.map(drop).map_err(|error| self.refused("PutBucketVersioning", &error))
    }

    // -- settings that somebody may have replaced on purpose: a key of their own, a stricter policy. Only what is missing is set -----

    async fn encrypt(&self) -> Result<(), CodeBucketError> {
        let get = self.client.get_bucket_encryption().bucket(&self.name).expected_bucket_owner(&self.account.id).send().await;
        if !self.is_missing("GetBucketEncryption", get)? {
            return Ok(());
        }
        let put = self.client.put_bucket_encryption().bucket(&self.name).expected_bucket_owner(&self.account.id);
        let put = put.server_side_encryption_configuration(encryption()).send().await;
        put.map(drop).map_err(|error| self.refused("PutBucketEncryption", &error))
    }

    async fn tidy(&self) -> Result<(), CodeBucketError> {
        let get = self.client.get_bucket_lifecycle_configuration().bucket(&self.name).expected_bucket_owner(&self.account.id);
        if !self.is_missing("GetBucketLifecycleConfiguration", get.send().await)? {
            return Ok(());
        }
        let put = self.client.put_bucket_lifecycle_configuration().bucket(&self.name).expected_bucket_owner(&self.account.id);
        let put = put.lifecycle_configuration(lifecycle()).send().await;
        put.map(drop).map_err(|error| self.refused("PutBucketLifecycleConfiguration", &error))
    }

    async fn refuse_plain_http(&self) -> Result<(), CodeBucketError> {
        let get = self.client.get_bucket_policy().bucket(&self.name).expected_bucket_owner(&self.account.id).send().await;
        if !self.is_missing("GetBucketPolicy", get)? {
            return Ok(());
        }
        let put = self.client.put_bucket_policy().bucket(&self.name).expected_bucket_owner(&self.account.id);
        let put = put.policy(tls_only(&self.name, self.account.partition())).send().await;
        put.map(drop).map_err(|error| self.refused("PutBucketPolicy", &error))
    }

    /// Whether what was asked for is not there. S3 answers 404 for a bucket and for each setting of one.
    fn is_missing<T, E>(&self, call: &'static str, asked: Result<T, SdkError<E>>) -> Result<bool, CodeBucketError>
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        match asked {
            Ok(_) => Ok(false),
            Err(error) if status(&error) == Some(404) => Ok(true),
            Err(error) => Err(self.refused(call, &error)),
        }
    }

    fn refused<E>(&self, call: &'static str, error: &SdkError<E>) -> CodeBucketError
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let told = match status(error) {
            Some(403) => "not allowed, or the bucket belongs to another account".to_owned(),
            _ => DisplayErrorContext(error).to_string(),
        };
        CodeBucketError::Refused { call, bucket: self.name.clone(), told }
    }
}

/// What became of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is there now.
    Uploaded,
    /// It was there.
    WasThere,
}

fn status<E>(error: &SdkError<E>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}

fn encryption() -> ServerSideEncryptionConfiguration {
    let default = ServerSideEncryptionByDefault::builder().sse_algorithm(ServerSideEncryption::Aes256).build();
    let rule = ServerSideEncryptionRule::builder().set_apply_server_side_encryption_by_default(default.ok()).build();
    let built = ServerSideEncryptionConfiguration::builder().rules(rule).build();
    built.expect("the rules are given")
}

/// What a stack points to stays, however old it is: a roll back reads the code of the version before. Only what was written over goes.
fn lifecycle() -> BucketLifecycleConfiguration {
    let rule = |id: &str| {
        let everything = LifecycleRuleFilter::builder().prefix("").build();
        LifecycleRule::builder().id(id).status(ExpirationStatus::Enabled).filter(everything)
    };
    let abort = AbortIncompleteMultipartUpload::builder().days_after_initiation(7).build();
    let unfinished = rule("unfinished-uploads").abort_incomplete_multipart_upload(abort).build();
    let expiry = NoncurrentVersionExpiration::builder().noncurrent_days(30).build();
    let old = rule("old-versions").noncurrent_version_expiration(expiry).build();
    let built = BucketLifecycleConfiguration::builder()
        .rules(unfinished.expect("the status is given"))
        .rules(old.expect("the status is given"))
        .build();
    built.expect("the rules are given")
}

fn tls_only(bucket: &str, partition: &str) -> String {
    let arn = format!("arn:{partition}:s3:::{bucket}");
    json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Sid": "TlsOnly",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [arn, format!("{arn}/*")],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}}
        }]
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buckets_policy_refuses_plain_http_and_nothing_else() {
        let policy: serde_json::Value = serde_json::from_str(&tls_only("s-code-1-eu", "aws-cn")).unwrap();
        let statements = policy["Statement"].as_array().unwrap();
        assert_eq!(statements.len(), 1);
        assert_eq!(
            (&statements[0]["Effect"], &statements[0]["Condition"]["Bool"]["aws:SecureTransport"]),
            (&json!("Deny"), &json!("false"))
        );
        assert_eq!(statements[0]["Resource"], json!(["arn:aws-cn:s3:::s-code-1-eu", "arn:aws-cn:s3:::s-code-1-eu/*"]));
    }

    #[test]
    fn nothing_that_a_stack_may_point_to_expires() {
        assert!(lifecycle().rules().iter().all(|rule| rule.expiration().is_none()));
        assert_eq!(lifecycle().rules().len(), 2);
        assert_eq!(encryption().rules().len(), 1);
    }
}
