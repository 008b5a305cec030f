//! The mails that the engine's SES has taken.

use serde::{Deserialize, Deserializer};

use super::engine::{AskError, EngineAddress};

/// A mail.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct ReceivedMail {
    /// SES's id of it.
    pub message_id: String,
    /// The sender, as it stood in the request.
    #[serde(rename = "Source")]
    pub from: String,
    /// The recipients.
    pub to: Vec<String>,
    /// The subject.
    #[serde(default)]
    pub subject: Option<String>,
    /// When it was taken, milliseconds since 1970, if the engine says so.
    #[serde(default, rename = "Timestamp", deserialize_with = "millis")]
    pub taken_ms: Option<i64>,
    /// The plain text.
    #[serde(default)]
    pub body_text: Option<String>,
    /// The HTML.
    #[serde(default)]
    pub body_html: Option<String>,
}

/// The engine counts seconds, with a fraction.
#[allow(clippy::cast_possible_truncation, reason = "a time is far from the limits of its type")]
fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.map(|seconds| (seconds * 1_000.0) as i64))
}

/// All mails, oldest first.
///
/// # Errors
/// The engine cannot be reached.
pub async fn mails(engine: EngineAddress) -> Result<Vec<ReceivedMail>, AskError> {
    engine.mails().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mails_time_is_read_in_milliseconds_and_may_be_missing() {
        let read = |time: &str| -> ReceivedMail {
            serde_json::from_str(&format!(r#"{{"MessageId":"m","Source":"a@example.com","To":["b@example.com"]{time}}}"#))
                .unwrap()
        };
        assert_eq!(read(r#","Timestamp":1790000000.25"#).taken_ms, Some(1_790_000_000_250));
        assert_eq!(read("").taken_ms, None);
    }
}
