//! Whom to tell of a job's end.

use ikkai::idempotency::Status;
use serde_json::{Value, json};

use crate::bench::{Bench, email, keyed, payload};

const ON: (&str, &str) = ("IKKAI_CALLBACKS", "on");

fn calling_back(url: &str) -> Value {
    json!({"type": "email.send", "callbackUrl": url, "payload": payload("m")})
}

#[tokio::test]
async fn the_url_is_kept_in_the_record_and_out_of_the_queue() {
    let bench = Bench::with([ON]);
    let answer = bench.post("k", &calling_back("https://Shop.Example:443/hook?token=t0ken")).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    assert_eq!(bench.record().callback_url.as_deref(), Some("https://shop.example/hook?token=t0ken"));
    let message = bench.sent().remove(0);
    assert!(!message.body.contains("shop.example") && message.attributes.is_empty());
    let seen = bench.get(answer.job_id()).await;
    assert_eq!(seen.body["callbackHost"], "shop.example");
    assert!(!seen.body.to_string().contains("t0ken"), "path and query may hold a token");
}

#[tokio::test]
async fn without_callbacks_a_url_is_refused_and_nothing_is_recorded() {
    let bench = Bench::new();
    let answer = bench.post("k", &calling_back("https://shop.example/hook")).await;
    assert_eq!((answer.status, answer.code(), answer.pointers()), (422, "callback_refused", vec!["/callbackUrl"]));
    assert_eq!(answer.body["errors"][0]["code"], "callbacks_off");
    assert!(bench.records.all().is_empty() && bench.sent().is_empty());
    assert_eq!(bench.post("k", &email("m")).await.status, 202, "the key was not used");
}

#[tokio::test]
async fn a_url_that_leads_into_a_network_is_refused_without_being_repeated() {
    let bench = Bench::with([ON]);
    for (url, code) in [
        ("http://shop.example/hook", "not_https"),
        ("https://169.254.169.254/latest/meta-data/", "ip_address"),
        ("https://localhost/hook", "host_not_public"),
        ("https://shop.example:8443/hook", "port_not_allowed"),
        ("https://user:word@shop.example/hook", "user_info"),
    ] {
        let answer = bench.post("k", &calling_back(url)).await;
        assert_eq!((answer.status, answer.code()), (422, "callback_refused"), "{url}");
        assert_eq!(answer.body["errors"][0]["code"], code);
        assert!(!answer.body.to_string().contains(url));
    }
    let wrong_kind = bench.post("k", &json!({"type": "email.send", "callbackUrl": 7, "payload": payload("m")})).await;
    assert_eq!((wrong_kind.status, wrong_kind.pointers()), (400, vec!["/callbackUrl"]));
    let batch = json!([keyed("a", "m"), {"type": "email.send", "idempotencyKey": "b", "callbackUrl": "https://x/", "payload": payload("m")}]);
    let answer = bench.post_batch(&batch).await;
    assert_eq!(answer.body["jobs"][0]["status"], 202);
    assert_eq!(answer.body["jobs"][1]["problem"]["errors"][0]["pointer"], "/jobs/1/callbackUrl");
}

#[tokio::test]
async fn the_url_is_part_of_what_a_key_stands_for() {
    let bench = Bench::with([ON]);
    let first = bench.post("k", &calling_back("https://shop.example/hook")).await;
    bench.change(|record| record.status = Status::Running);
    for other in [calling_back("https://shop.example/other"), email("m")] {
        let answer = bench.post("k", &other).await;
        assert_eq!((answer.status, answer.code()), (422, "idempotency_key_reused"));
    }
    let again = bench.post("k", &calling_back("https://SHOP.example/hook")).await;
    assert_eq!((again.status, again.job_id()), (202, first.job_id()));
}

#[tokio::test]
async fn a_caller_s_default_serves_jobs_that_name_nobody_and_may_change_between_two_tries() {
    let policy = |url: &str| format!(r#"[{{"callers":["*"],"types":["*"],"accounts":["*"],"callbackUrl":"{url}"}}]"#);
    let (old, new) = (policy("https://old.example/hook"), policy("https://new.example/hook"));
    let bench = Bench::with([ON, ("IKKAI_CALLER_POLICY", &old)]);
    bench.post("k", &email("m")).await;
    assert_eq!(bench.record().callback_url.as_deref(), Some("https://old.example/hook"));
    bench.advance(120);
    let after_change = bench.another_sandbox_with([("IKKAI_CALLER_POLICY", &new)]);
    assert_eq!(after_change.post("k", &email("m")).await.status, 202, "the same request is still the same");
    assert_eq!(bench.record().callback_url.as_deref(), Some("https://old.example/hook"));
    after_change.post("l", &calling_back("https://own.example/hook")).await;
    let own = bench.records.all().into_iter().find(|record| record.idempotency_key.as_deref() == Some("l")).unwrap();
    assert_eq!(own.callback_url.as_deref(), Some("https://own.example/hook"));
}

#[cfg(not(feature = "local-callbacks"))]
#[tokio::test]
async fn this_build_does_not_call_back_to_this_machine() {
    let bench = Bench::with([ON]);
    assert_eq!(bench.post("k", &calling_back("http://127.0.0.1:8080/hook")).await.status, 422);
}

#[cfg(feature = "local-callbacks")]
#[tokio::test]
async fn a_build_for_local_engines_calls_back_to_this_machine() {
    let bench = Bench::with([ON]);
    assert_eq!(bench.post("k", &calling_back("http://127.0.0.1:8080/hook")).await.status, 202);
    assert_eq!(bench.post("l", &calling_back("http://10.0.0.1:8080/hook")).await.status, 422);
}
