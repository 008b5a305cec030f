//! Pictures: made of photographs in S3, asked for through the API or by an upload.

use bytes::Bytes;
use ikkai::idempotency::Status;
use ikkai::job::JobId;
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::pictures::look;
use ikkai_cli::local::python::{self, Extras};
use ikkai_cli::progress::Progress;
use serde_json::{Value, json};

use crate::harness::{Lab, on_engine};

fn photograph() -> Bytes {
    let checkout = Checkout::find().expect("a checkout");
    std::fs::read(checkout.file("localstack/seed/photo.jpg")).expect("a photograph").into()
}

/// Everything under an asset's folder, with the keys' last parts in order.
async fn outputs(lab: &Lab, asset: &str) -> Vec<(String, Bytes)> {
    let bucket = lab.bucket("AssetsBucketName");
    let prefix = format!("derived/{asset}/");
    let mut keys = bucket.keys(&prefix).await.expect("a listing");
    keys.sort();
    let mut outputs = Vec::new();
    for key in keys {
        let object = bucket.get(&key).await.expect("an answer").expect("an object");
        outputs.push((key[prefix.len()..].to_owned(), object.bytes));
    }
    outputs
}

/// Waits until S3's event about an asset has become a job.
async fn job_of(lab: &Lab, asset: &str) -> JobId {
    let wanted = format!("\"assetId\":{}", json!(asset));
    lab.eventually("the upload becomes a job", async || lab.jobs_about(&wanted).await.into_iter().next()).await
}

/// S3's event about objects that were put, as it arrives on the queue. The keys are in the form of URLs.
fn event(lab: &Lab, keys: &[&str]) -> String {
    let record = |key: &&str| {
        json!({
            "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventTime": "2031-07-14T08:15:00.000Z",
            "eventName": "ObjectCreated:Put", "userIdentity": {"principalId": "AWS:EXAMPLE"},
            "s3": {
                "s3SchemaVersion": "1.0", "configurationId": "uploads",
                "bucket": {"name": lab.output("AssetsBucketName"), "arn": format!("arn:aws:s3:::{}", lab.output("AssetsBucketName"))},
                "object": {"key": key, "size": 56_459, "eTag": "0123456789abcdef0123456789abcdef", "sequencer": "0055AED6DCD90281E5"},
            },
        })
    };
    json!({"Records": keys.iter().map(record).collect::<Vec<Value>>()}).to_string()
}

#[test]
fn a_photograph_on_its_side_becomes_every_size_in_every_format_upright_and_without_its_place() {
    on_engine(async |lab| {
        let asset = format!("{}.jpg", lab.key("asked"));
        let photograph = photograph();
        lab.bucket("AssetsBucketName").put(&format!("uploads/{asset}"), photograph.clone()).await.expect("it is stored");
        let key = lab.key("pictures");
        let payload = json!({"assetId": asset, "sizes": [48, 150, 320], "formats": ["webp", "jpeg"]});
        let job_id = lab.post(&key, &json!({"type": "image.resize", "payload": payload})).await;
        assert_eq!(lab.succeeded(&job_id).await.attempts, 1);

        let asked = |name: &str| name.split_once('.').is_some_and(|(size, _)| ["48", "150", "320"].contains(&size));
        let mut outputs = outputs(lab, &asset).await;
        outputs.retain(|(name, _)| asked(name));
        assert_eq!(outputs.len(), 6, "{:?}", outputs.iter().map(|(name, _)| name).collect::<Vec<_>>());
        let checkout = Checkout::find().expect("a checkout");
        let environment = python::environment(&checkout, Extras::Pictures, &Progress::silent()).await.expect("Pillow");
        let bytes: Vec<_> = outputs.iter().map(|(_, bytes)| bytes).collect();
        let seen = look(&environment.python(), &photograph, &bytes).await.expect("Pillow reads all of them");
        for ((name, _), seen) in outputs.iter().zip(seen) {
            let (size, extension) = name.split_once('.').expect("a size and an extension");
            let size: u32 = size.parse().expect("a size");
            let format = if extension == "webp" { "WEBP" } else { "JPEG" };
            assert_eq!((seen.format.as_str(), seen.position.as_str(), seen.exif_tags), (format, "upright", 0), "{name}");
            assert!(seen.width == size && (seen.width * 2).abs_diff(seen.height * 3) <= 3, "{name}: {seen:?}");
            assert!(seen.difference < 12.0, "{name}: {seen:?}");
        }
    });
}

