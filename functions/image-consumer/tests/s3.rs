//! The bucket over the wire: what is asked of S3, and what its answers mean.

use aws_sdk_s3::config::{BehaviorVersion, Builder, Credentials, Region, retry::RetryConfig};
use ikkai::{
    aws::connections,
    job::VersionId,
    testing::{HttpReply, HttpStub},
};
use image_consumer::{NewObject, ObjectAddress, ObjectError, Objects as _, S3Objects};

fn config(url: &str, attempts: u32) -> Builder {
    Builder::new()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(connections::shared())
        .endpoint_url(url)
        .force_path_style(true)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .retry_config(
            RetryConfig::standard().with_max_attempts(attempts).with_initial_backoff(std::time::Duration::from_millis(1)),
        )
}

fn objects(stub: &HttpStub) -> S3Objects {
    S3Objects::new(config(&stub.url(), 1))
}

fn original(version: Option<&str>) -> ObjectAddress {
    let version_id = version.map(|version| VersionId::parse(version).unwrap());
    ObjectAddress { bucket: "assets".to_owned(), key: "uploads/a b/ü+%.jpg".to_owned(), version_id }
}

fn output() -> NewObject {
    NewObject {
        bucket: "assets".to_owned(),
        key: "derived/a b/ü.jpg/256.webp".to_owned(),
        content_type: "image/webp",
        cache_control: "public, max-age=60".to_owned(),
        bytes: bytes::Bytes::from_static(b"RIFF"),
    }
}

async fn read(reply: HttpReply) -> Result<bytes::Bytes, ObjectError> {
    let stub = HttpStub::replying(reply).await;
    objects(&stub).open(&original(None)).await?.read().await
}

fn refusal(status: u16, code: &str) -> HttpReply {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>secret key name</Message></Error>");
    HttpReply::with_fields(status, "content-type: application/xml\r\n", body)
}

#[tokio::test]
async fn an_original_is_read_in_the_version_that_is_named_and_under_its_exact_key() {
    let stub = HttpStub::replying(HttpReply::new(200, "pixels")).await;
    let download = objects(&stub).open(&original(Some("v+1"))).await.unwrap();
    assert_eq!(download.length(), 6);
    assert_eq!(download.read().await.unwrap(), b"pixels"[..]);
    let requests = stub.requests();
    let line = requests[0].line();
    assert!(line.starts_with("GET /assets/uploads/a%20b/%C3%BC%2B%25.jpg?"), "{line}");
    assert!(line.contains("versionId=v%2B1"), "{line}");
}

#[tokio::test]
async fn an_output_is_written_with_its_media_type_and_cache_rule() {
    let stub = HttpStub::replying(HttpReply::new(200, "")).await;
    objects(&stub).put(output()).await.unwrap();
    let request = stub.requests().remove(0);
    assert!(request.line().starts_with("PUT /assets/derived/a%20b/%C3%BC.jpg/256.webp"), "{}", request.line());
    assert_eq!(request.header("content-type"), Some("image/webp"));
    assert_eq!(request.header("cache-control"), Some("public, max-age=60"));
    assert_eq!(request.body, b"RIFF");
}

#[tokio::test]
async fn a_body_that_ends_early_is_not_an_original() {
    let answer = read(HttpReply::Bytes("HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\nhalf".into())).await;
    assert_eq!(answer, Err(ObjectError::Unavailable { code: "bucket_connection_lost" }));
}

#[tokio::test]
async fn refusals_are_told_apart_and_say_nothing_of_what_s3_wrote() {
    for (status, code, expected) in [
        (404, "NoSuchKey", "original_not_found"),
        (404, "NoSuchVersion", "original_not_found"),
        (403, "AccessDenied", "bucket_access_denied"),
        (403, "InvalidObjectState", "original_archived"),
        (503, "SlowDown", "bucket_throttled"),
        (500, "InternalError", "bucket_error"),
    ] {
        let error = read(refusal(status, code)).await.unwrap_err();
        assert_eq!(error.code(), expected);
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}

#[tokio::test]
async fn a_connection_that_is_lost_is_worth_another_try() {
    assert_eq!(read(HttpReply::Close).await.unwrap_err(), ObjectError::Unavailable { code: "bucket_connection_lost" });
    let stub = HttpStub::replying(HttpReply::Close).await;
    let error = objects(&stub).put(output()).await.unwrap_err();
    assert_eq!(error, ObjectError::Unavailable { code: "bucket_connection_lost" });
}

#[tokio::test]
async fn a_bucket_that_cannot_be_reached_is_told_apart_from_a_lost_connection() {
    let stub = HttpStub::replying(HttpReply::Close).await;
    let objects = objects(&stub);
    stub.stop().await;
    let outage = ObjectError::Outage { code: "bucket_unreachable" };
    assert_eq!(objects.open(&original(None)).await.map(drop), Err(outage.clone()));
    assert_eq!(objects.put(output()).await, Err(outage));
}

#[tokio::test]
async fn the_sdk_repeats_what_was_throttled() {
    let stub = HttpStub::scripted([refusal(503, "SlowDown"), HttpReply::new(200, "pixels")]).await;
    let objects = S3Objects::new(config(&stub.url(), 3));
    assert_eq!(objects.open(&original(None)).await.unwrap().read().await.unwrap(), b"pixels"[..]);
    assert_eq!(stub.requests().len(), 2);
}
