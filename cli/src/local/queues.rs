//! What is in the queues.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::engine::{AskError, EngineAddress};

/// A message in a queue. Looking at it receives nothing and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct QueuedMessage {
    /// SQS's id of it.
    pub message_id: String,
    /// Its body.
    pub body: String,
    /// Whether a consumer would receive it now.
    pub is_visible: bool,
    /// How often it was received.
    pub receive_count: u32,
    /// SQS's own attributes, such as `DeadLetterQueueSourceArn`.
    #[serde(default)]
    pub attributes: BTreeMap<String, serde_json::Value>,
}

/// How many messages a queue holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct QueueCounts {
    /// A consumer would receive them now.
    pub visible: usize,
    /// They are being worked on, or wait for their time.
    pub not_visible: usize,
}

impl QueueCounts {
    /// All messages.
    #[must_use]
    pub fn all(self) -> usize {
        self.visible + self.not_visible
    }
}

/// The messages of every queue, by the queue's name.
///
/// # Errors
/// The engine cannot be reached.
pub async fn messages(engine: EngineAddress) -> Result<BTreeMap<String, Vec<QueuedMessage>>, AskError> {
    engine.messages().await
}

/// The counts of every queue, by the queue's name.
///
/// # Errors
/// The engine cannot be reached.
pub async fn counts(engine: EngineAddress) -> Result<BTreeMap<String, QueueCounts>, AskError> {
    let count = |held: &[QueuedMessage]| {
        let visible = held.iter().filter(|message| message.is_visible).count();
        QueueCounts { visible, not_visible: held.len() - visible }
    };
    Ok(messages(engine).await?.into_iter().map(|(name, held)| (name, count(&held))).collect())
}
