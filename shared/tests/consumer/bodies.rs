//! Events and messages that are not what they should be: each ends for itself, with a reason.

use std::time::Duration;

use ikkai::consumer::{BatchError, Done, Failure, IncomingEvent, Invocation};
use ikkai::idempotency::Status;
use ikkai::testing::{Bench, MessageBuilder};
use serde_json::{Value, json};

use crate::row::{Seen, exactly, expect};
use crate::script::{Scripted, Step, assert_state, counted, message_record_id, record, record_by_id, run, settings};

#[tokio::test]
async fn a_body_that_does_not_parse_is_recorded_dead_under_its_message_id() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::new("m2", r#"{"type":"email.send","to":"#);
    expect(
        &bench,
        &message,
        Seen {
            visible_in: exactly(Duration::ZERO),
            reported: true,
            metric: Some("PoisonSeen"),
            line: "message unparseable",
            outcome: "poison",
        },
    )
    .await;
    let record = record_by_id(&bench, &message_record_id("m2")).expect("a record under the message id");
    assert_state(&record, Status::Dead, 0, Some("body_not_json"));
    assert_eq!((record.payload, record.idempotency_key), (None, None), "nothing of the body is kept");

    expect(
        &bench,
        &message.received(2),
        Seen { visible_in: exactly(Duration::ZERO), reported: true, metric: None, line: "job dead", outcome: "ended_before" },
    )
    .await;
}

#[tokio::test]
async fn another_content_under_a_used_key_is_refused_and_the_first_one_stays() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let first = MessageBuilder::email("a");
    run(&bench, [first.clone()]).await;
    let before = record(&bench, &first);
    let other = MessageBuilder::job(
        "m2",
        "email.send",
        "a",
        json!({"deliveryId": "other", "templateId": "welcome", "userId": "user-42"}),
    );
    expect(
        &bench,
        &other,
        Seen {
            visible_in: exactly(Duration::ZERO),
            reported: true,
            metric: Some("PoisonSeen"),
            line: "message unparseable",
            outcome: "poison",
        },
    )
    .await;
    assert_eq!(record(&bench, &first), before);
    let refused = record_by_id(&bench, &message_record_id("m2")).expect("a record under the message id");
    assert_state(&refused, Status::Dead, 0, Some("payload_mismatch"));
    assert_eq!(handler.starts_of("other"), 0);
}

#[tokio::test]
async fn a_job_of_another_type_is_refused_by_name() {
    let bench = Bench::with(Scripted::new(), settings());
    let message = MessageBuilder::job("m1", "image.resize", "key-1", json!({"imageId": "i-1"}));
    expect(
        &bench,
        &message,
        Seen {
            visible_in: exactly(Duration::ZERO),
            reported: true,
            metric: Some("PoisonSeen"),
            line: "message unparseable",
            outcome: "poison",
        },
    )
    .await;
    let refused = record_by_id(&bench, &message_record_id("m1")).expect("a record under the message id");
    assert_state(&refused, Status::Dead, 0, Some("wrong_type"));
    assert!(refused.last_error.unwrap().message.contains("email.send"));
}

#[tokio::test]
async fn a_bad_body_does_not_disturb_its_neighbours() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let run = run(
        &bench,
        [
            MessageBuilder::email("m1"),
            MessageBuilder::new("m2", r#"{"type":"email","to":"#),
            MessageBuilder::new("m3", deep),
            MessageBuilder::new("m4", "\u{feff}"),
            MessageBuilder::new("m5", ""),
            MessageBuilder::email("m6"),
        ],
    )
    .await;
    assert_eq!(run.failed, ["m2", "m3", "m4", "m5"]);
    assert_eq!((handler.effects_of("m1"), handler.effects_of("m6")), (1, 1));
    assert_eq!((counted(&run, "PoisonSeen"), counted(&run, "JobsSucceeded")), (4, 2));
}

#[tokio::test]
async fn messages_without_a_key_never_share_a_record() {
    let bench = Bench::with(Scripted::new(), settings());
    let body = |delivery| {
        let payload = json!({"deliveryId": delivery, "templateId": "welcome", "userId": "user-42"});
        json!({"type": "email.send", "schemaVersion": 1, "payload": payload}).to_string()
    };
    let run = run(&bench, [MessageBuilder::new("m1", body("one")), MessageBuilder::new("m2", body("two"))]).await;
    assert_eq!(run.failed, ["m1", "m2"]);
    let ids: Vec<_> = bench.records.all().into_iter().map(|record| record.job_id).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&message_record_id("m1")) && ids.contains(&message_record_id("m2")), "{ids:?}");
}

