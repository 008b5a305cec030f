//! The mails that the engine's SES has taken.

use serde::Deserialize;

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
    /// The plain text.
    #[serde(default)]
    pub body_text: Option<String>,
    /// The HTML.
    #[serde(default)]
    pub body_html: Option<String>,
}

/// All mails, oldest first.
///
/// # Errors
/// The engine cannot be reached.
pub async fn mails(engine: EngineAddress) -> Result<Vec<ReceivedMail>, AskError> {
    engine.mails().await
}
