//! The scan for jobs that do not go on.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region};
use dlq_redrive::stuck::{DynamoDbStuckJobs, StuckJobs as _};
use ikkai::clock::EpochMillis;
use ikkai::idempotency::StoreError;
use serde_json::{Value, json};

use crate::stub::{Answer, Request, Stub};

const BEFORE: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

fn stuck(stub: &Stub) -> DynamoDbStuckJobs {
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(stub.url())
        .retry_config(RetryConfig::disabled());
    DynamoDbStuckJobs::new(aws_sdk_dynamodb::Client::from_conf(config.build()), "jobs")
}

fn item(job_id: &str, status: &str, more: Value) -> Value {
    let mut item = json!({"job_id": {"S": job_id}, "type": {"S": "email.send"}, "status": {"S": status}, "updated_at": {"N": "1799999999000"}});
    item.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    item
}

#[tokio::test]
async fn the_table_is_read_to_its_end_without_anything_private() {
    let stub = Stub::start(|_, before| match before {
        0 => Answer::ok(json!({
            "Items": [item("a", "accepted", json!({})), item("b", "accepted", json!({"type": {"S": "image.resize"}}))],
            "LastEvaluatedKey": {"job_id": {"S": "b"}},
        })),
        _ => Answer::ok(json!({"Items": [
            item("c", "running", json!({"lease_until": {"N": "1800000000001"}})),
            item("d", "retry_scheduled", json!({"retry_at": {"N": "1799999999999"}})),
        ]})),
    })
    .await;
    let found = stuck(&stub).stuck(&["email.send"], BEFORE, 100).await.unwrap();
    assert_eq!(found.iter().map(|job| job.job_id.as_str()).collect::<Vec<_>>(), ["a", "d"]);
    assert_eq!(found[0].updated_at, "2027-01-15T07:59:59.000Z");
    let requests: Vec<Value> = stub.requests().iter().map(Request::json).collect();
    assert_eq!(requests[1]["ExclusiveStartKey"], json!({"job_id": {"S": "b"}}));
    let mut names: Vec<_> =
        requests[0]["ExpressionAttributeNames"].as_object().unwrap().values().filter_map(Value::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["job_id", "lease_until", "retry_at", "status", "type", "updated_at"]);
    assert_eq!(requests[0]["ProjectionExpression"].as_str().unwrap().split(", ").count(), names.len());
}

#[tokio::test]
async fn it_ends_when_there_are_enough() {
    let stub = Stub::start(|_, _| {
        let items: Vec<_> = (0..5).map(|number| item(&number.to_string(), "accepted", json!({}))).collect();
        Answer::ok(json!({"Items": items, "LastEvaluatedKey": {"job_id": {"S": "4"}}}))
    })
    .await;
    assert_eq!(stuck(&stub).stuck(&["email.send"], BEFORE, 7).await.unwrap().len(), 7);
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test]
async fn a_role_without_the_permission_is_told_so() {
    let body = json!({"__type": "com.amazon.coral.service#AccessDeniedException", "message": "secret"}).to_string();
    let stub = Stub::start(move |_, _| Answer(400, String::new(), body.clone())).await;
    let error = stuck(&stub).stuck(&["email.send"], BEFORE, 7).await.unwrap_err();
    assert!(matches!(error, StoreError::Denied { operation: "Scan" }), "{error}");
}
