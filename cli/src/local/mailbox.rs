//! The mails that the engine's SES has taken.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;

use super::loopback::{Loopback, LoopbackError};

/// The mailbox could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MailboxError {
    /// The engine did not answer.
    #[error("cannot read the engine's mailbox")]
    Unreachable(#[from] LoopbackError),
    /// The engine's answer is not what this version of it should say.
    #[error("the engine's mailbox is not in the expected form")]
    Unexpected(#[from] serde_json::Error),
}

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

#[derive(Deserialize)]
struct Messages {
    messages: std::collections::BTreeMap<String, Vec<ReceivedMail>>,
}

/// All mails, oldest first.
///
/// # Errors
/// The engine cannot be reached.
pub async fn mails(engine: SocketAddr) -> Result<Vec<ReceivedMail>, MailboxError> {
    let answer = Loopback::new(Duration::from_secs(10)).get(engine, "/_ministack/ses/messages").await?;
    let messages: Messages = serde_json::from_slice(answer.body())?;
    Ok(messages.messages.into_values().flatten().collect())
}
