//! The client of SQS: what it asks, and what it makes of every kind of answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use ikkai::clock::EpochMillis;
use ikkai::queue::{
    AttributeData, AttributeValue, Inbox, OutgoingMessage, Queue, QueueError, QueueName, ReceivedMessage, SqsQueue,
    VisibilityChange,
};
use serde_json::{Value, json};

type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// What is answered to an operation: status and body.
type Answer = dyn Fn(&str) -> (u16, Value) + Send + Sync;

/// Answers each request with what the test says, after a time.
struct Wire {
    answer: Box<Answer>,
    after: Duration,
    requests: Requests,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let operation = request.headers().get("x-amz-target").unwrap_or_default().trim_start_matches("AmazonSQS.").to_owned();
        let body = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
        self.requests.lock().unwrap().push((operation.clone(), body));
        let (status, answer) = match operation.as_str() {
            "GetQueueUrl" => (200, json!({"QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/email-dlq"})),
            operation => (self.answer)(operation),
        };
        let after = if operation == "GetQueueUrl" { Duration::ZERO } else { self.after };
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(after).await;
            Ok(HttpResponse::new(StatusCode::try_from(status).unwrap(), SdkBody::from(answer.to_string())))
        })
    }
}

fn queue_after(after: Duration, answer: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> (SqsQueue, Requests) {
    let requests = Requests::default();
    let wire = SharedHttpConnector::new(Wire { answer: Box::new(answer), after, requests: requests.clone() });
    let timeouts = aws_sdk_sqs::config::timeout::TimeoutConfig::builder()
        .operation_attempt_timeout(ikkai::aws::ATTEMPT_TIMEOUT)
        .operation_timeout(ikkai::aws::OPERATION_TIMEOUT)
        .build();
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .http_client(http_client_fn(move |_, _| wire.clone()))
        .build();
    (SqsQueue::new(aws_sdk_sqs::Client::from_conf(config), QueueName::new("email-dlq")), requests)
}

fn queue(answer: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> (SqsQueue, Requests) {
    queue_after(Duration::ZERO, answer)
}

fn asked(requests: &Requests) -> Value {
    let requests = requests.lock().unwrap();
    requests.last().map(|(_, body)| body.clone()).unwrap()
}

fn refusal(code: &str, status: u16) -> (u16, Value) {
    (status, json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": "no"}))
}

const HIDDEN: Duration = Duration::from_secs(90);

#[tokio::test]
async fn a_received_message_has_everything_that_a_copy_must_keep() {
    let message = json!({
        "MessageId": "m-1",
        "ReceiptHandle": "r-1",
        "Body": " {\"a\" : 1}\n",
        "Attributes": {
            "ApproximateReceiveCount": "4", "SentTimestamp": "1800000000000", "AWSTraceHeader": "Root=1-5",
            "MessageGroupId": "g", "MessageDeduplicationId": "d", "DeadLetterQueueSourceArn": "arn:aws:sqs:us-east-1:000000000000:email"
        },
        "MessageAttributes": {
            "n": {"DataType": "Number.int", "StringValue": "5"},
            "b": {"DataType": "Binary.png", "BinaryValue": "AAH/"},
            "e": {"DataType": "Binary", "StringValue": "", "BinaryValue": "AA=="}
        }
    });
    let (queue, requests) = queue(move |_| (200, json!({"Messages": [message, {"Body": "without an id"}]})));
    let received = queue.receive(25, HIDDEN, Duration::from_millis(1_500)).await.unwrap();
    let attribute = |data_type: &str, value| AttributeValue { data_type: data_type.to_owned(), value };
    let expected = ReceivedMessage {
        message_id: "m-1".into(),
        receipt_handle: "r-1".into(),
        body: " {\"a\" : 1}\n".into(),
        attributes: vec![
            ("b".into(), attribute("Binary.png", AttributeData::Bytes(vec![0, 1, 255]))),
            ("e".into(), attribute("Binary", AttributeData::Bytes(vec![0]))),
            ("n".into(), attribute("Number.int", AttributeData::Text("5".into()))),
        ],
        trace_header: Some("Root=1-5".into()),
        group_id: Some("g".into()),
        deduplication_id: Some("d".into()),
        sent_at: Some(EpochMillis::from_i64(1_800_000_000_000)),
        receive_count: 4,
        source: Some(QueueName::new("email")),
    };
    assert_eq!(received, [expected], "a message that cannot be handled comes out again");
    let mut asked = asked(&requests);
    asked["MessageSystemAttributeNames"].as_array_mut().unwrap().sort_by_key(ToString::to_string);
    let expected = json!({
        "QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/email-dlq",
        "MaxNumberOfMessages": 10, "VisibilityTimeout": 90, "WaitTimeSeconds": 2, "MessageAttributeNames": ["All"],
        "MessageSystemAttributeNames": ["AWSTraceHeader", "ApproximateReceiveCount", "DeadLetterQueueSourceArn",
            "MessageDeduplicationId", "MessageGroupId", "SentTimestamp"]
    });
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn what_a_copy_keeps_is_sent_as_it_was() {
    let (queue, requests) = queue(|_| (200, json!({"MessageId": "m-2"})));
    let message = OutgoingMessage {
        attributes: vec![
            ("b".into(), AttributeValue { data_type: "Binary.png".into(), value: AttributeData::Bytes(vec![0, 1, 255]) }),
            ("n".into(), AttributeValue { data_type: "Number.int".into(), value: AttributeData::Text("5".into()) }),
        ],
        trace_header: Some("Root=1-5".into()),
        group_id: Some("g".into()),
        deduplication_id: Some("d-2".into()),
        ..OutgoingMessage::new(" {}\n")
    };
    assert_eq!(queue.send(&[message]).await.unwrap(), [Ok(())]);
    let expected = json!({
        "QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/email-dlq",
        "MessageBody": " {}\n",
        "MessageAttributes": {
            "b": {"DataType": "Binary.png", "BinaryValue": "AAH/"}, "n": {"DataType": "Number.int", "StringValue": "5"}
        },
        "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5"}},
        "MessageGroupId": "g", "MessageDeduplicationId": "d-2"
    });
    assert_eq!(asked(&requests), expected);
}

#[tokio::test]
async fn an_empty_answer_is_no_message() {
    for answer in [json!({}), json!({"Messages": []}), json!({"Messages": null})] {
        let (queue, _) = queue(move |_| (200, answer.clone()));
        assert!(queue.receive(0, HIDDEN, Duration::ZERO).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn every_entry_of_a_deletion_has_its_verdict() {
    let answer = json!({
        "Successful": [{"Id": "1"}, {"Id": "77"}],
        "Failed": [
            {"Id": "0", "Code": "ReceiptHandleIsInvalid", "SenderFault": true},
            {"Id": "2", "Code": "InvalidParameterValue", "SenderFault": true},
            {"Id": "3", "Code": "InternalError", "SenderFault": false},
            {"Id": "4", "Code": "AccessDenied", "SenderFault": true}
        ]
    });
    let (queue, requests) = queue(move |_| (200, answer.clone()));
    let handles: Vec<_> = (0..6).map(|number| format!("r-{number}")).collect();
    let operation = "DeleteMessageBatch";
    let verdicts = queue.delete(&handles).await.unwrap();
    assert_eq!(verdicts[..3], [Err(QueueError::ReceiptLost), Ok(()), Err(QueueError::ReceiptLost)]);
    assert_eq!(verdicts[3], Err(QueueError::Unavailable { operation, code: "InternalError".into() }));
    assert_eq!(verdicts[4], Err(QueueError::Refused { operation, code: "AccessDenied".into() }));
    assert!(matches!(verdicts[5], Err(QueueError::Unavailable { .. })), "in neither list");
    assert_eq!(asked(&requests)["Entries"][5], json!({"Id": "5", "ReceiptHandle": "r-5"}));
    assert!(queue.delete(&[]).await.unwrap().is_empty());
    assert_eq!(requests.lock().unwrap().len(), 2, "the URL and one deletion");
}

#[tokio::test]
async fn whose_fault_a_failed_call_is_depends_on_code_and_status() {
    let refused = |operation, code: &str| QueueError::Refused { operation, code: code.to_owned() };
    let passing = |operation, code: &str| QueueError::Unavailable { operation, code: code.to_owned() };
    for (code, status, expected) in [
        ("QueueDoesNotExist", 400, refused("ReceiveMessage", "QueueDoesNotExist")),
        ("KmsAccessDenied", 400, refused("ReceiveMessage", "KmsAccessDenied")),
        ("AccessDeniedException", 403, refused("ReceiveMessage", "AccessDeniedException")),
        ("InvalidParameterValue", 400, refused("ReceiveMessage", "InvalidParameterValue")),
        ("OverLimit", 400, passing("ReceiveMessage", "OverLimit")),
        ("KmsThrottled", 400, passing("ReceiveMessage", "KmsThrottled")),
        ("RequestThrottled", 400, passing("ReceiveMessage", "RequestThrottled")),
        ("InternalFailure", 500, passing("ReceiveMessage", "InternalFailure")),
    ] {
        let (queue, _) = queue(move |_| refusal(code, status));
        assert_eq!(queue.receive(10, HIDDEN, Duration::ZERO).await, Err(expected));
    }
    let (queue, _) = queue(|_| refusal("InvalidParameterValue", 400));
    let sent = queue.send(&[OutgoingMessage::new("a")]).await;
    assert_eq!(sent, Err(refused("SendMessage", "InvalidParameterValue")), "a message that is sent has no receipt to lose");
    let change = VisibilityChange { receipt_handle: "r".into(), visible_in: Duration::ZERO };
    assert_eq!(queue.change_visibility(&[change]).await, Err(QueueError::ReceiptLost));
    assert_eq!(queue.delete(&["r".to_owned()]).await, Err(QueueError::ReceiptLost));
}

#[tokio::test(start_paused = true)]
async fn a_receive_may_wait_for_as_long_as_it_was_told_to() {
    let (queue, _) = queue_after(Duration::from_secs(20), |_| (200, json!({})));
    assert_eq!(queue.receive(10, HIDDEN, Duration::from_secs(60)).await, Ok(Vec::new()));
    let hanging = queue.receive(10, HIDDEN, Duration::from_secs(2)).await;
    assert_eq!(hanging, Err(QueueError::Unavailable { operation: "ReceiveMessage", code: "timed out".into() }));
    assert!(queue.depth().await.is_err(), "other calls are as impatient as ever");
}
