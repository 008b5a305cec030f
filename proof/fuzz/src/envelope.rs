//! The body of a message, read by a consumer; and of a post, read by the producer API. Both have to mean the same jobs.

use std::collections::BTreeSet;

use ikkai::job::{Envelope, EnvelopeError, JobKind, MAX_BUSINESS_ID_CHARS, Parsed, canonical, find, registry, strict_json};
use serde_json::{Value, json};

use crate::door::Door;
use crate::json_mutation::Vocabulary;
use crate::{masking, pointing};

/// Members of an envelope.
const MEMBERS: [&str; 6] = ["jobId", "type", "schemaVersion", "businessId", "idempotencyKey", "payload"];

/// Words of envelopes, posts and payloads.
pub const WORDS: Vocabulary = Vocabulary {
    names: &[
        "jobId",
        "type",
        "schemaVersion",
        "businessId",
        "idempotencyKey",
        "payload",
        "data",
        "accountId",
        "runAt",
        "callbackUrl",
        "deliveryId",
        "templateId",
        "userId",
        "assetId",
        "versionId",
        "sizes",
        "formats",
        "invoiceId",
        "customerId",
        "amount",
        "currency",
        "period",
        "generation",
        "status",
        "password",
    ],
    values: &[
        "\"email.send\"",
        "\"image.resize\"",
        "\"billing.charge\"",
        "\"report.generate\"",
        "\"webhook.deliver\"",
        "1",
        "2",
        "[256, 720]",
        "[\"webp\", \"jpeg\"]",
        "\"19.99\"",
        "\"EUR\"",
        "\"2026-10\"",
        "\"dead\"",
        "\"email.send-k5mr2qxw7c3vnhd4tbz6yjfgsa\"",
        "\"2027-01-15T08:05:00Z\"",
        "\"https://shop.example/hook\"",
        "{\"amount\":\"5\",\"currency\":\"JPY\"}",
        "{\"deliveryId\":\"d\",\"templateId\":\"t\",\"userId\":\"u\"}",
    ],
};

/// What has to hold for any text.
///
/// # Panics
/// When it does not.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let document = strict_json::parse(text).ok();
    let kind = kind_of(document.as_ref());
    match Envelope::parse(text, kind) {
        Ok(Parsed::Job(envelope)) => {
            let document = document.as_ref().expect("an envelope is strict JSON");
            check_read(&envelope, document, kind);
            check_producer_writes(&envelope, kind);
        }
        Ok(Parsed::TooNew(header)) => assert!(header.schema_version > kind.schema_version),
        Err(error) => check_refused(&error, document.as_ref(), kind),
    }
    if let Some(document) = document {
        check_nothing_repeated(&document, kind);
        check_consumer_reads(document);
    }
}

/// The consumer that the message is meant for; any, where it says nothing of use.
fn kind_of(document: Option<&Value>) -> &'static JobKind {
    let named = document.and_then(|document| find(document.get("type")?.as_str()?));
    named.unwrap_or(&registry()[0])
}

/// What was read is what was written, and is written and read again unchanged.
fn check_read(envelope: &Envelope, document: &Value, kind: &JobKind) {
    assert_eq!(envelope.check(kind), Ok(()), "what is read is what may be sent");
    let body = envelope.to_body();
    assert_eq!(Envelope::parse(&body, kind), Ok(Parsed::Job(envelope.clone())), "what is written is read as the same");
    let rewritten: Value = serde_json::from_str(&body).expect("an envelope is JSON");
    assert_eq!(canonical(&rewritten), canonical(document), "nothing is lost and nothing is added");
    assert!(envelope.business_id.as_ref().is_none_or(|id| (1..=MAX_BUSINESS_ID_CHARS).contains(&id.chars().count())));
    assert_eq!(envelope.job_type.as_str(), kind.job_type);
}

/// The other direction: what a consumer accepts is what the producer would have written, asked for the same. The id is its own, since it depends on
/// the caller.
fn check_producer_writes(envelope: &Envelope, kind: &JobKind) {
    let mut job = json!({
        "type": envelope.job_type.as_str(),
        "schemaVersion": envelope.schema_version,
        "idempotencyKey": envelope.idempotency_key.as_str(),
        "payload": envelope.payload,
    });
    if let Some(business_id) = &envelope.business_id {
        job["businessId"] = json!(business_id);
    }
    // The API asks for what a record has beside its message.
    if !(kind.check_data)(&envelope.payload, None).is_empty() {
        job["data"] = json!({"amount": "19.99", "currency": "EUR"});
    }
    let door = Door::new();
    let answer = door.post(&job);
    assert_eq!(answer.status_code, 202, "a consumer takes what the API refuses: {}", answer.body);
    let sent = door.check_sent();
    let [written] = &sent.values().collect::<Vec<_>>()[..] else { panic!("one message") };
    assert_eq!(Envelope { job_id: envelope.job_id.clone(), ..(*written).clone() }, *envelope);
}

/// What the producer accepts, its consumer reads.
fn check_consumer_reads(document: Value) {
    let Value::Object(mut members) = document else { return };
    members.remove("jobId");
    let door = Door::new();
    let answer = door.post(&Value::Object(members));
    assert!(answer.status_code < 500, "{}", answer.body);
    let sent = door.check_sent();
    assert_eq!(sent.len(), usize::from(answer.status_code == 202), "{}", answer.body);
}

/// An error has a name, and leads to a member of the document wherever that is one.
fn check_refused(error: &EnvelopeError, document: Option<&Value>, kind: &JobKind) {
    let fields = error.fields();
    assert!(!fields.is_empty() && !error.code().is_empty());
    assert!(error.to_string().len() < 4_096, "an error does not grow with its message");
    for field in fields {
        assert!(!field.message.is_empty() && !field.code.is_empty());
        let Some(document) = document else { continue };
        assert!(field.pointer.is_empty() != document.is_object(), "{}: {field} names no member", kind.job_type);
        assert!(pointing::leads_into(document, &field.pointer), "{}: {field} leads nowhere", kind.job_type);
    }
}

/// No error repeats a value, nor a name that the program does not know: it is logged and kept.
fn check_nothing_repeated(document: &Value, kind: &JobKind) {
    let mut known: BTreeSet<String> = MEMBERS.map(str::to_owned).into();
    collect_names(&(kind.schema)(), &mut known);
    let masked = masking::values_and_names(document, &["type"], &|name| known.contains(name));
    if let Err(error) = Envelope::parse(&masked.to_string(), kind) {
        assert!(!masking::shows(&format!("{error} {error:?}")), "{error}");
    }
}

fn collect_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(keywords) => {
            let properties = keywords.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flat_map(|properties| properties.keys().cloned()));
            keywords.values().for_each(|schema| collect_names(schema, names));
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| collect_names(schema, names)),
        _ => {}
    }
}
