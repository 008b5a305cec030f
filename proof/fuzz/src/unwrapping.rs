//! The body of a message that another service may have wrapped: SNS, EventBridge, S3.

use ikkai::consumer::{Done, Failure, Handler, JobContext, MessageContent, ObjectEvent, ObjectVerdict, contents};
use ikkai::job::{EmailSend, Envelope, Job, JobId, JobKind, Parsed, ReferenceId, strict_json};
use ikkai::testing::{Bench, MessageBuilder};
use serde_json::{Value, json};

use crate::json_mutation::Vocabulary;
use crate::{masking, waiting};

const QUEUE: &str = "email";
const MESSAGE_ID: &str = "2b8f36b4-87a3-44ab-83d2-661975830a02";
const MOST_JOBS: usize = 100;
const KIND: JobKind = JobKind::of::<EmailSend>();

/// Words of the services' envelopes, and of the jobs in them.
pub const WORDS: Vocabulary = Vocabulary {
    names: &[
        "Type",
        "Message",
        "TopicArn",
        "detail-type",
        "source",
        "detail",
        "Records",
        "Event",
        "eventSource",
        "eventName",
        "s3",
        "bucket",
        "name",
        "object",
        "key",
        "size",
        "eTag",
        "etag",
        "versionId",
        "version-id",
        "sequencer",
        "reason",
        "type",
        "schemaVersion",
        "jobId",
        "idempotencyKey",
        "payload",
    ],
    values: &[
        "\"Notification\"",
        "\"SubscriptionConfirmation\"",
        "\"aws:s3\"",
        "\"aws.s3\"",
        "\"ObjectCreated:Put\"",
        "\"ObjectRemoved:Delete\"",
        "\"Object Created\"",
        "\"Object Deleted\"",
        "\"s3:TestEvent\"",
        "\"null\"",
        "\"uploads/a+b%2Bc.jpg\"",
        "\"uploads/\"",
        "0",
        "2",
        "[]",
        "\"email.send\"",
    ],
};

/// What has to hold for any text.
///
/// # Panics
/// When it does not.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let found = read(text);
    check_places(&found);
    check_wrapped(text, &found);
    check_records(&found, text);
    if let Ok(document) = strict_json::parse(text) {
        check_job(text, &document, &found);
        check_objects(&document, &found);
        check_nothing_repeated(&document);
    }
}

fn read(text: &str) -> Vec<MessageContent> {
    contents(text, &KIND, QUEUE, MESSAGE_ID)
}

fn id_of(content: &MessageContent) -> Option<&JobId> {
    match content {
        MessageContent::Job { job_id, .. } | MessageContent::Unreadable { job_id, .. } => Some(job_id),
        _ => None,
    }
}

/// The names of what is unreadable.
fn codes(found: &[MessageContent]) -> Vec<&str> {
    let codes = found.iter().map(|content| match content {
        MessageContent::Unreadable { reason, .. } => Some(reason.code.as_str()),
        _ => None,
    });
    codes.flatten().collect()
}

/// At least one content and at most a hundred, under ids that the table takes; what is no job is never recorded as one.
fn check_places(found: &[MessageContent]) {
    assert!((1..=MOST_JOBS).contains(&found.len()));
    for content in found {
        if let Some(job_id) = id_of(content) {
            assert_eq!(JobId::parse_stored(job_id.as_str()).as_ref(), Ok(job_id));
            // A job of a newer schema version may have no key that can be read.
            let is_newer = matches!(content, MessageContent::Job { schema_version, .. } if *schema_version > KIND.schema_version);
            assert!(is_newer || job_id.is_for_message() == matches!(content, MessageContent::Unreadable { .. }));
        }
        if let MessageContent::Unreadable { reason, .. } = content {
            assert!(!reason.code.is_empty() && !reason.message.is_empty() && reason.message.len() < 4_096);
        }
    }
}

/// What is readable is the same in the envelope of SNS, as long as there are not too many envelopes.
fn check_wrapped(text: &str, found: &[MessageContent]) {
    if !codes(found).is_empty() {
        return;
    }
    let wrapped = read(&json!({"Type": "Notification", "TopicArn": "arn:aws:sns:eu-west-1:1:jobs", "Message": text}).to_string());
    assert!(wrapped == found || codes(&wrapped) == ["wrapped_too_often"], "{wrapped:?}, and without the envelope {found:?}");
}

/// A job is what the envelope's own reader says, and the same in EventBridge's envelope, as far as that is not nested too deep.
fn check_job(text: &str, document: &Value, found: &[MessageContent]) {
    let Some(members) = document.as_object().filter(|members| members.contains_key("type")) else { return };
    let parsed = Envelope::parse(text, &KIND);
    match (&parsed, found) {
        (Ok(Parsed::Job(envelope)), [MessageContent::Job { job_id, schema_version, payload_digest: Some(_) }]) => {
            let derived = || JobId::for_direct_sender(QUEUE, &envelope.job_type, &envelope.idempotency_key);
            assert_eq!(*job_id, envelope.job_id.clone().unwrap_or_else(derived));
            assert_eq!(*schema_version, envelope.schema_version);
        }
        (Ok(Parsed::TooNew(header)), [MessageContent::Job { schema_version, payload_digest: None, .. }]) => {
            assert_eq!(*schema_version, header.schema_version);
        }
        (Err(error), [MessageContent::Unreadable { reason, .. }]) => assert_eq!(reason.code, error.code()),
        other => panic!("two readers of one job: {other:?}"),
    }
    let event = json!({"version": "0", "detail-type": "Mail wanted", "source": "shop.orders", "detail": members});
    let wrapped = read(&event.to_string());
    assert!(wrapped == found || codes(&wrapped) == ["nested_too_deep"], "{wrapped:?}, and without the envelope {found:?}");
}

