//! Buckets, and the notifications that make jobs.

use serde_json::{Value, json};

use super::keys::is_own_key;
use crate::template::stack::{Resource, Stack, demands_tls, lets_everybody_in, listed, logical_id, number};

/// Parts of the block on public access.
const PUBLIC_ACCESS: [&str; 4] = ["BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"];

/// SQS keeps a message for 14 days at most, and a dead letter goes on counting.
const DEAD_LETTER_DAYS: u64 = 14;

/// Every bucket is encrypted, closed to the public and without access lists.
#[must_use]
pub fn buckets_are_private(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for bucket in buckets(stack) {
        let encryption = "/BucketEncryption/ServerSideEncryptionConfiguration/0/ServerSideEncryptionByDefault/SSEAlgorithm";
        if bucket.at(encryption).is_null() {
            violations.push(format!("{}: not encrypted", bucket.name));
        }
        if bucket.at("/OwnershipControls/Rules/0/ObjectOwnership") != "BucketOwnerEnforced" {
            violations.push(format!("{}: objects may belong to others", bucket.name));
        }
        for part in PUBLIC_ACCESS {
            if !bucket.is_true(&format!("/PublicAccessBlockConfiguration/{part}")) {
                violations.push(format!("{}: without {part}", bucket.name));
            }
        }
    }
    violations
}

/// Every bucket refuses requests without TLS, for itself and for its objects, and no bucket policy lets everybody in.
#[must_use]
pub fn buckets_demand_tls(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let policies: Vec<Resource<'_>> = stack.of_type("AWS::S3::BucketPolicy").collect();
    for bucket in buckets(stack) {
        let resources = [json!({"Fn::GetAtt": [bucket.name, "Arn"]}), json!({"Fn::Sub": format!("${{{}.Arn}}/*", bucket.name)})];
        let of_bucket = policies.iter().filter(|policy| logical_id(policy.at("/Bucket")) == Some(bucket.name));
        let covered = of_bucket.flat_map(statements).any(|statement| {
            let named = listed(&statement["Resource"]);
            demands_tls(statement, "s3:*") && resources.iter().all(|resource| named.contains(&resource))
        });
        if !covered {
            violations.push(format!("{}: takes requests without TLS", bucket.name));
        }
    }
    for policy in policies {
        if statements(&policy).into_iter().any(lets_everybody_in) {
            violations.push(format!("{}: lets everybody in", policy.name));
        }
    }
    violations
}

/// No bucket goes with its stack, nor with a change that replaces it.
#[must_use]
pub fn buckets_outlive_their_stack(stack: &Stack) -> Vec<String> {
    buckets(stack)
        .filter(|bucket| {
            bucket.attribute("DeletionPolicy") != "RetainExceptOnCreate" || bucket.attribute("UpdateReplacePolicy") != "Retain"
        })
        .map(|bucket| format!("{}: goes with its stack", bucket.name))
        .collect()
}

/// Parts of uploads that were never completed are removed; so are versions that were replaced, but not before the last message that names them.
#[must_use]
pub fn leftovers_are_removed(stack: &Stack) -> Vec<String> {
    let longest_days = stack
        .of_type("AWS::SQS::Queue")
        .filter(|queue| !queue.at("/RedrivePolicy").is_null())
        .filter_map(|queue| queue.number("/MessageRetentionPeriod"))
        .max()
        .map_or(0, |seconds| seconds / (24 * 3600) + DEAD_LETTER_DAYS);
    let mut violations = Vec::new();
    for bucket in buckets(stack) {
        let rules: Vec<&Value> =
            listed(bucket.at("/LifecycleConfiguration/Rules")).into_iter().filter(|rule| rule["Status"] == "Enabled").collect();
        if rules.iter().all(|rule| rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"].is_null()) {
            violations.push(format!("{}: keeps uploads that were never completed", bucket.name));
        }
        let kept = rules.iter().find_map(|rule| number(&rule["NoncurrentVersionExpiration"]["NoncurrentDays"]));
        if bucket.at("/VersioningConfiguration/Status") == "Enabled" && kept.is_none_or(|days| days <= longest_days) {
            violations
                .push(format!("{}: keeps replaced versions for {kept:?} days, messages live for {longest_days}", bucket.name));
        }
    }
    violations
}

