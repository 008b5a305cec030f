//! The journal in DynamoDB. That it keeps what it is given is shown on an engine; here, that each write insists on what it should, and that a lost
//! answer is recognised.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region};
use dlq_redrive::journal::{Begun, DynamoDbJournal, Journal as _, JournalError, Locked, Run, conformance};
use ikkai::clock::{EpochMillis, ManualClock};
use serde_json::{Value, json};

use crate::stub::{Answer, Request, Stub};

const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_500);
const DAY: Duration = Duration::from_secs(86_400);

fn journal(stub: &Stub) -> DynamoDbJournal {
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(stub.url())
        .retry_config(RetryConfig::disabled());
    let client = aws_sdk_dynamodb::Client::from_conf(config.build());
    DynamoDbJournal::new(client, "redrive", DAY, Arc::new(ManualClock::new(NOW)))
}

fn run() -> Run {
    conformance::run("run-1", &["email", "billing"], NOW)
}

fn refused(item: Value) -> Answer {
    let body =
        json!({"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "no", "Item": item});
    Answer(400, String::new(), body.to_string())
}

fn is(request: &Request, operation: &str) -> bool {
    request.header("x-amz-target").is_some_and(|target| target.ends_with(&format!(".{}", operation.to_lowercase())))
}

#[tokio::test]
async fn a_run_is_written_first_and_its_places_in_the_history_afterwards() {
    let stub = Stub::start(|_, _| Answer::ok("{}")).await;
    assert_eq!(journal(&stub).begin(&run()).await, Ok(Begun::New));
    let items: Vec<Value> = stub.requests().iter().map(|request| request.json()["Item"].clone()).collect();
    assert_eq!((&items[0]["pk"]["S"], &items[0]["sk"]["S"]), (&json!("run#run-1"), &json!("run")));
    assert_eq!((&items[0]["parts"]["N"], &items[0]["expires_at"]["N"]), (&json!("0"), &json!("1800086401")));
    assert_eq!(serde_json::from_str::<Run>(items[0]["run"]["S"].as_str().unwrap()).unwrap(), run());
    assert_eq!(stub.requests()[0].json()["ConditionExpression"], "attribute_not_exists(pk)");
    let mut places: Vec<_> =
        items[1..].iter().map(|item| (item["pk"]["S"].as_str().unwrap(), item["sk"]["S"].as_str().unwrap())).collect();
    places.sort_unstable();
    assert_eq!(places, [("queue#billing", "run#1800000000500#run-1"), ("queue#email", "run#1800000000500#run-1")]);
}

#[tokio::test]
async fn a_beginning_whose_answer_was_lost_recognises_itself_and_no_other() {
    let stub = Stub::start(|request, before| match before {
        // The repetition meets what the first try has written.
        0 => refused(request.json()["Item"].clone()),
        _ => Answer::ok("{}"),
    })
    .await;
    assert_eq!(journal(&stub).begin(&run()).await, Ok(Begun::New));

    let stub = Stub::start(|request, before| match before {
        0 => {
            let mut item = request.json()["Item"].clone();
            item["begun_by"] = json!({"S": "somebody else"});
            refused(item)
        }
        _ => Answer::ok("{}"),
    })
    .await;
    assert_eq!(journal(&stub).begin(&run()).await, Ok(Begun::Exists(Box::new(run()))));
    assert_eq!(stub.requests().len(), 3, "the places in the history are written again, should they be missing");
}

#[tokio::test]
async fn a_save_insists_on_the_parts_that_were_known_and_recognises_itself() {
    let next = Run { parts: 2, ..run() };
    let stub = Stub::start(|_, _| Answer::ok("{}")).await;
    assert_eq!(journal(&stub).save(&next, 1).await, Ok(true));
    let asked = stub.requests()[0].json();
    assert_eq!(asked["ConditionExpression"], "#parts = :known");
    assert_eq!(asked["ExpressionAttributeNames"]["#parts"], "parts");
    assert_eq!(
        (&asked["ExpressionAttributeValues"][":known"]["N"], &asked["ExpressionAttributeValues"][":parts"]["N"]),
        (&json!("1"), &json!("2"))
    );

    let stub = Stub::start(|request, _| refused(json!({"run": request.json()["ExpressionAttributeValues"][":run"]}))).await;
    assert_eq!(journal(&stub).save(&next, 1).await, Ok(true));
    let stub = Stub::start(|_, _| refused(json!({"run": {"S": "{}"}}))).await;
    assert_eq!(journal(&stub).save(&next, 1).await, Ok(false));
}

#[tokio::test]
async fn a_lock_insists_on_a_free_queue_and_an_unlock_on_its_holder() {
    let until = NOW + Duration::from_secs(60);
    let stub = Stub::start(|request, _| match is(request, "PutItem") {
        true => refused(json!({"run_id": {"S": "run-0"}, "until": {"N": "1800000060000"}})),
        false => refused(json!({})),
    })
    .await;
    let held = Locked::HeldBy { run_id: "run-0".to_owned(), until: EpochMillis::from_i64(1_800_000_060_000) };
    assert_eq!(journal(&stub).lock("email", "run-1", until, NOW).await, Ok(held));
    assert_eq!(journal(&stub).unlock("email", "run-1").await, Ok(()), "somebody else has it");
    let requests: Vec<Value> = stub.requests().iter().map(Request::json).collect();
    assert_eq!(requests[0]["ConditionExpression"], "attribute_not_exists(pk) OR #run_id = :run_id OR #until <= :now");
    let until_seconds = until.as_i64() / 1_000;
    let expires_at: i64 = requests[0]["Item"]["expires_at"]["N"].as_str().unwrap().parse().unwrap();
    assert!(expires_at > until_seconds + 600, "no clock's lead removes a live lock: {expires_at}");
    assert!(expires_at < until_seconds + 86_400, "nor does one stay that a run which died has left: {expires_at}");
    assert_eq!(
        (&requests[1]["ConditionExpression"], &requests[1]["Key"]["sk"]["S"]),
        (&json!("#run_id = :run_id"), &json!("lock"))
    );
}

#[tokio::test]
async fn verdicts_are_read_page_by_page_until_there_are_enough() {
    let page = |number: u32| {
        json!({"sk": {"S": format!("verdicts#{number:06}")}, "item": {"N": "0"}, "items": {"N": "1"},
               "verdicts": {"S": format!(r#"[{{"messageId":"{number}","verdict":"redriven"}}]"#)}})
    };
    let stub = Stub::start(move |_, before| {
        let number = u32::try_from(before).unwrap() + 1;
        Answer::ok(json!({"Items": [page(number)], "LastEvaluatedKey": {"pk": {"S": "run#run-1"}, "sk": {"S": "x"}}}))
    })
    .await;
    let verdicts = journal(&stub).verdicts("run-1", 3).await.unwrap();
    assert_eq!(verdicts.iter().map(|verdict| verdict.message_id.as_deref().unwrap()).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert_eq!(stub.requests().len(), 3);
}

#[tokio::test]
async fn refusals_are_told_apart_and_what_cannot_be_read_is_not_taken_for_nothing() {
    let failing = |code: &'static str| async move {
        let body = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "secret"}).to_string();
        let stub = Stub::start(move |_, _| Answer(400, String::new(), body.clone())).await;
        journal(&stub).find("run-1").await.unwrap_err()
    };
    assert_eq!(failing("AccessDeniedException").await, JournalError::Denied { operation: "GetItem" });
    let throttled = JournalError::Unavailable { operation: "GetItem", code: "ThrottlingException".to_owned() };
    assert_eq!(failing("ThrottlingException").await, throttled);
    let stub = Stub::start(|_, _| Answer::ok(json!({"Item": {"run": {"S": "{\"secret\": 1}"}}}))).await;
    let error = journal(&stub).find("run-1").await.unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }) && !error.to_string().contains("secret"), "{error}");
}
