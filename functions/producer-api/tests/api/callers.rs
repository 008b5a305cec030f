//! Who may call, and what.

use serde_json::{Value, json};

use crate::bench::{ANN, BOB, Bench, email, payload, request};

fn without_identity(method: &str, path: &str, body: &Value) -> Value {
    let mut event = request(ANN, method, path, &[("idempotency-key", "k")], body);
    event["requestContext"]["authorizer"] = Value::Null;
    event
}

#[tokio::test]
async fn without_an_identity_every_call_is_401() {
    let bench = Bench::new();
    let job = bench.post("mine", &email("m")).await;
    let path = format!("/v1/jobs/{}", job.job_id());
    for (method, path, body) in [
        ("POST", "/v1/jobs", email("m")),
        ("POST", "/v1/jobs/batch", json!({"jobs": []})),
        ("GET", path.as_str(), Value::Null),
        ("HEAD", path.as_str(), Value::Null),
        ("DELETE", path.as_str(), Value::Null),
    ] {
        let answer = bench.event(&without_identity(method, path, &body)).await;
        assert_eq!(answer.status, 401, "{method} {path}");
        assert!(answer.header("www-authenticate").is_some());
    }
    assert_eq!(bench.sent().len(), 1);
}

/// The signature of a request that no authorizer has checked is worth nothing. A build for local engines believes it, and is not deployed.
#[cfg(not(feature = "local-identity"))]
#[tokio::test]
async fn this_build_does_not_believe_an_unchecked_signature() {
    let bench = Bench::new();
    let mut event = without_identity("POST", "/v1/jobs", &email("m"));
    event["headers"]["authorization"] =
        json!("AWS4-HMAC-SHA256 Credential=ann/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=00");
    let answer = bench.event(&event).await;
    assert_eq!((answer.status, answer.code()), (401, "unauthenticated"));
    assert!(bench.store.calls().is_empty());
}

#[cfg(feature = "local-identity")]
#[tokio::test]
async fn a_build_for_local_engines_takes_the_access_key_id_as_the_caller() {
    let bench = Bench::new();
    let signed = |key_id: &str| {
        let mut event = without_identity("POST", "/v1/jobs", &email("m"));
        event["headers"]["authorization"] = json!(format!(
            "AWS4-HMAC-SHA256 Credential={key_id}/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=00"
        ));
        event
    };
    let (ann, bob) = (bench.event(&signed("ann")).await, bench.event(&signed("bob")).await);
    assert_eq!((ann.status, bob.status), (202, 202));
    assert_ne!(ann.job_id(), bob.job_id());
    assert!(bench.records.all().iter().any(|record| record.caller == "local:ann"));
}

#[tokio::test]
async fn tokens_are_callers_by_issuer_and_claim() {
    let bench = Bench::with([("IKKAI_JWT_CALLER_CLAIM", "client_id")]);
    let mut event = request(ANN, "POST", "/v1/jobs", &[("idempotency-key", "k")], &email("m"));
    event["requestContext"]["authorizer"] =
        json!({"jwt": {"claims": {"iss": "https://id.example", "sub": "s", "client_id": "shop"}}});
    assert_eq!(bench.event(&event).await.status, 202);
    assert_eq!(bench.record().caller, "jwt:https://id.example#shop");
    event["requestContext"]["authorizer"] = json!({"jwt": {"claims": {"iss": "https://id.example", "sub": "s"}}});
    let answer = bench.event(&event).await;
    assert_eq!(answer.status, 401);
    assert!(answer.body["detail"].as_str().unwrap().contains("client_id"), "{}", answer.body);
}

#[tokio::test]
async fn a_rest_api_s_identities_are_known_too() {
    let bench = Bench::new();
    let event = json!({"version": "1.0", "httpMethod": "POST", "path": "/v1/jobs", "body": email("m").to_string(),
        "headers": {"Content-Type": "application/json", "Idempotency-Key": "k"},
        "requestContext": {"stage": "prod", "identity": {"userArn": ANN, "cognitoIdentityId": null}}});
    assert_eq!(bench.event(&event).await.status, 202);
    assert_eq!(bench.record().caller, "arn:aws:sts::123456789012:assumed-role/ann");
}

