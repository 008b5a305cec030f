//! Move tasks of SQS.

use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Builder, Credentials, Region};
use dlq_redrive::move_tasks::{MoveTasks as _, SqsMoveTasks};
use dlq_redrive::protocol::{Refusal, RefusalCode};
use ikkai::queue::QueueName;
use serde_json::{Value, json};

use crate::stub::{Answer, Request, Stub};

const ARN: &str = "arn:aws:sqs:eu-central-1:123456789012:shop-email-dlq";

fn tasks(stub: &Stub) -> SqsMoveTasks {
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(stub.url())
        .retry_config(RetryConfig::disabled());
    SqsMoveTasks::new(aws_sdk_sqs::Client::from_conf(config.build()))
}

fn queue() -> QueueName {
    QueueName::new("shop-email-dlq")
}

fn operation(request: &Request) -> &str {
    request.header("x-amz-target").and_then(|target| target.split('.').next_back()).unwrap_or_default()
}

/// An SQS that knows the queue, and answers the operation itself with `answer`.
async fn sqs(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Stub {
    Stub::start(move |request, _| match operation(request) {
        "getqueueurl" => Answer::ok(json!({"QueueUrl": "http://localhost/123456789012/shop-email-dlq"})),
        "getqueueattributes" => Answer::ok(json!({"Attributes": {"QueueArn": ARN}})),
        _ => answer(),
    })
    .await
}

async fn refusing(status: u16, code: &str, message: &str) -> Stub {
    let body = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": message}).to_string();
    sqs(move || Answer(status, String::new(), body.clone())).await
}

fn last(stub: &Stub) -> Value {
    stub.requests().last().expect("a request").json()
}

#[tokio::test]
async fn a_task_is_started_for_the_queue_of_the_name_and_goes_back_to_every_source() {
    let stub = sqs(|| Answer::ok(json!({"TaskHandle": "handle-1"}))).await;
    let started = tasks(&stub).start(&queue(), Some(50)).await.unwrap();
    assert_eq!((started.task_handle.as_deref(), started.status.as_deref()), (Some("handle-1"), Some("RUNNING")));
    assert_eq!(last(&stub), json!({"SourceArn": ARN, "MaxNumberOfMessagesPerSecond": 50}));
    tasks(&stub).start(&queue(), None).await.unwrap();
    assert_eq!(last(&stub), json!({"SourceArn": ARN}), "SQS chooses the rate");
}

#[tokio::test]
async fn the_last_ten_tasks_are_told_and_why_one_has_failed() {
    let results = json!({"Results": [
        {"TaskHandle": "handle-2", "Status": "RUNNING", "SourceArn": ARN, "MaxNumberOfMessagesPerSecond": 50,
         "ApproximateNumberOfMessagesMoved": 7, "ApproximateNumberOfMessagesToMove": 12, "StartedTimestamp": 1_769_904_000_000_i64},
        {"Status": "FAILED", "SourceArn": ARN, "ApproximateNumberOfMessagesMoved": 0, "FailureReason": "CouldNotDetermineMessageSource",
         "StartedTimestamp": 0},
        {"Status": "FAILED", "SourceArn": ARN, "ApproximateNumberOfMessagesMoved": 0, "FailureReason": "AccessDenied"},
    ]});
    let stub = sqs(move || Answer::ok(&results)).await;
    let listed = tasks(&stub).list(&queue()).await.unwrap();
    assert_eq!(last(&stub), json!({"SourceArn": ARN, "MaxResults": 10}));
    let told = serde_json::to_value(&listed).unwrap();
    assert_eq!(
        told[0],
        json!({"taskHandle": "handle-2", "status": "RUNNING", "moved": 7, "toMove": 12, "ratePerSecond": 50, "startedAt": "2026-02-01T00:00:00.000Z"})
    );
    let failure = told[1]["failure"].as_str().unwrap();
    assert!(failure.starts_with("CouldNotDetermineMessageSource: ") && failure.contains(r#"sources ["none"]"#), "{failure}");
    assert_eq!(told[1].get("startedAt"), None);
    assert_eq!(told[2]["failure"], "AccessDenied");
}

#[tokio::test]
async fn a_running_task_is_cancelled_and_says_what_it_has_moved() {
    let stub = sqs(|| Answer::ok(json!({"ApproximateNumberOfMessagesMoved": 3}))).await;
    let cancelled = tasks(&stub).cancel("handle-1").await.unwrap();
    assert_eq!((cancelled.status.as_deref(), cancelled.moved), (Some("CANCELLING"), Some(3)));
    assert_eq!(last(&stub), json!({"TaskHandle": "handle-1"}));
    let stub = refusing(400, "ResourceNotFoundException", "Task does not exist.").await;
    assert_eq!(tasks(&stub).cancel("handle-1").await.unwrap_err().code, RefusalCode::WrongState);
}

#[tokio::test]
async fn each_refusal_says_what_it_means_and_the_mend() {
    for (status, code, message, expected, told) in [
        (400, "InvalidAction", "The action is not valid for this endpoint.", RefusalCode::Unsupported, "use redrive"),
        (400, "UnknownOperationException", "", RefusalCode::Unsupported, "use redrive"),
        (501, "InternalFailure", "The action has not been implemented.", RefusalCode::Unsupported, "use redrive"),
        (500, "InternalFailure", "sorry", RefusalCode::Unavailable, "no answer"),
        (400, "AWS.SimpleQueueService.UnsupportedOperation", "", RefusalCode::WrongState, "dead-letter queue of another queue"),
        (
            400,
            "InvalidParameterValueException",
            "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
            RefusalCode::MoveTaskInProgress,
            "one task a queue",
        ),
        (400, "InvalidParameterValueException", "The handle is bad.", RefusalCode::WrongState, "list shows"),
        (403, "AccessDeniedException", "no", RefusalCode::AccessDenied, "the role needs"),
        (400, "ResourceNotFoundException", "The resource is not there.", RefusalCode::Unavailable, "no such queue"),
        (400, "RequestThrottled", "", RefusalCode::Unavailable, "throttles"),
    ] {
        let stub = refusing(status, code, message).await;
        let refusal: Refusal = tasks(&stub).start(&queue(), None).await.unwrap_err();
        assert_eq!(refusal.code, expected, "{code}: {refusal}");
        assert!(refusal.message.contains(told) && refusal.message.contains("StartMessageMoveTask"), "{refusal}");
    }
}
