//! What is asked of the jobs table, and how its answers are read.

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use ikkai::{
    clock::EpochMillis,
    job::Period,
    testing::{HttpReply, HttpRequest, HttpStub},
};
use report_consumer::{DynamoDbHistory, HistoryError, JobHistory as _, JobRow, Position, Scope};
use serde_json::{Value, json};

fn history(stub: &HttpStub) -> DynamoDbHistory {
    let config = aws_sdk_dynamodb::config::Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .endpoint_url(stub.url());
    DynamoDbHistory::new(aws_sdk_dynamodb::Client::from_conf(config.build()), "jobs", "account-created")
}

fn scope() -> Scope {
    let period = Period::parse("2026-01").unwrap();
    Scope { account_id: "account-7".to_owned(), as_of: EpochMillis::from_i64(1_800_000_000_000), period }
}

fn is(request: &HttpRequest, operation: &str) -> bool {
    request.header("x-amz-target").is_some_and(|target| target.ends_with(operation))
}

fn key(job_id: &str) -> Value {
    json!({"job_id": {"S": job_id}, "account_id": {"S": "account-7"}, "created_at": {"N": "1767225600000"}})
}

fn keys(count: usize) -> Value {
    json!({"Items": (0..count).map(|number| key(&format!("email.send-{number}"))).collect::<Vec<_>>()})
}

/// A record of the id that is asked for.
fn record(asked: &Value) -> Value {
    json!({
        "job_id": asked["job_id"], "account_id": {"S": "account-7"}, "type": {"S": "email.send"}, "status": {"S": "succeeded"},
        "attempts": {"N": "2"}, "created_at": {"N": "1767225600000"}, "updated_at": {"N": "1767225601000"},
        "business_id": {"S": "order-1"},
    })
}

fn asked_for(request: &HttpRequest) -> Vec<Value> {
    request.json()["RequestItems"]["jobs"]["Keys"].as_array().cloned().unwrap_or_default()
}

/// All records that are asked for.
fn records(request: &HttpRequest) -> HttpReply {
    HttpReply::json(
        200,
        json!({"Responses": {"jobs": asked_for(request).iter().map(record).collect::<Vec<_>>()}, "UnprocessedKeys": {}}),
    )
}

#[tokio::test]
async fn a_page_is_a_query_of_the_index_and_the_records_it_names_a_hundred_at_a_time() {
    let stub =
        HttpStub::start(|request, _| if is(request, "Query") { HttpReply::json(200, keys(250)) } else { records(request) }).await;
    let after = Position { created_at: EpochMillis::from_i64(1_767_225_600_000), job_id: "email.send-x".to_owned() };
    let page = history(&stub).page(&scope(), Some(&after)).await.unwrap();
    assert_eq!((page.rows.len(), page.next), (250, None));
    assert!((0..250).all(|number| page.rows[number].job_id == format!("email.send-{number}")), "in the order of the index");
    assert_eq!(
        page.rows[0],
        JobRow {
            job_id: "email.send-0".to_owned(),
            job_type: "email.send".to_owned(),
            status: "succeeded".to_owned(),
            attempts: 2,
            created_at: EpochMillis::from_i64(1_767_225_600_000),
            ended_at: Some(EpochMillis::from_i64(1_767_225_601_000)),
            error_class: None,
            error_code: None,
            business_id: Some("order-1".to_owned()),
        }
    );

    let requests = stub.requests();
    let query = requests[0].json();
    assert_eq!(
        (&query["TableName"], &query["IndexName"], &query["Limit"]),
        (&json!("jobs"), &json!("account-created"), &json!(1_000))
    );
    assert_eq!(query["KeyConditionExpression"], "account_id = :account AND created_at BETWEEN :first AND :last");
    assert_eq!(
        query["ExpressionAttributeValues"],
        json!({":account": {"S": "account-7"}, ":first": {"N": "1767225600000"}, ":last": {"N": "1769903999999"}})
    );
    assert_eq!(query["ExclusiveStartKey"], key("email.send-x"));
    let mut sizes: Vec<_> = requests[1..].iter().map(|request| asked_for(request).len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [50, 100, 100]);
}

