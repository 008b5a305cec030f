//! The envelope that SNS puts around a message where the subscription has no raw delivery
//! (<https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html>).

use serde_json::{Map, Value};

use super::BodyError;

/// Whether this is SNS's envelope.
pub(super) fn is_around(members: &Map<String, Value>) -> bool {
    members.contains_key("Type") && (members.contains_key("Message") || members.contains_key("TopicArn"))
}

/// The message that was published. A question whether to subscribe is not answered from here: it names a URL, and anybody who may send
/// to the queue could name one.
pub(super) fn message(members: &Map<String, Value>) -> Result<&str, BodyError> {
    match members.get("Type").and_then(Value::as_str) {
        Some("Notification") => members.get("Message").and_then(Value::as_str).ok_or(BodyError::SnsMessageMissing),
        Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => Err(BodyError::SnsConfirmation),
        _ => Err(BodyError::SnsMessageMissing),
    }
}
