//! Whatever is sent, the answer is an answer.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::bench::{ANN, Bench, payload};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[a-zA-Z.]{0,12}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Bodies that come close: known members with any values.
fn near_job() -> impl Strategy<Value = Value> {
    let names = ["type", "schemaVersion", "idempotencyKey", "businessId", "accountId", "payload", "data", "jobs", "other"];
    let good = Map::from_iter([("type".to_owned(), json!("email.send")), ("payload".to_owned(), payload("m"))]);
    proptest::collection::vec((proptest::sample::select(names.to_vec()), any_json()), 0..3).prop_map(move |changes| {
        let mut members = good.clone();
        members.extend(changes.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Value::Object(members)
    })
}

fn any_method() -> impl Strategy<Value = String> {
    prop_oneof![Just("POST".to_owned()), Just("GET".to_owned()), Just("DELETE".to_owned()), Just("OPTIONS".to_owned()), ".{1,6}"]
}

fn any_path() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("/v1/jobs".to_owned()),
        Just("/v1/jobs/batch".to_owned()),
        "/v1/jobs/email[.]send-[a-z2-7]{0,30}",
        "/(dev/)?v1/jobs/.{0,20}",
        ".{0,20}",
    ]
}

fn status_of(event: &Value) -> Option<u16> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let bench = Bench::new();
        match bench.api.handle(event, &producer_api::Call::default()).await {
            Ok(answer) => {
                assert!(answer.body.is_empty() || serde_json::from_str::<Value>(&answer.body).is_ok());
                assert_eq!(
                    answer.status_code == 202,
                    !bench.records.all().is_empty(),
                    "what is accepted is recorded, and nothing else"
                );
                Some(answer.status_code)
            }
            Err(_) => None,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_event_is_answered_or_refused(event in any_json()) {
        prop_assert!(status_of(&event).is_none_or(|status| status < 500));
    }

    #[test]
    fn any_bytes_as_a_body_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200), method in any_method(), path in any_path(), key in ".{0,20}") {
        use base64::Engine as _;
        let body = base64::engine::general_purpose::STANDARD.encode(bytes);
        let event = json!({"version": "2.0", "rawPath": path, "headers": {"content-type": "application/json", "idempotency-key": key},
            "requestContext": {"http": {"method": method}, "authorizer": {"iam": {"userArn": ANN}}}, "body": body, "isBase64Encoded": true});
        let status = status_of(&event);
        prop_assert!(status.is_some_and(|status| (200..500).contains(&status)), "{status:?}");
    }

    #[test]
    fn any_job_is_answered(job in near_job(), key in proptest::option::of("[a-z]{1,8}")) {
        let mut headers = json!({"Content-Type": "application/json"});
        if let Some(key) = key {
            headers["Idempotency-Key"] = json!(key);
        }
        let event = json!({"httpMethod": "POST", "path": "/v1/jobs", "headers": headers, "body": job.to_string(),
            "requestContext": {"identity": {"userArn": ANN}}});
        let status = status_of(&event);
        prop_assert!(status.is_some_and(|status| [202, 400, 413, 422].contains(&status)), "{status:?}");
    }

    #[test]
    fn any_batch_is_answered(jobs in proptest::collection::vec(near_job(), 0..5)) {
        let event = json!({"httpMethod": "POST", "path": "/v1/jobs/batch", "headers": {"content-type": "application/json"},
            "body": json!({"jobs": jobs}).to_string(), "requestContext": {"identity": {"userArn": ANN}}});
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let bench = Bench::new();
        let answer = runtime.block_on(bench.event(&event));
        if answer.status == 207 {
            let verdicts = answer.body["jobs"].as_array().unwrap();
            prop_assert_eq!(verdicts.len(), jobs.len());
            prop_assert!(verdicts.iter().all(|verdict| verdict["status"].as_u64().is_some_and(|status| status < 500)));
        } else {
            prop_assert_eq!(answer.status, 400);
        }
    }
}
