//! What never stands in a log or a metric line, at any level: payloads, keys, addresses.

use ikkai::idempotency::{ErrorClass, JobRecord, LastError, Status};
use ikkai::queue::QueueError;
use ikkai::testing::{Bench, MessageBuilder, QueueFault, StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::script::{Scripted, Step, after, captured, defer, fifo, long_running, millis, permanent, retry, seconds, settings};

/// Values that only ever stand in bodies and keys.
const SECRETS: [&str; 8] = [
    "delivery-of-mallory",
    "template-of-mallory",
    "user-of-mallory",
    "key-of-mallory",
    "order-of-mallory",
    "mallory@example.org",
    "tok_live_mallory",
    "4111111111111111",
];

fn secret_body() -> String {
    json!({
        "type": "email.send",
        "schemaVersion": 1,
        "businessId": "order-of-mallory",
        "idempotencyKey": "key-of-mallory",
        "payload": {"deliveryId": "delivery-of-mallory", "templateId": "template-of-mallory", "userId": "user-of-mallory"}
    })
    .to_string()
}

fn with(change: impl FnOnce(&mut Value)) -> String {
    let mut body: Value = serde_json::from_str(&secret_body()).unwrap();
    change(&mut body);
    body.to_string()
}

/// Bodies that are refused, each for another reason, and each with something in it that must not be repeated.
fn refused_bodies() -> Vec<String> {
    vec![
        secret_body().replace('}', ""),
        format!("\"{}\"", SECRETS.join(" ")),
        format!("[{}]", secret_body()),
        secret_body().replacen('{', "{\"type\":\"mallory@example.org\",", 1),
        with(|body| body["schemaVersion"] = json!("mallory@example.org")),
        with(|body| body["schemaVersion"] = json!(4_111_111_111_111_111_u64)),
        with(|body| body["type"] = json!("tok_live_mallory")),
        with(|body| body["idempotencyKey"] = json!(["key-of-mallory"])),
        with(|body| body["idempotencyKey"] = json!("mallory@example.org")),
        with(|body| body["businessId"] = json!("mallory@example.org")),
        with(|body| body["jobId"] = json!("mallory@example.org")),
        with(|body| body["payload"]["userId"] = json!("mallory@example.org")),
        with(|body| body["payload"]["userId"] = json!({"mallory@example.org": "tok_live_mallory"})),
        with(|body| body["payload"]["card"] = json!("4111111111111111")),
        with(|body| body["payload"] = json!("mallory@example.org")),
        with(|body| body["token"] = json!("tok_live_mallory")),
        with(|body| body["payload"]["mallory@example.org"] = json!(1)),
        with(|body| body["mallory@example.org"] = json!(1)),
        with(|body| body["schemaVersion"] = json!(2)),
        json!({"Type": "Notification", "TopicArn": "arn", "Message": "mallory@example.org"}).to_string(),
        json!({"Type": "Notification", "TopicArn": "arn", "Message": with(|body| body["mallory@example.org"] = json!(1))})
            .to_string(),
        json!({"Type": "SubscriptionConfirmation", "TopicArn": "arn", "SubscribeURL": "https://mallory@example.org"}).to_string(),
        json!({"detail-type": "mallory@example.org", "source": "tok_live_mallory", "detail": {"card": "4111111111111111"}})
            .to_string(),
        s3_event("mallory%40example.org"),
        s3_event("mallory@example.org%zz"),
    ]
}

fn s3_event(key: &str) -> String {
    let object = json!({"key": key, "size": 1, "eTag": "key-of-mallory", "sequencer": "tok_live_mallory"});
    let s3 = json!({"bucket": {"name": "user-of-mallory"}, "object": object});
    json!({"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": s3}]}).to_string()
}

