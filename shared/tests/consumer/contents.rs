//! Tools that look at messages name the same records as the consumer that works on them.

use std::collections::BTreeMap;

use ikkai::consumer::{Done, Failure, Handler, JobContext, MessageContent, ObjectEvent, ObjectVerdict, contents};
use ikkai::idempotency::{LastError, Status};
use ikkai::job::{EmailSend, Job, JobKind, ReferenceId, find};
use ikkai::testing::{Bench, MessageBuilder};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::objects::{s3_event, s3_record};
use crate::script::settings;

/// Takes every object.
struct Anything;

impl Handler for Anything {
    type Payload = EmailSend;

    fn on_object(&self, _object: &ObjectEvent) -> ObjectVerdict<EmailSend> {
        let id = |text| ReferenceId::parse(text).unwrap();
        ObjectVerdict::Job(EmailSend { delivery_id: id("d"), template_id: id("t"), user_id: id("u") })
    }

    async fn handle(&self, _job: &Job<EmailSend>, _context: &JobContext) -> Result<Done, Failure> {
        Ok(Done::new())
    }
}

/// What is known under a record's id: the payload's digest, or why there is no job.
type Known = BTreeMap<String, Result<Option<String>, LastError>>;

fn kind() -> &'static JobKind {
    find("email.send").unwrap()
}

fn looked_at(body: &str) -> Known {
    let mut known = Known::new();
    for content in contents(body, kind(), "email", "message-1") {
        match content {
            MessageContent::Job { job_id, payload_digest, .. } => known.insert(job_id.to_string(), Ok(payload_digest)),
            MessageContent::Unreadable { job_id, reason } => known.insert(job_id.to_string(), Err(reason)),
            _ => None,
        };
    }
    known
}

async fn worked_on(body: &str) -> Known {
    let bench = Bench::with(Anything, settings());
    bench.run_batch([MessageBuilder::new("message-1", body).build()]).await.unwrap();
    let known = bench.records.all().into_iter().map(|record| {
        let reason = record.last_error.filter(|_| record.status == Status::Dead);
        (record.job_id.to_string(), reason.map_or(Ok(record.payload_digest), Err))
    });
    known.collect()
}

/// Both say the same; only what a handler makes of an object and what a newer version says is not known by looking.
async fn agree(body: &str) -> Result<(), TestCaseError> {
    let (looked_at, mut worked_on) = (looked_at(body), worked_on(body).await);
    for (id, known) in &looked_at {
        if let (Ok(None), Some(Ok(digest))) = (known, worked_on.get_mut(id)) {
            *digest = None;
        }
    }
    prop_assert_eq!(looked_at, worked_on, "{}", body);
    Ok(())
}

fn job() -> Value {
    let payload = json!({"deliveryId": "a", "templateId": "welcome", "userId": "user-42"});
    json!({"type": "email.send", "schemaVersion": 1, "idempotencyKey": "mail-a", "businessId": "order-1", "payload": payload})
}

fn job_with_id() -> Value {
    serde_json::from_str(MessageBuilder::email("a").build().body.as_deref().unwrap()).unwrap()
}

fn over_event_bridge() -> Value {
    json!({"version": "0", "id": "1", "detail-type": "Mail wanted", "source": "shop.orders", "account": "1", "time": "2026-01-31T12:45:07Z",
        "region": "us-west-2", "resources": [], "detail": job()})
}

fn object_over_event_bridge() -> Value {
    let object = json!({"key": "uploads/a", "size": 1, "etag": "e", "sequencer": "1"});
    json!({"version": "0", "detail-type": "Object Created", "source": "aws.s3", "detail": {"bucket": {"name": "assets"}, "object": object,
        "reason": "PutObject"}})
}

fn of_version(version: u32) -> Value {
    let mut job = job();
    job["schemaVersion"] = json!(version);
    job
}

