//! The archive in S3.

use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{BehaviorVersion, Builder, Credentials, Region};
use dlq_redrive::archive::{Archive as _, ArchiveError, S3Archive};
use serde_json::json;

use crate::stub::{Answer, Stub};

fn archive(stub: &Stub) -> S3Archive {
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(stub.url())
        .force_path_style(true)
        .retry_config(RetryConfig::disabled());
    S3Archive::new(aws_sdk_s3::Client::from_conf(config.build()), "shop-archive", "discarded/")
}

#[tokio::test]
async fn a_document_is_put_below_the_prefix_with_a_checksum() {
    let stub = Stub::start(|_, _| Answer::ok("")).await;
    let document = json!({"message": {"body": "{\"a\":1}"}, "records": []});
    archive(&stub).put("shop-email-dlq/2026-01-31/run-1/message-1.json", &document).await.unwrap();
    let requests = stub.requests();
    assert!(requests[0].line.starts_with("PUT /shop-archive/discarded/shop-email-dlq/2026-01-31/run-1/message-1.json"));
    assert_eq!(requests[0].header("content-type"), Some("application/json"));
    assert!(requests[0].header("x-amz-checksum-crc32").is_some(), "{}", requests[0].head);
    assert_eq!(requests[0].json(), document);
    assert_eq!(archive(&stub).place("a.json"), "s3://shop-archive/discarded/a.json");
    assert_eq!(archive(&stub).place(""), "s3://shop-archive/discarded/");
}

#[tokio::test]
async fn a_refusal_is_told_by_its_code_and_a_lost_answer_is_no_success() {
    for (status, code) in [(403, "AccessDenied"), (404, "NoSuchBucket"), (503, "SlowDown")] {
        let body = format!("<Error><Code>{code}</Code><Message>secret</Message></Error>");
        let stub = Stub::start(move |_, _| Answer(status, String::new(), body.clone())).await;
        let refused = archive(&stub).put("a.json", &json!({})).await;
        assert_eq!(refused, Err(ArchiveError { code: code.to_owned() }));
    }
    let gone = Stub::start(|_, _| Answer::ok("")).await;
    let archive = archive(&gone);
    drop(gone);
    let refused = archive.put("a.json", &json!({})).await.unwrap_err();
    assert!(refused.to_string().contains("nothing was removed"), "{refused}");
}
