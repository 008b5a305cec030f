//! What is asked of the reports bucket, and how its answers are read.

use aws_sdk_s3::config::{BehaviorVersion, Builder, Credentials, Region, retry::RetryConfig};
use ikkai::testing::{HttpReply, HttpStub};
use report_consumer::{Object, ObjectKind, ReportStore as _, ReportStoreError, S3ReportStore, UploadedPart};

const KEY: &str = "reports/account-7/a=2Fb.csv";

fn store(stub: &HttpStub) -> S3ReportStore {
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .force_path_style(true)
        .endpoint_url(stub.url());
    S3ReportStore::new(config, "reports")
}

fn csv() -> ObjectKind {
    ObjectKind::Csv("a=2Fb.csv".to_owned())
}

fn refusal(status: u16, code: &str) -> HttpReply {
    HttpReply::new(status, format!("<Error><Code>{code}</Code><Message>secret</Message></Error>"))
}

#[tokio::test]
async fn objects_are_written_with_their_type_and_checksum_and_without_an_acl() {
    let stub = HttpStub::replying(HttpReply::new(200, "")).await;
    for (kind, content_type, disposition) in [
        (csv(), "text/csv; charset=utf-8; header=present", Some("attachment; filename=\"a=2Fb.csv\"")),
        (ObjectKind::Html, "text/html; charset=utf-8", Some("inline")),
        (ObjectKind::Draft, "application/octet-stream", None),
    ] {
        store(&stub).put(Object { key: KEY.to_owned(), kind, body: b"body".to_vec() }).await.unwrap();
        let request = stub.requests().pop().unwrap();
        assert!(request.line().starts_with("PUT /reports/reports/account-7/a%3D2Fb.csv?"), "{}", request.line());
        assert_eq!((request.header("content-type"), request.header("content-disposition")), (Some(content_type), disposition));
        assert!(request.header("x-amz-checksum-crc32").is_some() && request.header("x-amz-acl").is_none());
        assert_eq!(request.body, b"body");
    }
}

#[tokio::test]
async fn an_object_that_is_not_there_is_none_and_a_denied_one_is_an_error() {
    let stub = HttpStub::start(|request, _| match request.line().split(['?', ' ']).nth(1) {
        Some("/reports/there") => HttpReply::new(200, "bytes"),
        Some("/reports/gone") => refusal(404, "NoSuchKey"),
        _ => refusal(403, "AccessDenied"),
    })
    .await;
    let store = store(&stub);
    assert_eq!(store.get("there").await, Ok(Some(b"bytes".to_vec())));
    assert_eq!(store.get("gone").await, Ok(None));
    assert!(matches!(store.get("denied").await, Err(ReportStoreError::Refused { operation: "GetObject", .. })));
}

#[tokio::test]
async fn an_upload_carries_its_parts_and_their_checksums_to_the_end() {
    let stub = HttpStub::start(|request, _| match request.line() {
        line if line.starts_with("POST") && line.contains("uploads") => {
            HttpReply::new(200, "<InitiateMultipartUploadResult><UploadId>Up-1</UploadId></InitiateMultipartUploadResult>")
        }
        line if line.starts_with("PUT") => {
            let sum = request.header("x-amz-checksum-crc32").unwrap().to_owned();
            HttpReply::with_fields(200, format!("etag: \"part-etag\"\r\nx-amz-checksum-crc32: {sum}\r\n"), "")
        }
        line if line.starts_with("POST") => {
            HttpReply::new(200, "<CompleteMultipartUploadResult><ETag>\"e-1\"</ETag></CompleteMultipartUploadResult>")
        }
        _ => HttpReply::new(204, ""),
    })
    .await;
    let store = store(&stub);
    assert_eq!(store.least_part_bytes(), 5_242_880);
    let upload = store.begin_upload(KEY, &csv()).await.unwrap();
    let part = store.upload_part(KEY, &upload, 1, b"part".to_vec()).await.unwrap();
    assert_eq!((upload.as_str(), part.number, part.etag.as_str()), ("Up-1", 1, "\"part-etag\""));
    store.complete_upload(KEY, &upload, std::slice::from_ref(&part)).await.unwrap();
    store.abort_upload(KEY, &upload).await.unwrap();

    let requests = stub.requests();
    assert_eq!(requests[0].header("x-amz-checksum-algorithm"), Some("CRC32"));
    assert_eq!(requests[0].header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    assert!(
        requests[1].line().contains("partNumber=1") && requests[1].line().contains("uploadId=Up-1"),
        "{}",
        requests[1].line()
    );
    let end = String::from_utf8_lossy(&requests[2].body).into_owned();
    assert!(end.contains("<PartNumber>1</PartNumber>") && end.contains("part-etag"), "{end}");
    assert!(end.contains("<ChecksumCRC32>"), "the parts' checksums are a part of the object's: {end}");
    assert!(requests[3].line().starts_with("DELETE ") && requests[3].line().contains("uploadId=Up-1"));
}

#[tokio::test]
async fn an_upload_that_is_gone_is_told_apart_from_a_bucket_that_refuses() {
    let unavailable = |code: &str| ReportStoreError::Unavailable { operation: "UploadPart", code: code.to_owned() };
    for (status, code, expected) in [
        (404, "NoSuchUpload", ReportStoreError::UploadGone),
        (400, "InvalidPart", ReportStoreError::UploadGone),
        (503, "SlowDown", ReportStoreError::Throttled),
        (403, "AccessDenied", ReportStoreError::Refused { operation: "UploadPart", code: "AccessDenied".to_owned() }),
        (404, "NoSuchBucket", ReportStoreError::Refused { operation: "UploadPart", code: "NoSuchBucket".to_owned() }),
        (500, "InternalError", ReportStoreError::Outage { operation: "UploadPart", code: "InternalError".to_owned() }),
        (400, "SomethingNew", unavailable("SomethingNew")),
    ] {
        let stub = HttpStub::replying(refusal(status, code)).await;
        let error = store(&stub).upload_part(KEY, "Up-1", 1, b"part".to_vec()).await.unwrap_err();
        assert!(!error.to_string().contains("secret"));
        assert_eq!(error, expected, "{code}");
    }
}

#[tokio::test]
async fn a_bucket_that_cannot_be_reached_is_an_outage() {
    let stub = HttpStub::replying(HttpReply::new(200, "")).await;
    let store = store(&stub);
    stub.stop().await;
    let outage = ReportStoreError::Outage { operation: "GetObject", code: "no connection".to_owned() };
    assert_eq!(store.get("there").await, Err(outage));
}

#[tokio::test]
async fn a_completion_whose_error_comes_with_status_200_is_an_error() {
    // S3 begins its answer before it knows how it ends (https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html).
    let stub = HttpStub::replying(refusal(200, "InternalError")).await;
    let part = UploadedPart { number: 1, etag: "e".to_owned(), crc32: None };
    let error = store(&stub).complete_upload(KEY, "Up-1", &[part]).await.unwrap_err();
    assert_eq!(error.code(), "reports_outage");
}

#[tokio::test]
async fn an_upload_that_cannot_be_given_up_because_it_is_gone_is_given_up() {
    let stub = HttpStub::replying(refusal(404, "NoSuchUpload")).await;
    assert_eq!(store(&stub).abort_upload(KEY, "Up-1").await, Ok(()));
}