fn documents() -> Vec<Value> {
    let removed = {
        let mut record = s3_record("uploads/gone");
        record["eventName"] = json!("ObjectRemoved:Delete");
        record
    };
    let unidentified = {
        let mut record = s3_record("uploads/c");
        record["s3"]["object"].as_object_mut().unwrap().retain(|name, _| name == "key");
        record
    };
    let parsed = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let newer_without_key = {
        let mut job = of_version(2);
        job.as_object_mut().unwrap().remove("idempotencyKey");
        job
    };
    vec![
        job(),
        job_with_id(),
        of_version(2),
        newer_without_key,
        over_event_bridge(),
        object_over_event_bridge(),
        parsed(s3_event(&[s3_record("uploads/a")])),
        parsed(s3_event(&[s3_record("uploads/a"), removed, unidentified, s3_record("uploads/%zz"), s3_record("uploads/b")])),
        parsed(s3_event(&[])),
        json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "assets"}),
    ]
}

fn sns(message: &str) -> String {
    json!({"Type": "Notification", "TopicArn": "arn:aws:sns:us-west-2:123456789012:jobs", "Message": message}).to_string()
}

#[tokio::test]
async fn a_look_names_the_records_that_work_makes() {
    for document in documents() {
        for body in [document.to_string(), sns(&document.to_string()), sns(&sns(&document.to_string()))] {
            agree(&body).await.unwrap();
        }
    }
    for body in ["", " ", "no JSON", "[]", "7", "null", "{}", "{\"type\":7}", "{\"a\":1,\"a\":2}", &sns(&sns(&sns(&sns("{}"))))] {
        agree(body).await.unwrap();
    }
}

#[test]
fn a_look_counts_every_place_of_a_message() {
    let several = contents(&documents()[7].to_string(), kind(), "email", "m");
    let kinds: Vec<_> = several
        .iter()
        .map(|content| match content {
            MessageContent::Job { .. } => "job",
            MessageContent::Unreadable { .. } => "unreadable",
            _ => "nothing",
        })
        .collect();
    assert_eq!(kinds, ["job", "nothing", "unreadable", "unreadable", "job"]);
}

/// Where a document is changed, and into what.
fn change() -> impl Strategy<Value = (usize, Option<Value>)> {
    let value = prop_oneof![
        Just(Value::Null),
        Just(json!(0)),
        Just(json!(3)),
        Just(json!("")),
        Just(json!("email.send")),
        Just(json!("ObjectRemoved:Delete")),
        Just(json!("aws:s3")),
        Just(json!([])),
        Just(json!({})),
        "[a-z%+ ]{0,12}".prop_map(Value::from),
    ];
    (0usize..60, proptest::option::of(value))
}

/// Changes, or removes, the member at a place, counted through the whole document.
fn apply(document: &mut Value, place: &mut usize, change: &Option<Value>) {
    let changed: Option<String> = match document {
        Value::Object(members) => {
            let names: Vec<_> = members.keys().cloned().collect();
            names.into_iter().find(|name| match *place {
                0 => true,
                _ => {
                    *place -= 1;
                    apply(&mut members[name], place, change);
                    false
                }
            })
        }
        Value::Array(values) => {
            values.iter_mut().for_each(|value| apply(value, place, change));
            None
        }
        _ => None,
    };
    if let (Some(name), Value::Object(members)) = (changed, document) {
        *place = usize::MAX;
        match change {
            Some(value) => members.insert(name, value.clone()),
            None => members.remove(&name),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_look_agrees_with_work_on_damaged_bodies(
        which in 0usize..10, changes in proptest::collection::vec(change(), 1..4), wrapped in any::<bool>(), cut in proptest::option::of(0usize..400),
    ) {
        let mut document = documents().swap_remove(which);
        for (place, change) in &changes {
            apply(&mut document, &mut place.clone(), change);
        }
        let mut body = if wrapped { sns(&document.to_string()) } else { document.to_string() };
        if let Some(cut) = cut {
            body.truncate(cut);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(agree(&body))?;
    }
}