/// The objects of a notification are the same jobs, one by one or together, and told by S3's event in EventBridge.
fn check_objects(document: &Value, found: &[MessageContent]) {
    let is_notification = ["type", "Type", "detail"].iter().all(|name| document.get(name).is_none());
    let Some(records) = document.get("Records").and_then(Value::as_array).filter(|_| is_notification) else { return };
    if records.is_empty() || records.len() > MOST_JOBS {
        return;
    }
    assert_eq!(found.len(), records.len(), "one content a record");
    for (content, record) in found.iter().zip(records) {
        let alone = read(&json!({"Records": [record]}).to_string());
        let [alone] = &alone[..] else { panic!("one record is one content") };
        match (content, alone) {
            // Where a record is no job, its place is a part of its name.
            (MessageContent::Unreadable { reason, .. }, MessageContent::Unreadable { reason: other, .. }) => {
                assert_eq!(reason, other);
            }
            (content, alone) => assert_eq!(content, alone),
        }
        if let (MessageContent::Job { .. }, Some(event)) = (content, told_by_event_bridge(record)) {
            assert_eq!(read(&event.to_string()), std::slice::from_ref(content), "one upload is one job however it is told about");
        }
    }
}

/// S3's event about the same object, as EventBridge would bring it.
fn told_by_event_bridge(record: &Value) -> Option<Value> {
    let (bucket, object) = (record.pointer("/s3/bucket/name")?, record.pointer("/s3/object")?);
    let mut told = object.clone();
    let members = told.as_object_mut()?;
    members.insert("key".to_owned(), decoded(object.get("key")?.as_str()?)?.into());
    for (name, other) in [("eTag", "etag"), ("versionId", "version-id")] {
        members.remove(other);
        if let Some(value) = members.remove(name) {
            members.insert(other.to_owned(), value);
        }
    }
    Some(json!({
        "version": "0", "detail-type": "Object Created", "source": "aws.s3",
        "detail": {"reason": "PutObject", "bucket": {"name": bucket}, "object": told},
    }))
}

/// Decodes what forms encode; written differently from the consumer's own.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.replace('+', " ").into_bytes();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2).filter(|digits| !digits.starts_with('+'))?, 16).ok()?);
        bytes.extend(part[2..].replace('+', " ").into_bytes());
    }
    let text = String::from_utf8(bytes).ok()?;
    // S3 tells every character; strict JSON takes those that SQS carries.
    text.chars().all(|character| matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..)).then_some(text)
}

/// No reason repeats a value of the body, whatever envelope it stood in: reasons are logged and kept.
fn check_nothing_repeated(document: &Value) {
    let kept = ["type", "Type", "source", "detail-type", "eventSource", "eventName", "Event"];
    for content in read(&masking::values(document, &kept).to_string()) {
        if let MessageContent::Unreadable { reason, .. } = content {
            assert!(!masking::shows(&reason.message), "{}", reason.message);
        }
    }
}

/// A consumer records what is told here, under the same ids: operators look at a message through [`contents`] and at its record in the table.
fn check_records(found: &[MessageContent], text: &str) {
    // A job of a newer schema version waits; its message comes back.
    if found
        .iter()
        .any(|content| matches!(content, MessageContent::Job { schema_version, .. } if *schema_version > KIND.schema_version))
    {
        return;
    }
    let bench = Bench::new(Idle);
    let message = MessageBuilder::new(MESSAGE_ID, text);
    let run = waiting::outcome(bench.run_batch([message.build()])).expect("an answer");
    let mut recorded: Vec<String> = bench.records.all().iter().map(|record| record.job_id.as_str().to_owned()).collect();
    let mut told: Vec<String> = found.iter().filter_map(id_of).map(|job_id| job_id.as_str().to_owned()).collect();
    recorded.sort_unstable();
    told.sort_unstable();
    let places = told.len();
    told.dedup();
    assert_eq!(recorded, told, "the consumer and the tools know the same records");
    if told.len() < places {
        // The second of two places that hold one job may find it at work, and comes back.
        return;
    }
    let failed = !codes(found).is_empty();
    assert_eq!(!run.failed.is_empty(), failed, "what is no job goes to the dead-letter queue, and nothing else does");
}

/// Takes every job and every object.
struct Idle;

impl Handler for Idle {
    type Payload = EmailSend;

    fn on_object(&self, _: &ObjectEvent) -> ObjectVerdict<EmailSend> {
        let id = || ReferenceId::parse("upload").expect("an id");
        ObjectVerdict::Job(EmailSend { delivery_id: id(), template_id: id(), user_id: id() })
    }

    async fn handle(&self, _: &Job<EmailSend>, _: &JobContext) -> Result<Done, Failure> {
        Ok(Done::new())
    }
}