#[tokio::test]
async fn a_record_without_a_message_id_fails_the_invocation() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    for id in [json!(""), json!("  "), Value::Null] {
        let mut nameless = MessageBuilder::email("b").to_json();
        nameless["messageId"] = id.clone();
        let batch = [MessageBuilder::email("a").build(), serde_json::from_value(nameless).unwrap()];
        assert_eq!(bench.run_batch(batch).await, Err(BatchError::RecordWithoutId), "{id}");
    }
    assert!(handler.starts().is_empty() && bench.store.calls().is_empty(), "nothing is begun that could not be reported");
}

#[tokio::test]
async fn an_event_of_another_kind_gets_one_clear_error_and_the_next_event_is_served() {
    let bench = Bench::with(Scripted::new(), settings());
    let console = json!({"key1": "value1", "key2": "value2", "key3": "value3"});
    let scheduled = json!({"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}});
    let s3 = json!({"Records": [{"eventSource": "aws:s3", "awsRegion": "us-east-1", "s3": {"object": {"key": "a"}}}]});
    let other_queue = json!({"Records": [MessageBuilder::email("a").queue("orders").to_json()]});
    for (event, error) in [
        (json!({}), "Ikkai.NotAnSqsEvent"),
        (console, "Ikkai.NotAnSqsEvent"),
        (scheduled, "Ikkai.NotAnSqsEvent"),
        (json!({"Records": null}), "Ikkai.NotAnSqsEvent"),
        (s3, "Ikkai.NotFromSqs"),
        (other_queue, "Ikkai.OtherQueue"),
    ] {
        let event: IncomingEvent = serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{event}: {error}"));
        let refused = bench.processor.process(event, &Invocation::default(), &mut Vec::new()).await.unwrap_err();
        assert_eq!(refused.error_type(), error);
    }
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
}

#[tokio::test]
async fn a_record_with_null_or_missing_parts_still_runs() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let full = MessageBuilder::email("a").to_json();
    let bare = json!({"messageId": "b", "body": MessageBuilder::email("b").to_json()["body"]});
    let mut nulled = MessageBuilder::email("c").to_json();
    for part in ["receiptHandle", "md5OfBody", "eventSourceARN", "eventSource", "awsRegion", "attributes", "messageAttributes"] {
        nulled[part] = Value::Null;
    }
    let mut garbage = MessageBuilder::email("d").to_json();
    garbage["attributes"] = json!({"ApproximateReceiveCount": "many", "SentTimestamp": "yesterday"});
    garbage["messageAttributes"] = json!({"tint": {"dataType": "String", "stringValue": "blue"}});
    let event: IncomingEvent =
        serde_json::from_value(json!({"Records": [full, bare, nulled, garbage]})).expect("parts are optional");
    let answer = bench.processor.process(event, &Invocation::default(), &mut Vec::new()).await.unwrap();
    assert!(answer.batch_item_failures.is_empty());
    assert_eq!(handler.starts().len(), 4);
}

#[tokio::test]
async fn a_message_that_stands_twice_in_a_batch_is_reported_once() {
    let bench = Bench::with(Scripted::new().on("a", [Step::Hang]), settings());
    let body = "not a job";
    let run = run(&bench, [MessageBuilder::new("m1", body), MessageBuilder::new("m1", body), MessageBuilder::email("b")]).await;
    assert_eq!(run.failed, ["m1"]);
}

// -- payload types with bugs -----------------------------------------------------------------------------------------------------

/// A payload type whose own check panics for some values.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fragile {
    page: u32,
}

impl ikkai::job::JobPayload for Fragile {
    const TYPE: &'static str = "report.generate";
    const SCHEMA_VERSION: u32 = 1;

    fn check(&self) -> Vec<ikkai::job::FieldError> {
        if self.page == 0 {
            std::panic::resume_unwind(Box::new("division by zero"));
        }
        Vec::new()
    }
}

struct Reports;

impl ikkai::consumer::Handler for Reports {
    type Payload = Fragile;

    async fn handle(&self, _: &ikkai::job::Job<Fragile>, _: &ikkai::consumer::JobContext) -> Result<Done, Failure> {
        Ok(Done::new())
    }
}

#[tokio::test]
async fn a_check_that_panics_ends_its_own_record_as_poison() {
    let bench = Bench::with(Reports, settings());
    let job = |id: &str, page: u32| MessageBuilder::job(id, "report.generate", id, json!({"page": page}));
    let answer = bench.run_batch([job("a", 1).build(), job("b", 0).build(), job("c", 2).build()]).await.unwrap();
    assert_eq!((counted(&answer, "JobsSucceeded"), answer.failed), (2, vec!["b".to_owned()]));
    let reason =
        bench.records.all().into_iter().find(|record| record.status == Status::Dead).and_then(|record| record.last_error);
    assert_eq!(reason.map(|error| error.code), Some("payload_check_panicked".to_owned()));
}
