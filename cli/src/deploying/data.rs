//! What holds data: counted before a stack is deleted, kept by it, and deleted where that is asked for.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use aws_sdk_secretsmanager::operation::delete_secret::DeleteSecretError;
use aws_sdk_sqs::operation::get_queue_attributes::GetQueueAttributesError;
use aws_sdk_sqs::types::QueueAttributeName;

use super::cloudformation::Resource;

/// Kinds of resources that the template keeps when its stack is deleted.
const KEPT: [&str; 3] = ["AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SecretsManager::Secret"];

/// Something could not be counted or deleted.
#[derive(Debug, thiserror::Error)]
#[error("{call} of `{resource}` failed: {told}")]
pub struct DataError {
    call: &'static str,
    resource: String,
    told: String,
}

/// A queue that is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The queue's name.
    pub queue: String,
    /// How many messages are in it: waiting, in flight and delayed.
    pub messages: u64,
}

/// What of a stack's resources stays when it is deleted.
#[must_use]
pub fn kept(resources: &[Resource]) -> Vec<Resource> {
    resources.iter().filter(|resource| KEPT.contains(&resource.kind.as_str())).cloned().collect()
}

/// The queues that hold messages, which go with the stack. SQS tells approximate numbers; a queue that has just got its first message may
/// count as empty for some seconds.
///
/// # Errors
/// SQS does not say.
pub async fn held(config: &SdkConfig, resources: &[Resource]) -> Result<Vec<Held>, DataError> {
    let client = aws_sdk_sqs::Client::new(config);
    let counts = [
        QueueAttributeName::ApproximateNumberOfMessages,
        QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        QueueAttributeName::ApproximateNumberOfMessagesDelayed,
    ];
    let mut held = Vec::new();
    for queue in resources.iter().filter(|resource| resource.kind == "AWS::SQS::Queue") {
        let asked = client.get_queue_attributes().queue_url(&queue.id).set_attribute_names(Some(counts.to_vec())).send().await;
        let attributes = match asked {
            Ok(told) => told.attributes.unwrap_or_default(),
            Err(error) if error.as_service_error().is_some_and(GetQueueAttributesError::is_queue_does_not_exist) => continue,
            Err(error) => return Err(failed("GetQueueAttributes", queue, &DisplayErrorContext(&error))),
        };
        let messages = counts.iter().filter_map(|name| attributes.get(name)?.parse::<u64>().ok()).sum();
        if messages > 0 {
            held.push(Held { queue: queue.id.rsplit('/').next().unwrap_or(&queue.id).to_owned(), messages });
        }
    }
    Ok(held)
}

/// Deletes what a stack has kept, with everything in it.
///
/// # Errors
/// Something is refused; what came before it is gone.
pub async fn delete(config: &SdkConfig, resource: &Resource) -> Result<(), DataError> {
    match resource.kind.as_str() {
        "AWS::DynamoDB::Table" => delete_table(config, resource).await,
        "AWS::S3::Bucket" => delete_bucket(config, resource).await,
        "AWS::SecretsManager::Secret" => delete_secret(config, resource).await,
        _ => Ok(()),
    }
}

async fn delete_table(config: &SdkConfig, table: &Resource) -> Result<(), DataError> {
    let client = aws_sdk_dynamodb::Client::new(config);
    let described = match client.describe_table().table_name(&table.id).send().await {
        Ok(described) => described,
        Err(error) if error.as_service_error().is_some_and(DescribeTableError::is_resource_not_found_exception) => return Ok(()),
        Err(error) => return Err(failed("DescribeTable", table, &DisplayErrorContext(&error))),
    };
    if described.table.and_then(|table| table.deletion_protection_enabled).unwrap_or(false) {
        let update = client.update_table().table_name(&table.id).deletion_protection_enabled(false).send().await;
        update.map_err(|error| failed("UpdateTable", table, &DisplayErrorContext(&error)))?;
    }
    let deleted = client.delete_table().table_name(&table.id).send().await;
    deleted.map(drop).map_err(|error| failed("DeleteTable", table, &DisplayErrorContext(&error)))
}

/// A bucket has to be empty, of old versions and of marks of deletion too.
async fn delete_bucket(config: &SdkConfig, bucket: &Resource) -> Result<(), DataError> {
    let client = aws_sdk_s3::Client::new(config);
    loop {
        let listed = match client.list_object_versions().bucket(&bucket.id).send().await {
            Ok(listed) => listed,
            Err(error) if error.raw_response().is_some_and(|response| response.status().as_u16() == 404) => return Ok(()),
            Err(error) => return Err(failed("ListObjectVersions", bucket, &DisplayErrorContext(&error))),
        };
        let versions = listed.versions().iter().map(|version| (version.key(), version.version_id()));
        let marks = listed.delete_markers().iter().map(|mark| (mark.key(), mark.version_id()));
        let identifiers = versions.chain(marks).filter_map(|(key, version)| {
            ObjectIdentifier::builder().key(key?).set_version_id(version.map(str::to_owned)).build().ok()
        });
        let identifiers: Vec<ObjectIdentifier> = identifiers.collect();
        if identifiers.is_empty() {
            break;
        }
        let delete = Delete::builder().set_objects(Some(identifiers)).quiet(true).build();
        let delete = delete.map_err(|error| failed("DeleteObjects", bucket, &error))?;
        let deleted = client.delete_objects().bucket(&bucket.id).delete(delete).send().await;
        let deleted = deleted.map_err(|error| failed("DeleteObjects", bucket, &DisplayErrorContext(&error)))?;
        // Otherwise the same objects would be listed for ever.
        if let Some(refused) = deleted.errors().first() {
            return Err(failed("DeleteObjects", bucket, &refused.message().unwrap_or("an object is kept")));
        }
    }
    let deleted = client.delete_bucket().bucket(&bucket.id).send().await;
    deleted.map(drop).map_err(|error| failed("DeleteBucket", bucket, &DisplayErrorContext(&error)))
}

async fn delete_secret(config: &SdkConfig, secret: &Resource) -> Result<(), DataError> {
    let client = aws_sdk_secretsmanager::Client::new(config);
    // At once: within its days of grace the name could not be used by a new stack.
    match client.delete_secret().secret_id(&secret.id).force_delete_without_recovery(true).send().await {
        Err(error) if !error.as_service_error().is_some_and(DeleteSecretError::is_resource_not_found_exception) => {
            Err(failed("DeleteSecret", secret, &DisplayErrorContext(&error)))
        }
        _ => Ok(()),
    }
}

fn failed(call: &'static str, resource: &Resource, told: &dyn std::fmt::Display) -> DataError {
    DataError { call, resource: resource.id.clone(), told: told.to_string() }
}