/// A bucket that notifies a queue waits for the queue's policy, which lets S3 send for this very bucket; and the queue's encryption lets S3 write.
#[must_use]
pub fn notifications_can_be_delivered(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for bucket in buckets(stack) {
        let arn = bucket.at("/BucketName").as_str().map(|name| format!("arn:aws:s3:::{name}"));
        for notification in listed(bucket.at("/NotificationConfiguration/QueueConfigurations")) {
            let Some(queue) = stack.target(&notification["Queue"]) else {
                violations.push(format!("{}: notifies a queue that is not in this stack", bucket.name));
                continue;
            };
            let admitting = stack.of_type("AWS::SQS::QueuePolicy").find(|policy| {
                statements(policy).into_iter().any(|statement| {
                    statement["Effect"] == "Allow"
                        && statement["Principal"] == json!({"Service": "s3.amazonaws.com"})
                        && statement["Action"] == "sqs:SendMessage"
                        && logical_id(&statement["Resource"]) == Some(queue.name)
                        && statement["Condition"]["ArnEquals"]["aws:SourceArn"].as_str() == arn.as_deref()
                })
            });
            let waits = admitting.is_some_and(|policy| listed(bucket.attribute("DependsOn")).contains(&&json!(policy.name)));
            if !waits {
                violations.push(format!("{}: S3 may not send to {} when the bucket is made", bucket.name, queue.name));
            }
            // Keys that AWS manages let no service in (https://docs.aws.amazon.com/AmazonS3/latest/userguide/grant-destinations-permissions-to-s3.html).
            if queue.at("/KmsMasterKeyId").as_str().is_some_and(|key| !is_own_key(key)) {
                violations.push(format!("{}: S3 may not use its key", queue.name));
            }
        }
    }
    violations
}

/// New originals notify the queue of the function that works on them, and stay in versions, so that a job finds the one that it was made for.
#[must_use]
pub fn uploads_make_jobs(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let function = consumer.function;
        let Some(bucket) = stack.target(function.environment("IKKAI_ORIGINALS_BUCKET")) else { continue };
        let prefix = function.environment("IKKAI_ORIGINALS_PREFIX");
        let notifies = listed(bucket.at("/NotificationConfiguration/QueueConfigurations")).into_iter().any(|notification| {
            let rules = listed(&notification["Filter"]["S3Key"]["Rules"]);
            logical_id(&notification["Queue"]) == Some(consumer.queue.name)
                && notification["Event"] == "s3:ObjectCreated:*"
                && rules.iter().any(|rule| rule["Name"] == "prefix" && rule["Value"] == *prefix)
        });
        if !notifies {
            violations.push(format!("{}: new objects under {prefix} make no jobs", bucket.name));
        }
        if bucket.at("/VersioningConfiguration/Status") != "Enabled" {
            violations.push(format!("{}: an upload takes the place of one that a job waits for", bucket.name));
        }
    }
    violations
}

/// Where a function writes is not where new objects notify.
#[must_use]
pub fn outputs_never_notify(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let Some(bucket) = stack.target(function.environment("IKKAI_DERIVED_BUCKET")) else { continue };
        let written = function.environment("IKKAI_DERIVED_PREFIX").as_str().unwrap_or_default();
        for notification in listed(bucket.at("/NotificationConfiguration/QueueConfigurations")) {
            let prefix = listed(&notification["Filter"]["S3Key"]["Rules"]).into_iter().find(|rule| rule["Name"] == "prefix");
            let watched = prefix.and_then(|rule| rule["Value"].as_str()).unwrap_or_default();
            if written.starts_with(watched) || watched.starts_with(written) {
                violations.push(format!("{}: its outputs under `{written}` notify, as all under `{watched}`", function.name));
            }
        }
    }
    violations
}

fn buckets(stack: &Stack) -> impl Iterator<Item = Resource<'_>> {
    stack.of_type("AWS::S3::Bucket")
}

fn statements<'a>(policy: &Resource<'a>) -> Vec<&'a Value> {
    listed(policy.at("/PolicyDocument/Statement"))
}
