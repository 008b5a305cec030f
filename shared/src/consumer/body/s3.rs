//! S3's notifications (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html>).

use serde_json::{Map, Value};

use super::super::object::ObjectEvent;
use super::{BodyError, MAX_JOBS};

/// What S3 tells.
#[derive(Debug, PartialEq)]
pub(in crate::consumer) enum Told {
    /// Something happened to an object.
    Object(ObjectEvent),
    /// Nothing that any consumer works on, for this reason.
    Nothing(&'static str),
}

/// What S3 sends once, when a notification is configured: the event has no records
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/how-to-enable-disable-notification-intro.html>).
pub(super) fn is_test_event(members: &Map<String, Value>) -> bool {
    members.get("Event").and_then(Value::as_str) == Some("s3:TestEvent")
}

/// The records of a notification.
pub(super) fn records(records: Value) -> Result<Vec<Value>, BodyError> {
    match records {
        Value::Array(records) if records.len() > MAX_JOBS => Err(BodyError::TooManyJobs { count: records.len() }),
        Value::Array(records) => Ok(records),
        _ => Err(BodyError::RecordsNotAList),
    }
}

/// The object that a notification's record is about. Its key is encoded as forms are, and decoded here, once.
pub(super) fn in_notification(record: &Value) -> Result<Told, BodyError> {
    let incomplete = |pointer| BodyError::ObjectIncomplete { pointer };
    if record.get("eventSource").and_then(Value::as_str) != Some("aws:s3") {
        return Err(BodyError::NotFromS3);
    }
    let event_name = text(record.get("eventName")).ok_or(incomplete("/eventName"))?;
    let event_name = event_name.strip_prefix("s3:").unwrap_or(event_name).to_owned();
    if let Some(reason) = nothing_to_do(&event_name) {
        return Ok(Told::Nothing(reason));
    }
    let bucket = text(record.pointer("/s3/bucket/name")).ok_or(incomplete("/s3/bucket/name"))?;
    let object = record.pointer("/s3/object").unwrap_or(&Value::Null);
    let key = decode_key(text(object.get("key")).ok_or(incomplete("/s3/object/key"))?)?;
    told(event_name, bucket, key, object, Names { etag: "eTag", version_id: "versionId" })
}

/// Why nobody works on what happened. An object that is gone leaves nothing to work on.
pub(super) fn nothing_to_do(event_name: &str) -> Option<&'static str> {
    let removed = event_name.starts_with("ObjectRemoved") || event_name.starts_with("LifecycleExpiration");
    removed.then_some("object_removed")
}

/// What two members are called in one form of the event.
pub(super) struct Names {
    pub(super) etag: &'static str,
    pub(super) version_id: &'static str,
}

pub(super) fn told(event_name: String, bucket: &str, key: String, object: &Value, names: Names) -> Result<Told, BodyError> {
    let size = object.get("size").and_then(Value::as_u64);
    // The console makes such an object for a folder
    // (https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-folders.html).
    if key.ends_with('/') && size == Some(0) {
        return Ok(Told::Nothing("folder_marker"));
    }
    let own = |text: &&str| *text != "null";
    Ok(Told::Object(ObjectEvent {
        bucket: bucket.to_owned(),
        key,
        // In a bucket that stopped keeping versions every new object has the version `null`.
        version_id: text(object.get(names.version_id)).filter(own).map(str::to_owned),
        etag: text(object.get(names.etag)).map(|tag| tag.trim_matches('"').to_owned()),
        size,
        sequencer: text(object.get("sequencer")).map(str::to_owned),
        event_name,
    }))
}

/// A text that says something.
pub(super) fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Decodes `application/x-www-form-urlencoded`: `+` is a blank, `%2B` a plus.
fn decode_key(encoded: &str) -> Result<String, BodyError> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => match (digit(rest.next()), digit(rest.next())) {
                #[allow(clippy::cast_possible_truncation, reason = "two hexadecimal digits are a byte")]
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => return Err(BodyError::KeyMalformed { problem: "two hexadecimal digits must follow `%`" }),
            },
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| BodyError::KeyMalformed { problem: "what is encoded is not UTF-8" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_decoded_once() {
        for (encoded, key) in [
            ("uploads/a+b%2Bc.jpg", "uploads/a b+c.jpg"),
            ("uploads/a%20b.jpg", "uploads/a b.jpg"),
            ("a%2520b", "a%20b"),
            ("a%252Bb", "a%2Bb"),
            ("%E5%86%99%E7%9C%9F.jpg", "写真.jpg"),
            ("写真.jpg", "写真.jpg"),
            ("a%2fb%2Fc", "a/b/c"),
            ("%00", "\0"),
        ] {
            assert_eq!(decode_key(encoded).as_deref(), Ok(key), "{encoded}");
        }
    }

    #[test]
    fn a_key_that_s3_cannot_have_written_is_refused() {
        for encoded in ["a%", "a%2", "a%zz", "a%+1", "%ff", "%C3", "a%C3+b", "%é0"] {
            assert!(matches!(decode_key(encoded), Err(BodyError::KeyMalformed { .. })), "{encoded}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_key_survives_its_encoding(key in "\\PC{0,80}") {
            let encoded: String = key
                .bytes()
                .map(|byte| match byte {
                    b' ' => "+".to_owned(),
                    byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                    byte => format!("%{byte:02X}"),
                })
                .collect();
            proptest::prop_assert_eq!(decode_key(&encoded), Ok(key));
        }
    }
}