#[tokio::test]
async fn neither_payload_nor_private_data_nor_results_are_read() {
    let stub =
        HttpStub::start(|request, _| if is(request, "Query") { HttpReply::json(200, keys(1)) } else { records(request) }).await;
    history(&stub).page(&scope(), None).await.unwrap();
    let asked = stub.requests()[1].json()["RequestItems"]["jobs"].clone();
    let mut names: Vec<_> =
        asked["ExpressionAttributeNames"].as_object().unwrap().values().map(|name| name.as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "account_id",
            "attempts",
            "business_id",
            "created_at",
            "died_at",
            "expires_at",
            "job_id",
            "last_error",
            "status",
            "type",
            "updated_at"
        ]
    );
    assert_eq!(asked["ConsistentRead"], true, "a status that is shown is the one that the job has");
    assert_eq!(asked["ProjectionExpression"].as_str().unwrap().split(", ").count(), names.len());
}

#[tokio::test]
async fn a_next_page_begins_where_dynamodb_says() {
    let stub = HttpStub::start(|request, _| match is(request, "Query") {
        true => HttpReply::json(200, json!({"Items": [], "LastEvaluatedKey": key("email.send-9")})),
        false => records(request),
    })
    .await;
    let page = history(&stub).page(&scope(), None).await.unwrap();
    let next = Position { created_at: EpochMillis::from_i64(1_767_225_600_000), job_id: "email.send-9".to_owned() };
    assert_eq!((page.rows.len(), page.next), (0, Some(next)));
    assert_eq!(stub.requests().len(), 1, "no records are asked for where there are no keys");
}

#[tokio::test]
async fn records_that_dynamodb_leaves_unread_are_asked_for_again() {
    let stub = HttpStub::start(|request, before| match (is(request, "Query"), before) {
        (true, _) => HttpReply::json(200, keys(10)),
        (false, 1) => {
            let asked = asked_for(request);
            HttpReply::json(200, json!({
                "Responses": {"jobs": asked[..4].iter().map(record).collect::<Vec<_>>()},
                "UnprocessedKeys": {"jobs": {"Keys": asked[4..], "ProjectionExpression": "#job_id", "ExpressionAttributeNames": {"#job_id": "job_id"}}},
            }))
        }
        _ => records(request),
    })
    .await;
    let page = history(&stub).page(&scope(), None).await.unwrap();
    assert_eq!(page.rows.len(), 10);
    assert_eq!(
        stub.requests()
            .iter()
            .map(|request| request.json()["RequestItems"]["jobs"]["Keys"].as_array().map(Vec::len))
            .collect::<Vec<_>>(),
        [None, Some(10), Some(6)]
    );
}

#[tokio::test]
async fn a_table_that_leaves_records_unread_for_good_throttles() {
    let stub = HttpStub::start(|request, _| match is(request, "Query") {
        true => HttpReply::json(200, keys(1)),
        false => HttpReply::json(200, json!({"Responses": {}, "UnprocessedKeys": request.json()["RequestItems"]})),
    })
    .await;
    assert_eq!(history(&stub).page(&scope(), None).await, Err(HistoryError::Throttled));
    assert_eq!(stub.requests().len(), 1 + 6);
}

#[tokio::test]
async fn what_has_expired_or_is_gone_or_is_another_accounts_is_left_out() {
    let stub = HttpStub::start(|request, _| match is(request, "Query") {
        true => HttpReply::json(200, keys(5)),
        false => {
            let mut found: Vec<Value> = asked_for(request).iter().map(record).collect();
            found[0]["expires_at"] = json!({"N": "1800000000"});
            found[1]["expires_at"] = json!({"N": "1800000001"});
            found[2]["account_id"] = json!({"S": "account-8"});
            found.pop();
            HttpReply::json(200, json!({"Responses": {"jobs": found}}))
        }
    })
    .await;
    let page = history(&stub).page(&scope(), None).await.unwrap();
    assert_eq!(page.rows.iter().map(|row| row.job_id.as_str()).collect::<Vec<_>>(), ["email.send-1", "email.send-3"]);
}

