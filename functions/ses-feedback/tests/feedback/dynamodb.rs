//! The calls that DynamoDB gets, and what its answers mean.

use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, retry::RetryConfig};
use ikkai::clock::EpochMillis;
use ikkai::job::JobId;
use ikkai::testing::{HttpReply, HttpStub};
use serde_json::{Value, json};
use ses_feedback::{Contact, DynamoDbTables, Reason, Suppression, TableError, Tables as _, Written};

fn tables(stub: &HttpStub) -> DynamoDbTables {
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(stub.url())
        .retry_config(RetryConfig::disabled());
    DynamoDbTables::new(aws_sdk_dynamodb::Client::from_conf(config.build()), "jobs", "contacts")
}

async fn answering(status: u16, answer: Value) -> HttpStub {
    HttpStub::replying(HttpReply::json(status, answer)).await
}

fn job_id() -> JobId {
    JobId::parse_stored("email.send-k5mr2qxw7c3vnhd4tbz6yjfgsa").unwrap()
}

fn mark() -> Suppression {
    Suppression { reason: Reason::Bounce, at: EpochMillis::from_i64(1_941_696_904_669), report: "report-1".to_owned() }
}

#[tokio::test]
async fn of_a_job_its_payload_alone_is_read() {
    let payload = r#"{"deliveryId":"mail-1","templateId":"welcome","userId":"user-1"}"#;
    let stub = answering(200, json!({"Item": {"payload": {"S": payload}}})).await;
    assert_eq!(tables(&stub).mailed_user(&job_id()).await, Ok(Some("user-1".to_owned())));
    assert_eq!(
        stub.requests()[0].json(),
        json!({
            "TableName": "jobs", "ConsistentRead": true, "Key": {"job_id": {"S": "email.send-k5mr2qxw7c3vnhd4tbz6yjfgsa"}},
            "ProjectionExpression": "#payload", "ExpressionAttributeNames": {"#payload": "payload"},
        })
    );
}

#[tokio::test]
async fn a_job_that_names_no_user_is_told_apart_from_no_job() {
    assert_eq!(tables(&answering(200, json!({})).await).mailed_user(&job_id()).await, Ok(None));
    for item in [
        json!({}),
        json!({"payload": {"S": "jane"}}),
        json!({"payload": {"S": "{\"userId\":7}"}}),
        json!({"payload": {"N": "1"}}),
    ] {
        let stub = answering(200, json!({"Item": item})).await;
        assert_eq!(tables(&stub).mailed_user(&job_id()).await, Err(TableError::NoUser), "{item}");
    }
}

#[tokio::test]
async fn a_contact_is_read_consistently() {
    let item = json!({"user_id": {"S": "user-1"}, "email": {"S": "jane@example.com"}, "suppressed": {"BOOL": true}, "suppressed_by": {"S": "r"}});
    let stub = answering(200, json!({"Item": item})).await;
    let contact = Contact { address: Some("jane@example.com".to_owned()), suppressed: true, marked_by: Some("r".to_owned()) };
    assert_eq!(tables(&stub).contact("user-1").await, Ok(Some(contact)));
    let request = stub.requests()[0].json();
    assert_eq!((&request["TableName"], &request["ConsistentRead"]), (&json!("contacts"), &json!(true)));

    let stub = answering(200, json!({"Item": {"user_id": {"S": "user-1"}, "suppressed": {"S": "true"}}})).await;
    assert_eq!(tables(&stub).contact("user-1").await, Ok(Some(Contact::default())), "only a true boolean is a mark");
    assert_eq!(tables(&answering(200, json!({})).await).contact("user-1").await, Ok(None));
}

#[tokio::test]
async fn a_mark_is_one_write_under_the_address_that_was_read() {
    let stub = answering(200, json!({})).await;
    assert_eq!(tables(&stub).suppress("user-1", "jane@example.com", &mark()).await, Ok(Written::Yes));
    assert_eq!(stub.requests().len(), 1);
    assert_eq!(
        stub.requests()[0].json(),
        json!({
            "TableName": "contacts", "Key": {"user_id": {"S": "user-1"}},
            "UpdateExpression": "SET #suppressed = :true, #reason = :reason, #at = :at, #by = :by",
            "ConditionExpression": "#email = :address AND (attribute_not_exists(#by) OR #by <> :by)",
            "ExpressionAttributeNames": {
                "#email": "email", "#suppressed": "suppressed", "#reason": "suppressed_reason", "#at": "suppressed_at",
                "#by": "suppressed_by",
            },
            "ExpressionAttributeValues": {
                ":address": {"S": "jane@example.com"}, ":true": {"BOOL": true}, ":reason": {"S": "bounce"},
                ":at": {"N": "1941696904669"}, ":by": {"S": "report-1"},
            },
        })
    );
}

#[tokio::test]
async fn a_condition_that_does_not_hold_means_that_the_contact_changed() {
    let stub = answering(400, error("ConditionalCheckFailedException")).await;
    assert_eq!(tables(&stub).suppress("user-1", "jane@example.com", &mark()).await, Ok(Written::Changed));
}

#[tokio::test]
async fn every_other_answer_is_a_reason_to_try_again_and_tells_no_address() {
    for reply in [
        HttpReply::json(400, error("ProvisionedThroughputExceededException")),
        HttpReply::json(400, error("AccessDeniedException")),
        HttpReply::json(500, error("InternalServerError")),
        HttpReply::Bytes("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{[".into()),
        HttpReply::Reset,
        HttpReply::Close,
    ] {
        let stub = HttpStub::replying(reply).await;
        let tables = tables(&stub);
        for error in [
            tables.mailed_user(&job_id()).await.unwrap_err(),
            tables.contact("user-1").await.unwrap_err(),
            tables.suppress("user-1", "jane@example.com", &mark()).await.unwrap_err(),
        ] {
            assert!(matches!(error, TableError::Unavailable { .. }), "{error}");
            assert!(!format!("{error} {error:?}").contains("jane"), "{error}");
        }
    }
}

fn error(name: &str) -> Value {
    json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{name}"), "message": "jane@example.com"})
}
