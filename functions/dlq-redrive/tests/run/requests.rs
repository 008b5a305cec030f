//! Requests that cannot be done, and filters.

use std::time::Duration;

use dlq_redrive::protocol::RefusalCode;
use ikkai::idempotency::{ErrorClass, LastError};
use ikkai::queue::{OutgoingMessage, Queue};
use ikkai::testing::SqsOperation;
use serde_json::{Value, json};

use crate::scene::{Scene, envelope};

#[tokio::test(start_paused = true)]
async fn values_out_of_range_are_named() {
    let scene = Scene::new();
    scene.dead("mail-1");
    let cases = [
        (json!({ "max": 0 }), "/max"),
        (json!({ "ratePerSecond": 0 }), "/ratePerSecond"),
        (json!({ "ratePerSecond": 501 }), "/ratePerSecond"),
        (json!({ "canary": 101 }), "/canary"),
        (json!({ "canaryTimeoutSeconds": 0 }), "/canaryTimeoutSeconds"),
        (json!({ "stopAtReturnedPercent": 101 }), "/stopAtReturnedPercent"),
        (json!({ "reason": "" }), "/reason"),
        (json!({ "reason": "x".repeat(501) }), "/reason"),
        (json!({ "claimedBy": "" }), "/claimedBy"),
        (json!({ "runId": "a b" }), "/runId"),
        (json!({ "runId": "" }), "/runId"),
        (json!({ "filter": { "jobIds": ["no id"] } }), "/filter/jobIds/0"),
        (json!({ "filter": { "types": ["email.sent"] } }), "/filter/types/0"),
        (json!({ "filter": { "classes": ["bad"] } }), "/filter/classes/0"),
        (json!({ "filter": { "minAgeSeconds": 10, "maxAgeSeconds": 5 } }), "/filter/maxAgeSeconds"),
    ];
    for (request, pointer) in cases {
        let refusal = scene.redrive(request.clone()).await.expect_err("out of range");
        assert_eq!((refusal.code, refusal.errors[0].pointer.as_str()), (RefusalCode::InvalidRequest, pointer), "{request}");
    }
    let refusal = scene.redrive(json!({ "queue": "emial" })).await.expect_err("no such queue");
    assert_eq!(refusal.code, RefusalCode::UnknownQueue);
    assert_eq!(scene.sqs.count("email-dlq", SqsOperation::Receive), 0);
}

/// The names of the jobs that a filter means.
async fn meant(filter: Value) -> Vec<usize> {
    let scene = Scene::new();
    let jobs = scene.many_dead(3);
    scene.set(&jobs[1], |record| {
        record.last_error = Some(LastError::new(ErrorClass::Transient, "timeout", "no answer"));
    });
    tokio::time::sleep(Duration::from_secs(100)).await;
    let young = scene.dead("mail-young");
    scene.sqs.queue("email-dlq").send(&[OutgoingMessage::new(envelope("mail-direct").to_body())]).await.unwrap();
    scene.sqs.bury("email", &[OutgoingMessage::new("no job")]);
    let answer = scene.redrive(json!({ "filter": filter, "dryRun": true })).await.unwrap();
    let direct = envelope("mail-direct").job_id.unwrap();
    let names = [jobs, vec![young, direct]].concat();
    let mut found: Vec<usize> = answer
        .verdicts
        .iter()
        .map(|verdict| names.iter().position(|name| verdict.job_ids == [name.as_str()]).unwrap_or(5))
        .collect();
    found.sort_unstable();
    found
}

#[tokio::test(start_paused = true)]
async fn filters_mean_what_meets_all_their_members() {
    assert_eq!(meant(json!({})).await, [0, 1, 2, 3, 4, 5]);
    assert_eq!(meant(json!({ "classes": ["transient"] })).await, [1]);
    assert_eq!(meant(json!({ "classes": ["poison"] })).await, [5], "what is no job has its reason too");
    assert_eq!(meant(json!({ "codes": ["unknown_user"] })).await, [0, 2, 3]);
    assert_eq!(meant(json!({ "codes": ["unknown_user", "timeout"], "classes": ["transient"] })).await, [1]);
    assert_eq!(meant(json!({ "minAgeSeconds": 50 })).await, [0, 1, 2]);
    assert_eq!(meant(json!({ "maxAgeSeconds": 50 })).await, [3, 4, 5]);
    assert_eq!(meant(json!({ "sources": ["none"] })).await, [4]);
    assert_eq!(meant(json!({ "sources": ["email"], "maxAgeSeconds": 50 })).await, [3, 5]);
    assert_eq!(meant(json!({ "types": ["email.send"] })).await, [0, 1, 2, 3, 4, 5]);
    assert_eq!(meant(json!({ "types": ["billing.charge"] })).await, [0_usize; 0]);
}
