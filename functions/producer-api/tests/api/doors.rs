//! Payload formats, paths, methods, media types, CORS.

use producer_api::{Call, EventError};
use serde_json::{Value, json};

use crate::bench::{ANN, Bench, email, post, request};

fn rest(method: &str, path: &str, headers: Value, body: &Value) -> Value {
    json!({"version": "1.0", "resource": "/{proxy+}", "httpMethod": method, "path": path, "headers": headers, "multiValueHeaders": null,
        "body": body.to_string(), "isBase64Encoded": false, "requestContext": {"stage": "dev", "identity": {"userArn": ANN}}})
}

#[tokio::test]
async fn every_payload_format_stage_and_slash_reaches_the_same_job() {
    let bench = Bench::new();
    let json_headers = json!({"Content-Type": "application/json", "Idempotency-Key": "k"});
    let mut base64 = post("k", &json!({}));
    base64["body"] = json!(
        "eyJ0eXBlIjoiZW1haWwuc2VuZCIsInBheWxvYWQiOnsiZGVsaXZlcnlJZCI6Im0iLCJ0ZW1wbGF0ZUlkIjoid2VsY29tZSIsInVzZXJJZCI6InVzZXItNDIifX0="
    );
    base64["isBase64Encoded"] = json!(true);
    let mut staged = request(ANN, "POST", "/dev/v1/jobs", &[("idempotency-key", "k")], &email("m"));
    staged["requestContext"]["stage"] = json!("dev");
    let events = [
        post("k", &email("m")),
        rest("POST", "/v1/jobs", json_headers.clone(), &email("m")),
        rest("POST", "/v1/jobs/", json_headers.clone(), &email("m")),
        rest("POST", "/dev/v1/jobs", json_headers, &email("m")),
        request(ANN, "POST", "/v1/jobs/", &[("idempotency-key", "k")], &email("m")),
        staged,
        base64,
    ];
    let mut ids = std::collections::BTreeSet::new();
    for event in events {
        let answer = bench.event(&event).await;
        assert!([202, 409].contains(&answer.status), "{event}: {}", answer.body);
        ids.insert(answer.job_id().to_owned());
    }
    assert_eq!((ids.len(), bench.sent().len()), (1, 1));
}

#[tokio::test]
async fn unknown_paths_are_404_and_wrong_methods_405_with_what_is_allowed() {
    let bench = Bench::new();
    for path in ["/", "/v1", "/v2/jobs", "/v1/jobs/a/b", "/v1/job"] {
        let answer = bench.event(&request(ANN, "GET", path, &[], &Value::Null)).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{path}");
    }
    for (method, path, allow) in [
        ("GET", "/v1/jobs", "POST, OPTIONS"),
        ("GET", "/v1/jobs/batch", "POST, OPTIONS"),
        ("PUT", "/v1/jobs/email.send-x", "GET, HEAD, DELETE, OPTIONS"),
        ("post", "/v1/jobs", "POST, OPTIONS"),
    ] {
        let answer = bench.event(&request(ANN, method, path, &[], &Value::Null)).await;
        assert_eq!(
            (answer.status, answer.code(), answer.header("allow")),
            (405, "method_not_allowed", Some(allow)),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn bodies_are_json_or_refused() {
    let bench = Bench::new();
    for (place, good) in
        ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\"", "application/vnd.shop+json"]
            .iter()
            .enumerate()
    {
        let event =
            request(ANN, "POST", "/v1/jobs", &[("idempotency-key", &place.to_string()), ("content-type", good)], &email("m"));
        assert_eq!(bench.event(&event).await.status, 202, "{good}");
    }
    for bad in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "json", ""] {
        let event = request(ANN, "POST", "/v1/jobs", &[("idempotency-key", "k"), ("content-type", bad)], &email("m"));
        let answer = bench.event(&event).await;
        assert_eq!((answer.status, answer.code()), (415, "unsupported_media_type"), "{bad}");
    }
    let zipped = request(ANN, "POST", "/v1/jobs", &[("idempotency-key", "k"), ("content-encoding", "gzip")], &email("m"));
    assert_eq!(bench.event(&zipped).await.status, 415);
    let mut untyped = post("k", &email("m"));
    untyped["headers"].as_object_mut().unwrap().remove("content-type");
    assert_eq!(bench.event(&untyped).await.status, 415);
}

#[tokio::test]
async fn an_allowed_page_gets_its_headers_on_every_answer_and_another_one_none() {
    let bench = Bench::with([("IKKAI_CORS_ALLOW_ORIGINS", "https://app.example.com, https://b.example")]);
    let from = |origin: &str, job: Value| request(ANN, "POST", "/v1/jobs", &[("idempotency-key", "k"), ("origin", origin)], &job);
    for (job, status) in [(email("m"), 202), (json!({}), 400), (json!({"type": "email.send", "payload": {}}), 422)] {
        let answer = bench.event(&from("https://app.example.com", job.clone())).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.com"));
        assert!(answer.header("access-control-expose-headers").unwrap().contains("location"));
        assert_eq!(answer.header("vary"), Some("Origin"));
        let other = bench.event(&from("https://evil.example", job)).await;
        assert_eq!((other.header("access-control-allow-origin"), other.header("vary")), (None, Some("Origin")));
    }
    let mut anonymous = from("https://b.example", email("m"));
    anonymous["requestContext"]["authorizer"] = Value::Null;
    let answer = bench.event(&anonymous).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (401, Some("https://b.example")));
}

