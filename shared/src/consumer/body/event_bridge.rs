//! The envelope of EventBridge (<https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html>), around a job or as S3's
//! own event (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html>).

use serde_json::{Map, Value};

use super::BodyError;
use super::s3::{self, Told};

/// Whether this is EventBridge's envelope.
pub(super) fn is_around(members: &Map<String, Value>) -> bool {
    ["detail-type", "source", "detail"].iter().all(|&name| members.contains_key(name))
}

/// Whether S3 sent the event. Sources that begin with `aws.` are AWS's own; EventBridge takes them from nobody else.
pub(super) fn is_from_s3(members: &Map<String, Value>) -> bool {
    members.get("source").and_then(Value::as_str) == Some("aws.s3")
}

/// The job in `detail`, which is the whole envelope of a job and nothing else. Source, detail type and the event's own id are the
/// sender's business: the job's identity is its idempotency key.
pub(super) fn job(members: &mut Map<String, Value>) -> Result<Value, BodyError> {
    match members.remove("detail") {
        Some(Value::Object(detail)) if detail.contains_key("type") => Ok(Value::Object(detail)),
        _ => Err(BodyError::EventWithoutJob),
    }
}

/// The object that an event of S3's is about. In this form its key is not encoded.
pub(super) fn object(members: &Map<String, Value>) -> Result<Told, BodyError> {
    let detail = members.get("detail").unwrap_or(&Value::Null);
    let happened = members.get("detail-type").and_then(Value::as_str).unwrap_or_default();
    let event_name = event_name(happened, detail.get("reason").and_then(Value::as_str));
    if let Some(reason) = s3::nothing_to_do(&event_name) {
        return Ok(Told::Nothing(reason));
    }
    let bucket =
        s3::text(detail.pointer("/bucket/name")).ok_or(BodyError::ObjectIncomplete { pointer: "/detail/bucket/name" })?;
    let object = detail.get("object").unwrap_or(&Value::Null);
    let key = s3::text(object.get("key")).ok_or(BodyError::ObjectIncomplete { pointer: "/detail/object/key" })?;
    s3::told(event_name, bucket, key.to_owned(), object, s3::Names { etag: "etag", version_id: "version-id" })
}

/// What happened, in the words of S3's notifications
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/EventBridge.html>); what has no word there keeps its own.
fn event_name(happened: &str, reason: Option<&str>) -> String {
    match (happened, reason) {
        ("Object Created", Some("PutObject")) => "ObjectCreated:Put",
        ("Object Created", Some("POST Object")) => "ObjectCreated:Post",
        ("Object Created", Some("CopyObject")) => "ObjectCreated:Copy",
        ("Object Created", Some("CompleteMultipartUpload")) => "ObjectCreated:CompleteMultipartUpload",
        ("Object Created", _) => "ObjectCreated",
        ("Object Deleted", _) => "ObjectRemoved",
        (other, _) => other,
    }
    .to_owned()
}