#[tokio::test]
async fn the_end_of_a_job_is_its_death_or_its_last_write_and_a_waiting_one_has_none() {
    let stub = HttpStub::start(|request, _| match is(request, "Query") {
        true => HttpReply::json(200, keys(4)),
        false => {
            let mut found: Vec<Value> = asked_for(request).iter().map(record).collect();
            found[1]["status"] = json!({"S": "dead"});
            found[1]["died_at"] = json!({"N": "1767225600500"});
            found[1]["last_error"] =
                json!({"M": {"class": {"S": "permanent"}, "code": {"S": "unknown_user"}, "message": {"S": "m"}}});
            found[2]["status"] = json!({"S": "retry_scheduled"});
            found[3]["status"] = json!({"S": "of_a_newer_version"});
            HttpReply::json(200, json!({"Responses": {"jobs": found}}))
        }
    })
    .await;
    let page = history(&stub).page(&scope(), None).await.unwrap();
    let ends: Vec<_> = page.rows.iter().map(|row| row.ended_at.map(|at| at.as_i64() - 1_767_225_600_000)).collect();
    assert_eq!(ends, [Some(1_000), Some(500), None, None]);
    assert_eq!(
        (page.rows[1].error_class.as_deref(), page.rows[1].error_code.as_deref()),
        (Some("permanent"), Some("unknown_user"))
    );
    assert_eq!(page.rows[3].status, "of_a_newer_version");
}

#[tokio::test]
async fn a_period_that_lies_ahead_asks_nothing() {
    let stub = HttpStub::replying(HttpReply::new(500, "")).await;
    let ahead = Scope { period: Period::parse("2099-01").unwrap(), ..scope() };
    let page = history(&stub).page(&ahead, None).await.unwrap();
    assert_eq!((page.rows.len(), page.next, stub.requests().len()), (0, None, 0));
}

#[tokio::test]
async fn refusals_are_told_apart() {
    for (code, expected) in [
        ("ProvisionedThroughputExceededException", HistoryError::Throttled),
        ("ThrottlingException", HistoryError::Throttled),
        ("AccessDeniedException", HistoryError::Refused { code: "AccessDeniedException".to_owned() }),
        ("ValidationException", HistoryError::Refused { code: "ValidationException".to_owned() }),
        ("UnrecognizedClientException", HistoryError::Refused { code: "UnrecognizedClientException".to_owned() }),
        ("InternalServerError", HistoryError::Outage { code: "InternalServerError".to_owned() }),
        ("SomethingNewException", HistoryError::Unavailable { code: "SomethingNewException".to_owned() }),
    ] {
        let body = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "secret"}).to_string();
        let stub = HttpStub::replying(HttpReply::json(400, body)).await;
        let error = history(&stub).page(&scope(), None).await.unwrap_err();
        assert!(!error.to_string().contains("secret"));
        assert_eq!(error, expected);
    }
}

#[tokio::test]
async fn a_table_that_cannot_be_reached_is_an_outage() {
    let stub = HttpStub::replying(HttpReply::new(200, "")).await;
    let history = history(&stub);
    stub.stop().await;
    let outage = HistoryError::Outage { code: "no connection".to_owned() };
    assert_eq!(history.page(&scope(), None).await, Err(outage));
}

#[tokio::test]
async fn an_index_with_other_keys_is_told_as_a_mistake_in_the_settings() {
    let stub = HttpStub::replying(HttpReply::json(200, json!({"Items": [], "LastEvaluatedKey": {"id": {"S": "x"}}}))).await;
    assert!(matches!(history(&stub).page(&scope(), None).await, Err(HistoryError::Refused { .. })));
}
