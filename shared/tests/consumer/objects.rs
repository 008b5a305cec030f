//! Jobs that are made of S3's events.

use ikkai::clock::Clock;
use ikkai::consumer::ObjectEvent;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::testing::{Bench, MessageBuilder};
use serde_json::{Value, json};

use crate::script::{Scripted, assert_state, captured, code, message_record_id, record_by_id, retry, run, seconds, settings};

/// An S3 record as it stands in a notification: the key in the encoding of forms.
pub(crate) fn s3_record(key: &str) -> Value {
    json!({
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-west-2",
        "eventTime": "2026-01-31T12:45:07.000Z",
        "eventName": "ObjectCreated:Put",
        "userIdentity": {"principalId": "AIDAJDPLRKLG7UEXAMPLE"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"},
        "responseElements": {"x-amz-request-id": "C3D13FE58DE4C810", "x-amz-id-2": "FMyUVURIY8"},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "uploads",
            "bucket": {"name": "assets", "ownerIdentity": {"principalId": "A3NL1KOZZKExample"}, "arn": "arn:aws:s3:::assets"},
            "object": {"key": key, "size": 1024, "eTag": "d41d8cd98f00b204e9800998ecf8427e", "sequencer": "0055AED6DCD90281E5"}
        }
    })
}

pub(crate) fn s3_event(records: &[Value]) -> String {
    json!({ "Records": records }).to_string()
}

/// The same object as EventBridge tells about it: the key as it is.
fn s3_over_event_bridge(key: &str) -> Value {
    json!({
        "version": "0",
        "id": "17793124-05d4-b198-2fde-7ededc63b103",
        "detail-type": "Object Created",
        "source": "aws.s3",
        "account": "111122223333",
        "time": "2026-01-31T12:45:07Z",
        "region": "us-west-2",
        "resources": ["arn:aws:s3:::assets"],
        "detail": {
            "version": "0",
            "bucket": {"name": "assets"},
            "object": {"key": key, "size": 1024, "etag": "d41d8cd98f00b204e9800998ecf8427e", "sequencer": "0055AED6DCD90281E5"},
            "request-id": "C3D13FE58DE4C810",
            "requester": "111122223333",
            "source-ip-address": "127.0.0.1",
            "reason": "PutObject"
        }
    })
}

fn sns(message: &str) -> String {
    json!({"Type": "Notification", "TopicArn": "arn:aws:sns:us-west-2:123456789012:uploads", "Message": message}).to_string()
}

fn uploads() -> Scripted {
    Scripted::new().mails_about_objects("welcome")
}

/// The record of the job whose delivery is called `name`, as that of an upload of this name is.
pub(crate) fn record_of<C: Clock + Clone>(bench: &Bench<Scripted, C>, name: &str) -> Option<JobRecord> {
    bench.records.all().into_iter().find(|record| record.payload.as_ref().is_some_and(|payload| payload["deliveryId"] == name))
}

async fn told_about(body: String) -> Vec<ObjectEvent> {
    let handler = uploads();
    run(&Bench::with(handler.clone(), settings()), [MessageBuilder::new("m1", body)]).await;
    handler.objects()
}

#[tokio::test]
async fn an_upload_is_the_same_job_straight_through_sns_and_through_event_bridge() {
    let notification = s3_event(&[s3_record("uploads/a")]);
    let over_event_bridge = s3_over_event_bridge("uploads/a").to_string();
    let forms = [notification.clone(), sns(&notification), over_event_bridge.clone(), sns(&over_event_bridge)];
    let handler = uploads();
    let bench = Bench::with(handler.clone(), settings());
    for (number, body) in forms.into_iter().enumerate() {
        assert!(run(&bench, [MessageBuilder::new(&format!("m{number}"), body)]).await.failed.is_empty());
    }
    assert_eq!((handler.effects_of("a"), bench.records.all().len()), (1, 1));
    assert_state(&record_of(&bench, "a").unwrap(), Status::Succeeded, 1, None);
    let mut told = handler.objects();
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    let expected = ObjectEvent {
        bucket: "assets".into(),
        key: "uploads/a".into(),
        version_id: None,
        etag: Some("d41d8cd98f00b204e9800998ecf8427e".into()),
        size: Some(1024),
        sequencer: Some("0055AED6DCD90281E5".into()),
        event_name: "ObjectCreated:Put".into(),
    };
    assert_eq!(told[0], expected);
}

