//! Headers that two readers could read differently.

use serde_json::{Value, json};

use crate::bench::{ANN, Bench, email, post};

/// What a REST API makes of a request whose headers came like this.
fn rest(headers: Value) -> Value {
    let mut all = json!({"Content-Type": ["application/json"], "Idempotency-Key": ["k"]});
    for (name, values) in headers.as_object().into_iter().flatten() {
        all[name] = values.clone();
    }
    let last = |values: &Value| values.as_array().and_then(|values| values.last()).cloned().unwrap_or_default();
    let single = all.as_object().into_iter().flatten().map(|(name, values)| (name.clone(), last(values)));
    json!({"version": "1.0", "httpMethod": "POST", "path": "/v1/jobs", "headers": Value::Object(single.collect()), "multiValueHeaders": all,
        "body": email("m").to_string(), "isBase64Encoded": false, "requestContext": {"stage": "dev", "identity": {"userArn": ANN}}})
}

/// The same of a function URL or an HTTP API, which join the values of one name.
fn joined(name: &str, value: &str) -> Value {
    let mut event = post("k", &email("m"));
    event["headers"][name] = json!(value);
    event
}

#[tokio::test]
async fn a_media_type_or_a_coding_that_came_twice_is_refused_through_every_door() {
    let bench = Bench::new();
    for event in [
        rest(json!({"Content-Type": ["application/json", "text/plain"]})),
        rest(json!({"Content-Type": ["application/json", "application/json"]})),
        rest(json!({"Content-Type": ["application/json"], "content-type": ["text/plain"]})),
        rest(json!({"Content-Encoding": ["identity", "gzip"]})),
        joined("content-type", "application/json,text/plain"),
        joined("content-type", "application/json, application/json"),
        joined("content-type", "application/x,text/html+json"),
        joined("content-encoding", "identity, gzip"),
    ] {
        let answer = bench.event(&event).await;
        assert_eq!((answer.status, answer.code()), (415, "unsupported_media_type"), "{event}");
    }
    assert!(bench.store.calls().is_empty() && bench.sent().is_empty());
    assert_eq!(bench.event(&rest(json!({}))).await.status, 202);
}

/// The door has read the body by its own rules. A second opinion about where it ends is how requests are smuggled.
#[tokio::test]
async fn headers_about_the_length_of_the_body_change_nothing() {
    let bench = Bench::new();
    let mut ids = std::collections::BTreeSet::new();
    for event in [
        joined("content-length", "0"),
        joined("content-length", "5, 999999"),
        joined("content-length", "-1"),
        joined("transfer-encoding", "chunked"),
        rest(json!({"Content-Length": ["1", "2"], "Transfer-Encoding": ["chunked", "identity"]})),
    ] {
        let answer = bench.event(&event).await;
        assert!([202, 409].contains(&answer.status), "{event}: {}", answer.body);
        ids.insert(answer.job_id().to_owned());
    }
    assert_eq!((ids.len(), bench.sent().len()), (1, 1));
}

/// Only the door writes who asks; what looks like it anywhere else is the client's text.
#[tokio::test]
async fn an_identity_that_a_client_writes_is_none() {
    let bench = Bench::new();
    let claims = json!({"authorizer": {"iam": {"userArn": ANN}, "jwt": {"claims": {"iss": "i", "sub": "s"}}}, "identity": {"userArn": ANN}});
    let mut event = post("k", &email("m"));
    event["requestContext"]["authorizer"] = Value::Null;
    for name in ["x-amzn-iam-userarn", "requestcontext", "x-amzn-request-context", "x-amz-user-arn", "x-forwarded-user"] {
        event["headers"][name] = json!(claims.to_string());
    }
    event["queryStringParameters"] = json!({"requestContext": claims.to_string()});
    event["body"] = json!({"type": "email.send", "payload": {}, "requestContext": claims}).to_string().into();
    assert_eq!(bench.event(&event).await.status, 401);
    assert!(bench.store.calls().is_empty());
}