#[tokio::test]
async fn a_preflight_request_allows_the_key_and_needs_no_identity() {
    let bench = Bench::with([("IKKAI_CORS_ALLOW_ORIGINS", "https://app.example.com")]);
    let preflight = |origin: &str| {
        let headers = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "idempotency-key,content-type"),
        ];
        let mut event = request(ANN, "OPTIONS", "/v1/jobs", &headers, &Value::Null);
        event["requestContext"]["authorizer"] = Value::Null;
        event
    };
    let answer = bench.event(&preflight("https://app.example.com")).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.com"));
    for method in ["POST", "GET", "DELETE"] {
        assert!(answer.header("access-control-allow-methods").unwrap().contains(method));
    }
    for name in ["idempotency-key", "content-type", "authorization", "x-amz-date", "x-amz-security-token"] {
        assert!(answer.header("access-control-allow-headers").unwrap().contains(name), "{name}");
    }
    let other = bench.event(&preflight("https://evil.example")).await;
    assert_eq!((other.status, other.header("access-control-allow-methods")), (204, None));
    assert!(bench.store.calls().is_empty());
}

#[tokio::test]
async fn without_configured_origins_there_are_no_cors_headers() {
    let bench = Bench::new();
    let answer = bench
        .event(&request(
            ANN,
            "OPTIONS",
            "/v1/jobs",
            &[("origin", "https://a.b"), ("access-control-request-method", "POST")],
            &Value::Null,
        ))
        .await;
    assert_eq!(
        (answer.status, answer.header("allow"), answer.header("access-control-allow-origin")),
        (204, Some("POST, OPTIONS"), None)
    );
}

#[tokio::test]
async fn an_event_that_is_no_request_is_one_clear_error() {
    let bench = Bench::new();
    let error = bench.api.handle(&json!({"Records": []}), &Call::default()).await.unwrap_err();
    assert_eq!(error, EventError::NotHttp);
    assert_eq!(error.error_type(), "event_not_http");
    assert!(error.to_string().contains("httpMethod"));
}

#[tokio::test]
async fn a_broken_host_header_harms_nobody() {
    let bench = Bench::new();
    let mut event = post("k", &email("m"));
    event["headers"]["host"] = json!("x.execute-api.127.0.0.1:::");
    assert_eq!(bench.event(&event).await.status, 202);
}

#[tokio::test]
async fn the_answer_has_the_shape_that_lambda_s_doors_take() {
    let bench = Bench::new();
    let answer = bench.api.handle(&post("k", &email("m")), &Call::default()).await.unwrap();
    let json = serde_json::to_value(&answer).unwrap();
    let mut members: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, ["body", "headers", "isBase64Encoded", "statusCode"]);
    assert!(json["body"].is_string());
}
