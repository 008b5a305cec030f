//! The consumer on the bench with a bucket in memory, and originals of the test's choice.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::{io::Cursor, sync::Arc};

use ikkai::{
    config::Reader,
    consumer::ConsumerSettings,
    idempotency::{ErrorClass, JobRecord, Status},
    queue::QueueName,
    testing::{self, BatchRun, Bench, MessageBuilder},
};
use image::{DynamicImage, ImageFormat as FileFormat};
use image_consumer::{Capacity, ImageHandler, ImageSettings, MemoryObjects};
use serde_json::{Value, json};

/// The file of a fixture.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(path).expect("a fixture")
}

/// A consumer of bucket `assets` (`uploads/` to `derived/`).
pub(crate) struct Scene {
    pub(crate) bench: Bench<ImageHandler>,
    pub(crate) objects: Arc<MemoryObjects>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(&[], testing::settings())
    }

    pub(crate) fn with(variables: &[(&str, &str)], consumer: ConsumerSettings) -> Self {
        Self::with_capacity(variables, consumer, None)
    }

    pub(crate) fn with_capacity(variables: &[(&str, &str)], consumer: ConsumerSettings, capacity: Option<Capacity>) -> Self {
        let mut reader = Reader::from_pairs([("IKKAI_ORIGINALS_BUCKET", "assets")].iter().chain(variables).copied());
        let settings = ImageSettings::read(&mut reader);
        let mut settings = reader.finish(settings).expect("valid settings");
        settings.capacity = capacity.unwrap_or(settings.capacity);
        let objects = Arc::new(MemoryObjects::new());
        let handler = ImageHandler::new(objects.clone(), settings);
        let consumer = ConsumerSettings { queue_name: QueueName::new("image"), ..consumer };
        Self { bench: Bench::with(handler, consumer), objects }
    }

    /// Puts an original there.
    pub(crate) fn upload(&self, asset: &str, bytes: impl Into<bytes::Bytes>) {
        self.objects.add("assets", &format!("uploads/{asset}"), bytes);
    }

    pub(crate) async fn deliver(&self, message: &MessageBuilder) -> BatchRun {
        self.bench.run_batch([message.build()]).await.unwrap()
    }

    pub(crate) fn record(&self, message: &MessageBuilder) -> JobRecord {
        self.bench.record_of(message).expect("a record")
    }

    /// The only record that there is: of a job whose id the test does not know.
    pub(crate) fn only_record(&self) -> JobRecord {
        let records = self.bench.records.all();
        let [record] = &records[..] else { panic!("{} records", records.len()) };
        record.clone()
    }

    /// Status, class and code of how it ended.
    pub(crate) fn ending(&self, message: &MessageBuilder) -> (Status, Option<(ErrorClass, String)>) {
        let record = self.record(message);
        (record.status, record.last_error.map(|error| (error.class, error.code)))
    }

    /// The keys that were written.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.objects.written().into_keys().collect()
    }

    /// An output, decoded.
    pub(crate) fn picture(&self, key: &str) -> DynamicImage {
        image::load_from_memory(&self.objects.written()[key].bytes).expect("a picture")
    }
}

/// A job for one asset.
pub(crate) fn job(asset: &str, sizes: &[u32], formats: &[&str]) -> MessageBuilder {
    message(json!({"assetId": asset, "sizes": sizes, "formats": formats}))
}

pub(crate) fn message(payload: Value) -> MessageBuilder {
    MessageBuilder::job("image-1", "image.resize", "image-1", payload).queue("image")
}

/// What S3 tells about an upload. Its keys are encoded as in forms
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html>).
pub(crate) fn notification(bucket: &str, encoded_key: &str, version: Option<&str>, size: u64) -> MessageBuilder {
    let body = json!({"Records": [{
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": "2031-01-01T00:00:00.000Z",
        "eventName": "ObjectCreated:Put",
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "uploads",
            "bucket": {"name": bucket, "arn": format!("arn:aws:s3:::{bucket}")},
            "object": {"key": encoded_key, "size": size, "eTag": "d41d8cd98f00b204e9800998ecf8427e", "versionId": version,
                "sequencer": "0055AED6DCD90281E5"}
        }
    }]});
    MessageBuilder::new("image-1", body.to_string()).queue("image")
}

/// A picture as a file.
pub(crate) fn file(picture: impl Into<DynamicImage>, format: FileFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    picture.into().write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

/// A soft picture of any size.
pub(crate) fn waves(width: u32, height: u32) -> image::RgbImage {
    image::RgbImage::from_fn(width, height, |x, y| {
        let wave = |a: f32, b: f32| (127.0 + 120.0 * (x as f32 * a + y as f32 * b).sin()) as u8;
        image::Rgb([wave(0.05, 0.02), wave(0.01, 0.06), wave(-0.03, 0.04)])
    })
}
