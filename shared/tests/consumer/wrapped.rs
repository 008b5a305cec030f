//! The same job as it is, through SNS, through EventBridge, and through both.

use ikkai::idempotency::Status;
use ikkai::testing::{Bench, MessageBuilder, StoreCall};
use serde_json::{Value, json};

use crate::row::{Seen, exactly, expect};
use crate::script::{Scripted, assert_state, captured, message_record_id, record_by_id, run, seconds, settings};

fn raw() -> Value {
    let payload = json!({"deliveryId": "a", "templateId": "welcome", "userId": "user-42"});
    json!({"type": "email.send", "schemaVersion": 1, "idempotencyKey": "mail-a", "payload": payload})
}

fn sns(message: &str) -> String {
    json!({
        "Type": "Notification",
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": "arn:aws:sns:us-west-2:123456789012:jobs",
        "Message": message,
        "Timestamp": "2026-01-31T12:45:07.000Z",
        "SignatureVersion": "1",
        "Signature": "EXAMPLE=",
        "SigningCertURL": "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-x.pem",
        "UnsubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe"
    })
    .to_string()
}

fn event(detail: &Value) -> String {
    json!({
        "version": "0",
        "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
        "detail-type": "Mail wanted",
        "source": "shop.orders",
        "account": "123456789012",
        "time": "2026-01-31T12:45:07Z",
        "region": "us-west-2",
        "resources": [],
        "detail": detail
    })
    .to_string()
}

fn forms() -> [String; 4] {
    [raw().to_string(), sns(&raw().to_string()), event(&raw()), sns(&event(&raw()))]
}

#[tokio::test]
async fn every_form_is_the_same_job() {
    let mut records = Vec::new();
    for (number, body) in forms().into_iter().enumerate() {
        let handler = Scripted::new();
        let bench = Bench::with(handler.clone(), settings());
        assert!(run(&bench, [MessageBuilder::new(&format!("m{number}"), body)]).await.failed.is_empty());
        assert_eq!(handler.effects_of("a"), 1);
        let [record] = &bench.records.all()[..] else { panic!("one record") };
        assert_eq!(record.status, Status::Succeeded);
        records.push((record.job_id.clone(), record.payload_digest.clone(), record.idempotency_key.clone()));
    }
    records.dedup();
    assert_eq!(records.len(), 1, "{records:?}");
}

#[tokio::test]
async fn a_job_that_arrives_in_every_form_is_done_once() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    for (number, body) in forms().into_iter().enumerate() {
        bench.store.forget();
        assert!(run(&bench, [MessageBuilder::new(&format!("m{number}"), body)]).await.failed.is_empty());
        let expected = if number == 0 { vec![StoreCall::Claim, StoreCall::Replace] } else { vec![StoreCall::Claim] };
        assert_eq!(bench.store.calls(), expected, "a wrapped message costs what a raw one costs");
    }
    assert_eq!((handler.effects_of("a"), bench.records.all().len()), (1, 1));
}

#[tokio::test]
async fn a_wrapped_message_of_a_newer_schema_waits_like_a_raw_one() {
    let bench = Bench::with(Scripted::new(), settings());
    let mut newer = raw();
    newer["schemaVersion"] = json!(2);
    for (number, body) in [newer.to_string(), sns(&newer.to_string()), event(&newer)].into_iter().enumerate() {
        assert_eq!(run(&bench, [MessageBuilder::new(&format!("m{number}"), body)]).await.failed.len(), 1);
    }
    let [record] = &bench.records.all()[..] else { panic!("one record") };
    assert_state(record, Status::RetryScheduled, 0, None);
}

#[tokio::test]
async fn an_unsupported_form_is_poison_with_a_reason_of_its_own() {
    let confirmation =
        json!({"Type": "SubscriptionConfirmation", "TopicArn": "t", "Token": "x", "SubscribeURL": "https://x", "Message": "m"});
    let state_change = json!({"version": "0", "detail-type": "EC2 Instance State-change Notification", "source": "aws.ec2", "detail": {"state": "running"}});
    for (body, code) in [
        (confirmation.to_string(), "sns_confirmation"),
        (state_change.to_string(), "event_without_job"),
        (format!("[{}]", raw()), "body_is_a_list"),
        (sns("not a job"), "body_not_json"),
    ] {
        let bench = Bench::with(Scripted::new(), settings());
        expect(
            &bench,
            &MessageBuilder::new("m1", body),
            Seen {
                visible_in: exactly(seconds(0)),
                reported: true,
                metric: Some("PoisonSeen"),
                line: "message unparseable",
                outcome: "poison",
            },
        )
        .await;
        let record = record_by_id(&bench, &message_record_id("m1")).expect("a record under the message id");
        assert_state(&record, Status::Dead, 0, Some(code));
    }
}

#[tokio::test]
async fn a_job_with_a_member_called_message_is_not_unwrapped() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let mut look_alike = raw();
    look_alike["Type"] = json!("Notification");
    look_alike["Message"] = json!(raw().to_string());
    assert_eq!(run(&bench, [MessageBuilder::new("m1", look_alike.to_string())]).await.failed, ["m1"]);
    assert!(handler.starts().is_empty());
    let record = record_by_id(&bench, &message_record_id("m1")).expect("a record under the message id");
    assert_state(&record, Status::Dead, 0, Some("unknown_member"));
}

#[tokio::test]
async fn what_asks_for_no_work_is_acknowledged_with_one_line_and_no_call() {
    let test_event = json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2026-01-31T12:45:07.000Z", "Bucket": "b", "RequestId": "r", "HostId": "h"});
    for (body, reason) in [
        (test_event.to_string(), "s3_test_event"),
        (sns(&test_event.to_string()), "s3_test_event"),
        (json!({"Records": []}).to_string(), "no_records"),
    ] {
        let bench = Bench::with(Scripted::new(), settings());
        let logs = captured();
        // On a third receive nothing is counted as poison either.
        let answer = run(&bench, [MessageBuilder::new("m1", body).received(3)]).await;
        assert!(answer.failed.is_empty() && answer.metrics.is_empty(), "{}", answer.metrics);
        assert!(bench.store.calls().is_empty() && bench.queue.calls().is_empty());
        let [line] = &logs.parsed()[..] else { panic!("one line") };
        assert_eq!(
            (&line["message"], &line["reason"], &line["message_id"]),
            (&json!("event skipped"), &json!(reason), &json!("m1"))
        );
    }
}

const PAGE: &str = include_str!("../../../docs/messages.md");

/// The example that is marked with `json <name>` on the page.
fn example(name: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```json {name}\n")).unwrap_or_else(|| panic!("docs/messages.md has no `{name}`"));
    rest.split_once("\n```").expect("the block ends").0
}

#[tokio::test]
async fn the_documented_forms_of_a_job_are_one_job() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    for form in ["job", "sns", "event-bridge"] {
        assert!(run(&bench, [MessageBuilder::new(form, example(form))]).await.failed.is_empty(), "{form}");
    }
    assert_eq!((handler.effects_of("mail-1001"), bench.records.all().len()), (1, 1));
}

#[tokio::test]
async fn the_documented_forms_of_an_upload_tell_the_same() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    for form in ["s3", "s3-event-bridge"] {
        run(&bench, [MessageBuilder::new(form, example(form))]).await;
    }
    let told = handler.objects();
    assert_eq!((told.len(), &told[0], told[0].key.as_str()), (2, &told[1], "uploads/summer 2026+1.jpg"));
}