#[tokio::test]
async fn a_key_is_decoded_once_from_a_notification_and_never_from_event_bridge() {
    for (encoded, key) in [
        ("uploads/a+b%2Bc.jpg", "uploads/a b+c.jpg"),
        ("uploads/a%2Bb%2520c.jpg", "uploads/a+b%20c.jpg"),
        ("uploads/%E5%86%99%E7%9C%9F.jpg", "uploads/写真.jpg"),
    ] {
        assert_eq!(told_about(s3_event(&[s3_record(encoded)])).await[0].key, key);
        assert_eq!(told_about(sns(&s3_event(&[s3_record(encoded)]))).await[0].key, key);
        assert_eq!(told_about(s3_over_event_bridge(key).to_string()).await[0].key, key);
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_decoded_and_an_event_that_lacks_its_object_are_poison_with_a_reason() {
    let with = |path: &str, value: Value| {
        let mut record = s3_record("uploads/a");
        *record.pointer_mut(path).unwrap() = value;
        s3_event(&[record])
    };
    let mut nothing_to_tell_by = s3_record("uploads/a");
    nothing_to_tell_by["s3"]["object"] = json!({"key": "uploads/a", "size": 1});
    for (body, reason) in [
        (s3_event(&[s3_record("uploads/%E5%86")]), "object_key_malformed"),
        (s3_event(&[s3_record("uploads/100%")]), "object_key_malformed"),
        (with("/s3/object/key", json!("")), "object_event_incomplete"),
        (with("/s3/object/key", json!(7)), "object_event_incomplete"),
        (with("/s3/bucket/name", Value::Null), "object_event_incomplete"),
        (with("/s3", json!("x")), "object_event_incomplete"),
        (with("/eventSource", json!("aws:dynamodb")), "record_not_from_s3"),
        (s3_event(&[json!(7)]), "record_not_from_s3"),
        (s3_event(&[nothing_to_tell_by]), "object_not_identified"),
        (with("/s3/object/size", json!(1.5)), "number_not_integer"),
    ] {
        let handler = uploads();
        let bench = Bench::with(handler.clone(), settings());
        assert_eq!(run(&bench, [MessageBuilder::new("m1", body)]).await.failed, ["m1"], "{reason}");
        let record = record_by_id(&bench, &message_record_id("m1")).expect("a record under the message id");
        assert_state(&record, Status::Dead, 0, Some(reason));
        assert!(handler.starts().is_empty());
    }
}

#[tokio::test]
async fn the_next_upload_of_a_key_is_another_job() {
    let versioned = |version: Value| {
        let mut record = s3_record("uploads/a");
        record["s3"]["object"]["versionId"] = version;
        record
    };
    let later = |record: &Value| {
        let mut record = record.clone();
        record["s3"]["object"]["sequencer"] = json!("0055AED6DCD90281E6");
        record
    };
    let jobs = async |records: &[Value]| {
        let handler = uploads();
        let bench = Bench::with(handler.clone(), settings());
        for (number, record) in records.iter().enumerate() {
            run(&bench, [MessageBuilder::new(&format!("m{number}"), s3_event(std::slice::from_ref(record)))]).await;
        }
        (handler.effects_of("a"), handler.objects())
    };
    let plain = s3_record("uploads/a");
    assert_eq!(jobs(&[plain.clone(), later(&plain)]).await.0, 2, "the same bytes once more");
    assert_eq!(jobs(&[versioned(json!("v1")), versioned(json!("v2"))]).await.0, 2);
    let (once, told) = jobs(&[versioned(json!("v1")), later(&versioned(json!("v1")))]).await;
    assert_eq!((once, told[0].version_id.as_deref()), (1, Some("v1")), "a version is one content");
    for none in [Value::Null, json!(""), json!("null")] {
        let unversioned = versioned(none);
        let (twice, told) = jobs(&[unversioned.clone(), later(&unversioned)]).await;
        assert_eq!((twice, &told[0].version_id), (2, &None), "no version, so each upload counts");
    }
}

#[tokio::test]
async fn removals_and_folder_markers_are_skipped_before_the_handler_is_asked() {
    let named = |name: &str| {
        let mut record = s3_record("uploads/a%zz");
        record["eventName"] = json!(name);
        s3_event(&[record])
    };
    let mut folder = s3_record("uploads/2031/");
    folder["s3"]["object"]["size"] = json!(0);
    let mut deleted = s3_over_event_bridge("uploads/a");
    deleted["detail-type"] = json!("Object Deleted");
    deleted["detail"]["reason"] = json!("DeleteObject");
    for (body, reason) in [
        (named("ObjectRemoved:Delete"), "object_removed"),
        (named("ObjectRemoved:DeleteMarkerCreated"), "object_removed"),
        (named("s3:ObjectRemoved:Delete"), "object_removed"),
        (named("LifecycleExpiration:Delete"), "object_removed"),
        (s3_event(&[folder]), "folder_marker"),
        (deleted.to_string(), "object_removed"),
    ] {
        let handler = uploads();
        let bench = Bench::with(handler.clone(), settings());
        let logs = captured();
        assert!(run(&bench, [MessageBuilder::new("m1", body.clone())]).await.failed.is_empty(), "{body}");
        assert!(handler.objects().is_empty() && bench.store.calls().is_empty());
        let [line] = &logs.parsed()[..] else { panic!("one line") };
        assert_eq!((&line["outcome"], &line["reason"]), (&json!("skipped"), &json!(reason)));
    }
    let mut not_empty = s3_record("uploads/2031/");
    not_empty["s3"]["object"]["size"] = json!(5);
    assert_eq!(told_about(s3_event(&[not_empty])).await.len(), 1, "an object may be called like a folder");
}

#[tokio::test]
async fn the_handler_may_skip_and_refuse_and_its_panic_is_poison() {
    let handler = uploads();
    let bench = Bench::with(handler.clone(), settings());
    let message = |id: &str, key: &str| MessageBuilder::new(id, s3_event(&[s3_record(key)]));
    let answer = run(
        &bench,
        [
            message("m1", "derived/a"),
            message("m2", "uploads/with+blank"),
            message("m3", "uploads/panics"),
            message("m4", "uploads/a"),
        ],
    )
    .await;
    assert_eq!(answer.failed, ["m2", "m3"]);
    assert_eq!(handler.starts(), ["a"]);
    for (id, reason) in [("m2", "key_is_no_id"), ("m3", "on_object_panicked")] {
        let record = record_by_id(&bench, &message_record_id(id)).expect("a record under the message id");
        assert_state(&record, Status::Dead, 0, Some(reason));
    }
}

#[tokio::test]
async fn a_payload_that_the_handler_makes_passes_the_rules_of_envelopes() {
    let bench = Bench::with(uploads(), settings());
    // A card number is a valid reference id, and must not enter a record.
    let message = MessageBuilder::new("m1", s3_event(&[s3_record("uploads/4111111111111111")]));
    assert_eq!(run(&bench, [message]).await.failed, ["m1"]);
    let record = record_by_id(&bench, &message_record_id("m1")).expect("a record under the message id");
    assert_eq!((code(&record), &record.payload), (Some("payload_refused"), &None));
}

#[tokio::test]
async fn a_consumer_that_does_not_say_how_takes_no_objects() {
    struct JobsOnly;
    impl ikkai::consumer::Handler for JobsOnly {
        type Payload = ikkai::job::EmailSend;

        async fn handle(
            &self,
            _: &ikkai::job::Job<ikkai::job::EmailSend>,
            _: &ikkai::consumer::JobContext,
        ) -> Result<ikkai::consumer::Done, ikkai::consumer::Failure> {
            Ok(ikkai::consumer::Done::new())
        }
    }
    let bench = Bench::with(JobsOnly, settings());
    let answer = bench.run_batch([MessageBuilder::new("m1", s3_event(&[s3_record("uploads/a")])).build()]).await.unwrap();
    assert_eq!(answer.failed, ["m1"]);
    let record = record_by_id(&bench, &message_record_id("m1")).expect("a record under the message id");
    assert_state(&record, Status::Dead, 0, Some("object_not_expected"));
}

#[tokio::test]
async fn an_event_that_comes_again_after_a_change_of_settings_is_the_job_that_was_recorded_first() {
    let first = Scripted::new().mails_about_objects("welcome").on("a", [retry()]);
    let bench = Bench::with(first.clone(), settings());
    let message = MessageBuilder::new("m1", s3_event(&[s3_record("uploads/a")]));
    assert_eq!(run(&bench, [message.clone()]).await.failed, ["m1"]);

    bench.clock.advance(seconds(3_600));
    let second = Scripted::new().mails_about_objects("farewell");
    let changed = bench.another_worker(second.clone());
    assert!(run(&changed, [message.clone().received(2)]).await.failed.is_empty());
    assert_eq!(second.effects_of("a"), 1);
    let record = record_of(&bench, "a").unwrap();
    assert_state(&record, Status::Succeeded, 2, None);
    assert_eq!(record.payload.unwrap()["templateId"], "welcome");
    // A duplicate of what is done is acknowledged as one.
    assert!(run(&changed, [message.message_id("m2")]).await.failed.is_empty());
    assert_eq!(second.starts().len(), 1);
}