fn assert_clean(what: &str, lines: &[String]) {
    for line in lines {
        for secret in SECRETS {
            assert!(!line.to_lowercase().contains(&secret.to_lowercase()), "{what}: {secret} in {line}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_log_or_metric_line_repeats_a_payload_a_key_or_an_address() {
    let logs = captured();
    let mut metrics = Vec::new();
    let job = |id: &str| MessageBuilder::new(id, secret_body());
    let name = "delivery-of-mallory";
    let steps: Vec<Vec<Step>> = vec![
        vec![Step::Effect],
        vec![retry()],
        vec![permanent()],
        vec![defer(None)],
        vec![Step::Begin(seconds(1)), Step::Effect, retry()],
        vec![Step::Panic("mallory@example.org")],
        vec![Step::PanicOwned("tok_live_mallory".to_owned())],
        vec![Step::Hang],
        vec![Step::Sleep(seconds(20)), Step::Begin(seconds(20))],
    ];
    for settings in [settings(), fifo(), long_running()] {
        let queue = settings.queue_name.as_str().to_owned();
        for script in &steps {
            let bench = Bench::timed_with(Scripted::new().on(name, script.clone()), settings.clone());
            for (receive, id) in [(1, "m1"), (2, "m2"), (3, "m1"), (5, "m3"), (6, "m4")] {
                metrics
                    .push(bench.run_batch([job(id).queue(&queue).group("g").received(receive).build()]).await.unwrap().metrics);
            }
        }
        let bench = Bench::timed_with(Scripted::new(), settings.clone());
        for (n, body) in refused_bodies().into_iter().enumerate() {
            let message = MessageBuilder::new(&format!("refused-{n}"), body).queue(&queue);
            let answer = bench.run_batch([message.build()]).await.unwrap();
            assert_eq!(answer.failed, [format!("refused-{n}")], "a body that was meant to be refused or held");
            metrics.push(answer.metrics);
        }
        for record in bench.records.all() {
            let reason = record.last_error.map(|error| error.message).unwrap_or_default();
            assert_clean("the reason in a record", &[reason]);
        }
    }
    assert!(logs.lines().len() > 100, "the kit logged: {}", logs.lines().len());
    assert_clean("a log line", &logs.lines());
    assert_clean("a metric line", &metrics);
}

#[tokio::test(start_paused = true)]
async fn faults_of_table_and_queue_are_logged_without_a_payload_too() {
    let logs = captured();
    let refused = || QueueError::Refused { operation: "SendMessageBatch", code: "InvalidMessageContents".into() };
    for fault in
        [StoreFault::Throttle, StoreFault::Unreachable, StoreFault::LoseAnswer, StoreFault::Hang, StoreFault::Delay(millis(5))]
    {
        for call in [StoreCall::Claim, StoreCall::Replace, StoreCall::Create, StoreCall::Get] {
            let bench = Bench::timed_with(Scripted::new().on("delivery-of-mallory", [defer(None)]), long_running());
            for _ in 0..5 {
                bench.store.fail_next(call, fault);
            }
            for queue_fault in [
                QueueFault::Refuse(refused()),
                QueueFault::FailEntries(vec![(0, QueueError::ReceiptLost)]),
                QueueFault::LoseAnswer,
            ] {
                bench.queue.fail_next(queue_fault);
            }
            for body in [secret_body(), "mallory@example.org".to_owned(), with(|body| body["schemaVersion"] = json!(2))] {
                bench.run_batch([MessageBuilder::new("m1", body).received(5).build()]).await.unwrap();
            }
        }
    }
    assert_clean("a log line", &logs.lines());
}

#[tokio::test]
async fn the_data_of_another_caller_does_not_leak_through_a_refusal() {
    let logs = captured();
    let bench = Bench::with(Scripted::new(), settings());
    let message = MessageBuilder::email("a");
    let job_id = message.job_id().unwrap();
    bench.records.put(JobRecord {
        data: Some(json!({"address": "mallory@example.org"})),
        idempotency_key: Some("key-of-mallory".into()),
        payload: Some(json!({"deliveryId": "delivery-of-mallory"})),
        payload_digest: Some("sha256:of mallory's payload".into()),
        last_error: Some(LastError::new(ErrorClass::Transient, "earlier", "an earlier failure")),
        ..JobRecord::new(job_id.clone(), job_id.job_type(), 1, "test-caller", Status::Accepted, after(seconds(0)))
    });
    assert_eq!(bench.run_batch([message.build()]).await.unwrap().failed, ["a"]);
    assert_clean("a log line", &logs.lines());
}
