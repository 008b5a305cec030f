//! What a log line says, and what it does not.

use ikkai::observability::logs::capture::Captured;
use ikkai::observability::logs::{LevelSetting, LogSetup};
use ikkai::testing::{StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::bench::{ANN, BOB, Bench, down, email, keyed, request};

const KEY: &str = "key-of-a-customer";
const MARKERS: [&str; 8] = [KEY, "delivery-zz", "user-42", "welcome", "order-zz", "acme-zz", "assumed-role", "zz@example.com"];

fn captured() -> Captured {
    Captured::start(LogSetup::new(LevelSetting::Trace).own_crate("producer_api"))
}

#[tokio::test]
async fn a_request_is_one_line_with_its_job_and_its_outcome() {
    let bench = Bench::new();
    let log = captured();
    let answer = bench.post(KEY, &email("m")).await;
    let line = log.only_line();
    assert_eq!(
        (&line["message"], &line["status"], &line["method"], &line["route"]),
        (&json!("request answered"), &json!(202), &json!("POST"), &json!("/v1/jobs"))
    );
    assert_eq!(
        (line["job_id"].as_str(), &line["job_type"], &line["request_id"]),
        (Some(answer.job_id()), &json!("email.send"), &json!("request-1"))
    );
    assert!(line["duration_ms"].is_u64() && line.get("error_code").is_none() && line["level"] == "INFO");
    drop(log);

    let log = captured();
    bench.post_batch(&json!([keyed("a", "m"), {}])).await;
    let line = log.only_line();
    assert_eq!(
        (&line["route"], &line["status"], &line["jobs"], &line["jobs_accepted"]),
        (&json!("/v1/jobs/batch"), &json!(207), &json!(2), &json!(1))
    );
}

#[tokio::test]
async fn refusals_carry_their_code_and_failures_are_warnings() {
    let bench = Bench::new();
    let log = captured();
    bench.post(KEY, &json!({})).await;
    assert_eq!((&log.only_line()["error_code"], &log.only_line()["level"]), (&json!("request_invalid"), &json!("INFO")));
    drop(log);
    let log = captured();
    bench.store.fail_next(StoreCall::Create, StoreFault::Unreachable);
    bench.post(KEY, &email("m")).await;
    assert!(log.parsed().iter().all(|line| line["level"] == "WARN"));
    assert_eq!(log.parsed().last().unwrap()["error_code"], "store_unavailable");
}

#[tokio::test]
async fn no_key_payload_address_or_caller_is_in_any_line() {
    let bench = Bench::with([("IKKAI_MAX_QUEUE_DEPTH", "1000")]);
    let log = captured();
    let good = json!({"type": "email.send", "businessId": "order-zz", "accountId": "acme-zz",
        "payload": {"deliveryId": "delivery-zz", "templateId": "welcome", "userId": "user-42"}});
    let bad = json!({"type": "email.send", "businessId": "zz@example.com", "accountId": "acme-zz", "user-42": 1,
        "payload": {"deliveryId": "zz@example.com", "order-zz": "delivery-zz"}});
    bench.refuse_next_send(down());
    let posted = bench.post(KEY, &good).await;
    assert_eq!(posted.status, 503);
    for job in [&good, &good, &bad, &json!("user-42")] {
        bench.post(KEY, job).await;
        bench.post_batch(&json!([job, keyed(KEY, "delivery-zz")])).await;
    }
    bench.post("zz@example.com", &good).await;
    let mut other = good.clone();
    other["payload"]["userId"] = json!("user-43");
    bench.post(KEY, &other).await;
    let job_id = bench.records.all()[0].job_id.to_string();
    for arn in [ANN, BOB, "arn:aws:sts::1:assumed-role/zz@example.com"] {
        bench.event(&request(arn, "GET", &format!("/v1/jobs/{job_id}"), &[], &Value::Null)).await;
        bench.event(&request(arn, "DELETE", "/v1/jobs/zz@example.com", &[], &Value::Null)).await;
        bench.event(&request(arn, "user-42", "/user-42/zz@example.com", &[], &Value::Null)).await;
    }
    let lines = log.lines();
    assert!(lines.len() > 15);
    for line in lines {
        for marker in MARKERS {
            assert!(!line.contains(marker), "{marker} in {line}");
        }
    }
}