#[test]
fn an_upload_under_an_awkward_key_is_one_job_and_its_pictures_make_none() {
    on_engine(async |lab| {
        let asset = format!("summer 2031/{} a b+c.jpg", lab.key("upload"));
        lab.bucket("AssetsBucketName").put(&format!("uploads/{asset}"), photograph()).await.expect("it is stored");
        let job_id = job_of(lab, &asset).await;
        lab.succeeded(&job_id).await;
        assert_eq!(outputs(lab, &asset).await.len(), 4, "the sizes and formats of an upload");
        lab.let_go(lab.output("ImageQueueName"), "upload-").await;
        assert_eq!(lab.jobs_about(&asset).await, [job_id]);
        assert!(lab.jobs_about("derived/").await.is_empty(), "pictures make no pictures");
    });
}

#[test]
fn of_two_objects_in_one_message_the_missing_one_dies_and_the_other_is_made_once() {
    on_engine(async |lab| {
        let (there, missing) = (format!("{}.jpg", lab.key("there")), format!("{}.jpg", lab.key("missing")));
        // Under a key that tells the queue nothing, then where the event says it is.
        let bucket = lab.bucket("AssetsBucketName");
        bucket.put(&format!("uploads/{there}"), photograph()).await.expect("it is stored");
        let by_upload = job_of(lab, &there).await;
        lab.succeeded(&by_upload).await;

        let body = event(lab, &[&format!("uploads/{there}"), &format!("uploads/{missing}")]);
        lab.send_to(lab.output("ImageQueueName"), &body).await;
        lab.dead_letter_in(lab.output("ImageDeadLetterQueueName"), &missing).await;
        let [lost] = &lab.jobs_about(&missing).await[..] else { panic!("one job of the missing object") };
        let record = lab.record(lost).await.expect("a record");
        assert_eq!((record.status, record.attempts), (Status::Dead, 1), "{:?}", record.last_error);
        let made = lab.jobs_about(&there).await.into_iter().find(|job_id| *job_id != by_upload).expect("a job of its own");
        let record = lab.record(&made).await.expect("a record");
        assert_eq!((record.status, record.attempts), (Status::Succeeded, 1), "made once, however often its message came");
    });
}

#[test]
fn the_same_event_told_twice_is_one_job() {
    on_engine(async |lab| {
        let asset = format!("{}.jpg", lab.key("twice"));
        lab.bucket("AssetsBucketName").put(&format!("uploads/{asset}"), photograph()).await.expect("it is stored");
        let by_upload = job_of(lab, &asset).await;
        lab.succeeded(&by_upload).await;
        let body = event(lab, &[&format!("uploads/{asset}")]);
        let queue = lab.output("ImageQueueName");
        lab.send_to(queue, &body).await;
        lab.send_to(
            queue,
            &json!({"Type": "Notification", "TopicArn": "arn:aws:sns:us-east-1:000000000000:t", "Message": body}).to_string(),
        )
        .await;
        lab.let_go(queue, &asset).await;
        let jobs = lab.jobs_about(&asset).await;
        assert_eq!(jobs.len(), 2, "S3's own event, and the one that was told twice: {jobs:?}");
        for job_id in jobs {
            assert_eq!(lab.succeeded(&job_id).await.attempts, 1);
        }
    });
}

#[test]
fn the_event_that_s3_sends_when_it_is_connected_is_acknowledged() {
    on_engine(async |lab| {
        let request = lab.key("connected");
        let body = json!({
            "Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2031-07-14T08:15:00.000Z",
            "Bucket": lab.output("AssetsBucketName"), "RequestId": request, "HostId": "host",
        });
        let queue = lab.output("ImageQueueName");
        lab.send_to(queue, &body.to_string()).await;
        lab.let_go(queue, &request).await;
        let dead = lab.stack.messages(lab.output("ImageDeadLetterQueueName")).await.expect("the engine answers");
        assert!(!dead.iter().any(|message| message.body.contains(&request)), "it is no failure");
    });
}
