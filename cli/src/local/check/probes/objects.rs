//! What S3 tells a queue about objects.

use aws_sdk_s3::types::{
    BucketLocationConstraint, CreateBucketConfiguration, Event, NotificationConfiguration, QueueConfiguration,
};
use aws_sdk_sqs::types::QueueAttributeName;
use futures::FutureExt;
use serde_json::{Value, json};

use crate::local::check::finding::Finding;
use crate::local::check::lab::Lab;
use crate::local::check::ledger::Made;
use crate::local::check::messages::Queue;
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Doing, Trouble};

const GROUP: &str = "events of S3";

pub(super) const PROBES: [Probe; 2] = [
    Probe {
        id: "s3-test-event",
        group: GROUP,
        feature: "`s3:TestEvent`",
        aws: "When a notification is configured S3 sends a test event to its queue.",
        source: "https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html",
        needs: Needs::Nothing,
        run: |lab| test_event(lab).boxed_local(),
    },
    Probe {
        id: "s3-key-encoding",
        group: GROUP,
        feature: "encoding of keys",
        aws: "The key in an event is URL-encoded, a space as `+`.",
        source: "https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html",
        needs: Needs::Nothing,
        run: |lab| key_encoding(lab).boxed_local(),
    },
];

/// A key with everything that has an encoding of its own, and what S3 makes of it.
const KEY: &str = "summer 2031/a b+c%41ü.txt";
const ENCODED: &str = "summer+2031/a+b%2Bc%2541%C3%BC.txt";

/// A bucket that tells a queue about every new object.
async fn bucket(lab: &Lab, name: &str) -> Result<(String, Queue), Trouble> {
    let queue = lab.queue(&format!("{name}-told"), Vec::new()).await?;
    let bucket = lab.name(name);
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Principal": { "Service": "s3.amazonaws.com" },
            "Action": "sqs:SendMessage",
            "Resource": queue.arn,
            "Condition": { "ArnLike": { "aws:SourceArn": format!("arn:*:s3:::{bucket}") } },
        }],
    });
    let call = lab.clients.sqs.set_queue_attributes().queue_url(&queue.url);
    call.attributes(QueueAttributeName::Policy, policy.to_string()).send().await.doing("SetQueueAttributes")?;
    lab.note(Made::Bucket(bucket.clone()));
    let region = lab.clients.config().region().map(|region| region.as_ref().to_owned()).unwrap_or_default();
    // The oldest region has no name here, and refuses its own.
    let place = (region != "us-east-1").then(|| {
        CreateBucketConfiguration::builder().location_constraint(BucketLocationConstraint::from(region.as_str())).build()
    });
    let call = lab.clients.s3.create_bucket().bucket(&bucket).set_create_bucket_configuration(place);
    call.send().await.doing("CreateBucket")?;
    let target = QueueConfiguration::builder().queue_arn(&queue.arn).events(Event::from("s3:ObjectCreated:*")).build();
    let target = target.map_err(|_| Trouble::Incomplete { call: "PutBucketNotificationConfiguration", part: "queue" })?;
    let configuration = NotificationConfiguration::builder().queue_configurations(target).build();
    let call = lab.clients.s3.put_bucket_notification_configuration().bucket(&bucket);
    call.notification_configuration(configuration).send().await.doing("PutBucketNotificationConfiguration")?;
    Ok((bucket, queue))
}

async fn test_event(lab: &Lab) -> Result<Finding, Trouble> {
    let (bucket, queue) = bucket(lab, "test-event").await?;
    let first = lab.take(&queue, 1, std::time::Duration::from_secs(5)).await?;
    let event: Value = first.first().and_then(|message| serde_json::from_str(message.body.as_deref()?).ok()).unwrap_or_default();
    let named = event["Event"] == "s3:TestEvent" && event["Bucket"] == bucket.as_str();
    let seen = if named { "the queue got a test event that names the bucket" } else { "no test event came" };
    Ok(Finding::judged(named, seen))
}

async fn key_encoding(lab: &Lab) -> Result<Finding, Trouble> {
    let (bucket, queue) = bucket(lab, "key-encoding").await?;
    let body = aws_sdk_s3::primitives::ByteStream::from_static(b"x");
    lab.clients.s3.put_object().bucket(&bucket).key(KEY).body(body).send().await.doing("PutObject")?;
    let key = lab
        .eventually("an event about the object", async || {
            for message in lab.take(&queue, 1, std::time::Duration::from_secs(2)).await? {
                let event: Value = serde_json::from_str(message.body.as_deref().unwrap_or_default()).unwrap_or_default();
                if let Some(key) = event["Records"][0]["s3"]["object"]["key"].as_str() {
                    return Ok(Some(key.to_owned()));
                }
            }
            Ok(None)
        })
        .await?;
    Ok(Finding::judged(key == ENCODED, format!("`{KEY}` came as `{key}`")))
}