#[tokio::test]
async fn the_policy_decides_by_caller_type_and_account() {
    let policy = r#"[{"callers":["arn:aws:sts::123456789012:assumed-role/ann"],"types":["email.send"],"accounts":["acme"]}]"#;
    let bench = Bench::with([("IKKAI_CALLER_POLICY", policy)]);
    let job = |account: &str| json!({"type": "email.send", "accountId": account, "payload": payload("m")});
    let report = json!({"type": "report.generate", "accountId": "acme", "payload": payload("m"), "data": {}});
    assert_eq!(bench.post("k", &job("acme")).await.status, 202);
    for (arn, job) in [(BOB, job("acme")), (ANN, job("other")), (ANN, email("no-account")), (ANN, report)] {
        let answer = bench.event(&request(arn, "POST", "/v1/jobs", &[("idempotency-key", "l")], &job)).await;
        assert_eq!((answer.status, answer.code()), (403, "not_permitted"), "{job}");
    }
    let batch = json!([{"type": "email.send", "idempotencyKey": "x", "payload": payload("m")}]);
    assert_eq!(bench.post_batch(&batch).await.body["jobs"][0]["status"], 403);
    assert_eq!(bench.sent().len(), 1);
}

#[tokio::test]
async fn the_policy_decides_who_may_name_which_payload_and_says_which_member_is_in_the_way() {
    let policy = r#"[{"callers":["*"],"types":["email.send"],"payload":{"userId":["user-42","staff-*"]}}]"#;
    let bench = Bench::with([("IKKAI_CALLER_POLICY", policy)]);
    let to = |user: &str| json!({"type": "email.send", "payload": {"deliveryId": "m", "templateId": "welcome", "userId": user}});
    for (key, user) in [("a", "user-42"), ("b", "staff-7")] {
        assert_eq!(bench.post(key, &to(user)).await.status, 202);
    }
    let answer = bench.post("c", &to("user-43")).await;
    assert_eq!((answer.status, answer.code()), (403, "not_permitted"));
    let detail = answer.body["detail"].as_str().unwrap();
    assert!(detail.contains("/payload/userId") && !detail.contains("user-43"), "{detail}");
    assert_eq!(bench.sent().len(), 2);
}

/// A payload that names an account is a job for that account, whatever the request says or leaves out.
#[tokio::test]
async fn the_account_of_a_payload_is_the_account_of_its_job() {
    let policy = r#"[{"callers":["*"],"types":["*"],"accounts":["acme"]}]"#;
    let bench = Bench::with([("IKKAI_CALLER_POLICY", policy)]);
    let report = |account: &str| json!({"type": "account.report", "payload": {"reportId": "r", "accountId": account, "period": "2026-01"}});
    let asking = |account: &str, of_request: &str| {
        let mut job = report(account);
        job["accountId"] = json!(of_request);
        job
    };
    let left_out = bench.post("a", &report("acme")).await;
    assert_eq!(left_out.status, 202, "{}", left_out.body);
    assert_eq!(bench.record().account_id.as_deref(), Some("acme"));
    let named = bench.post("a", &asking("acme", "acme")).await;
    assert_eq!((named.status, named.job_id()), (202, left_out.job_id()), "the same request in other words");
    assert_eq!(bench.post("b", &report("other")).await.status, 403);
    let contradicting = bench.post("c", &asking("other", "acme")).await;
    assert_eq!((contradicting.status, contradicting.pointers()), (400, vec!["/accountId"]));
    assert_eq!(bench.records.all().len(), 1);
}

#[tokio::test]
async fn an_empty_policy_lets_nobody_post() {
    let bench = Bench::with([("IKKAI_CALLER_POLICY", "[]")]);
    assert_eq!(bench.post("k", &email("m")).await.status, 403);
}

#[tokio::test]
async fn who_may_not_post_learns_nothing_about_the_payload() {
    let bench = Bench::with([("IKKAI_CALLER_POLICY", "[]")]);
    let answer = bench.post("k", &json!({"type": "email.send", "payload": {"nonsense": 1}})).await;
    assert_eq!((answer.status, answer.pointers().len()), (403, 0));
}
