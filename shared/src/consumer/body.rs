//! What the body of a message is: a job, or the envelope of another AWS service around one.
//!
//! ```text
//! job                                              as it is
//! {"Type":"Notification","Message":"…"}            SNS, around any of these
//! {"detail-type":…,"source":…,"detail":{…}}        EventBridge, around a job; or S3's own event
//! {"Records":[{"eventSource":"aws:s3",…},…]}       S3's notification, one job an object
//! {"Event":"s3:TestEvent",…}                       S3 when a notification is configured
//! ```
//!
//! Shape decides, and `type` comes first: what has it is a job, whatever else it has. The strict rules for JSON hold in every layer. The
//! forms and where AWS describes them: `docs/messages.md`.

mod error;
mod event_bridge;
mod s3;
mod sns;

use serde_json::{Map, Value};

pub(super) use self::error::BodyError;
pub(super) use self::s3::Told;
use crate::job::{Envelope, EnvelopeError, JobKind, Parsed, strict_json};

/// Most jobs in one message. S3 puts one object into a notification today; a sender with more sends more messages.
pub(super) const MAX_JOBS: usize = 100;

/// SNS around EventBridge around a job is the deepest that services make of it.
const MAX_LAYERS: usize = 3;

/// Member names of the wrappings, which errors may show.
const MEMBERS: [&str; 10] =
    ["Type", "Message", "TopicArn", "detail", "detail-type", "source", "Records", "s3", "bucket", "object"];

/// A body that was understood.
#[derive(Debug)]
pub(super) enum Body {
    /// One job.
    Job(Parsed),
    /// What S3 tells about an object, or why it cannot be understood; one for each record, in order.
    Objects(Vec<Result<Told, BodyError>>),
    /// Nothing to do, for this reason.
    Nothing(&'static str),
}

/// Reads the body of a message for a consumer that works on `kind`.
pub(super) fn read(text: &str, kind: &JobKind) -> Result<Body, BodyError> {
    let unwrapped = unwrap(text).map_err(|error| error.fit_for_logs(kind, &MEMBERS))?;
    Ok(match unwrapped {
        Unwrapped::Job(members) => Body::Job(Envelope::from_members(members, kind)?),
        Unwrapped::Notification(records) if records.is_empty() => Body::Nothing("no_records"),
        Unwrapped::Notification(records) => Body::Objects(records.iter().map(s3::in_notification).collect()),
        Unwrapped::ObjectEvent(event) => Body::Objects(vec![event_bridge::object(&event)]),
        Unwrapped::TestEvent => Body::Nothing("s3_test_event"),
    })
}

/// An S3 notification with these records of the body's alone: the same objects, so the same jobs. `None`: the body holds no such records.
pub(super) fn with_records(text: &str, places: &[usize]) -> Option<String> {
    let Ok(Unwrapped::Notification(records)) = unwrap(text) else { return None };
    let chosen: Option<Vec<_>> = places.iter().map(|&place| records.get(place).cloned()).collect();
    Some(serde_json::json!({ "Records": chosen? }).to_string())
}

/// A body without its wrappings.
enum Unwrapped {
    Job(Map<String, Value>),
    Notification(Vec<Value>),
    ObjectEvent(Map<String, Value>),
    TestEvent,
}

fn unwrap(text: &str) -> Result<Unwrapped, BodyError> {
    let mut document = parse(text)?;
    for _ in 0..MAX_LAYERS {
        let mut members = match document {
            Value::Object(members) => members,
            Value::Array(_) => return Err(BodyError::List),
            _ => return Err(EnvelopeError::NotAnObject.into()),
        };
        let has = |name: &str| members.contains_key(name);
        document = if has("type") {
            return Ok(Unwrapped::Job(members));
        } else if sns::is_around(&members) {
            parse(sns::message(&members)?)?
        } else if event_bridge::is_around(&members) {
            if event_bridge::is_from_s3(&members) {
                return Ok(Unwrapped::ObjectEvent(members));
            }
            event_bridge::job(&mut members)?
        } else if let Some(records) = members.remove("Records") {
            return s3::records(records).map(Unwrapped::Notification);
        } else if s3::is_test_event(&members) {
            return Ok(Unwrapped::TestEvent);
        } else {
            return Err(EnvelopeError::MissingMember { member: "type" }.into());
        };
    }
    Err(BodyError::TooManyLayers)
}

fn parse(text: &str) -> Result<Value, BodyError> {
    Ok(strict_json::parse(text).map_err(EnvelopeError::from)?)
}

#[cfg(test)]
mod tests;
