//! Buckets, and the notifications that make jobs.

use ikkai_tests::template::rules::buckets;
use serde_json::json;

use crate::stacks::{full_stack, holds, notices, notices_in, variable};

const BUCKETS: [&str; 3] = ["AssetsBucket", "ReportsBucket", "ArchiveBucket"];

#[test]
fn buckets_are_private_encrypted_and_owned_by_this_account() {
    let rule = buckets::buckets_are_private;
    holds(rule);
    for bucket in BUCKETS {
        notices(rule, bucket, |stack| stack.remove(bucket, "/BucketEncryption"));
        notices(rule, bucket, |stack| stack.remove(bucket, "/OwnershipControls"));
        for part in ["BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"] {
            notices(rule, bucket, |stack| {
                stack.set(bucket, &format!("/PublicAccessBlockConfiguration/{part}"), json!(false));
            });
        }
    }
}

#[test]
fn buckets_refuse_requests_without_tls() {
    let rule = buckets::buckets_demand_tls;
    holds(rule);
    for bucket in BUCKETS {
        let policy = format!("{bucket}Policy");
        notices(rule, bucket, |stack| stack.drop_resource(&policy));
        notices(rule, bucket, |stack| stack.remove(&policy, "/PolicyDocument/Statement/0/Resource/1"));
        notices(rule, bucket, |stack| {
            stack.set(&policy, "/PolicyDocument/Statement/0/Condition/Bool/aws:SecureTransport", json!("true"));
        });
        notices(rule, &format!("{policy}: lets everybody in"), |stack| {
            stack.set(&policy, "/PolicyDocument/Statement/0/Effect", json!("Allow"));
        });
    }
}

#[test]
fn what_a_bucket_holds_stays_when_its_stack_goes() {
    let rule = buckets::buckets_outlive_their_stack;
    holds(rule);
    for bucket in BUCKETS {
        for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
            notices(rule, bucket, |stack| stack.set_attribute(bucket, policy, json!("Delete")));
        }
    }
}

#[test]
fn half_written_objects_and_old_versions_do_not_stay_for_ever() {
    let rule = buckets::leftovers_are_removed;
    holds(rule);
    for bucket in BUCKETS {
        notices(rule, bucket, |stack| stack.set(bucket, "/LifecycleConfiguration/Rules/0/Status", json!("Disabled")));
    }
    notices(rule, "AssetsBucket", |stack| stack.remove("AssetsBucket", "/LifecycleConfiguration/Rules/1"));
    // A message lives for 4 days in its queue and for 14 in the dead-letter queue.
    notices(rule, "AssetsBucket", |stack| {
        stack.set("AssetsBucket", "/LifecycleConfiguration/Rules/1/NoncurrentVersionExpiration/NoncurrentDays", json!(18));
    });
}

#[test]
fn a_bucket_that_notifies_a_queue_may_send_to_it_before_it_is_made() {
    let rule = buckets::notifications_can_be_delivered;
    holds(rule);
    notices(rule, "AssetsBucket", |stack| stack.remove_attribute("AssetsBucket", "DependsOn"));
    notices(rule, "AssetsBucket", |stack| stack.set("AssetsBucket", "/BucketName", json!("another")));
    notices(rule, "AssetsBucket", |stack| stack.remove("ImageQueuePolicy", "/PolicyDocument/Statement/1"));
    notices(rule, "ImageQueue", |stack| stack.set("ImageQueue", "/KmsMasterKeyId", json!("alias/aws/sqs")));
    notices_in(full_stack(), rule, "ImageQueue", |stack| {
        stack.set("ImageQueue", "/KmsMasterKeyId", json!("arn:aws:kms:us-east-1:123456789012:alias/aws/sqs"));
    });
}

#[test]
fn uploads_make_jobs_and_stay_in_versions() {
    let rule = buckets::uploads_make_jobs;
    holds(rule);
    let notification = "/NotificationConfiguration/QueueConfigurations/0";
    notices(rule, "AssetsBucket", |stack| stack.remove("AssetsBucket", notification));
    notices(rule, "AssetsBucket", |stack| {
        stack.set("AssetsBucket", &format!("{notification}/Filter/S3Key/Rules/0/Value"), json!("pictures/"));
    });
    notices(rule, "AssetsBucket", |stack| {
        stack.set("AssetsBucket", &format!("{notification}/Queue"), json!({"Fn::GetAtt": ["EmailQueue", "Arn"]}));
    });
    notices(rule, "AssetsBucket", |stack| stack.remove("AssetsBucket", "/VersioningConfiguration"));
}

#[test]
fn outputs_never_notify() {
    let rule = buckets::outputs_never_notify;
    holds(rule);
    notices(rule, "ImageConsumerFunction", |stack| {
        stack.set("ImageConsumerFunction", &variable("IKKAI_DERIVED_PREFIX"), json!("uploads/derived/"));
    });
    let filter = "/NotificationConfiguration/QueueConfigurations/0/Filter";
    notices(rule, "ImageConsumerFunction", |stack| stack.remove("AssetsBucket", filter));
    notices(rule, "ImageConsumerFunction", |stack| {
        stack.set("AssetsBucket", &format!("{filter}/S3Key/Rules/0/Value"), json!("d"));
    });
}
