//! What is in the queues.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::loopback::{Loopback, LoopbackError};

/// The queues could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The engine did not answer.
    #[error("cannot read the engine's queues")]
    Unreachable(#[from] LoopbackError),
    /// The engine's answer is not what this version of it should say.
    #[error("the engine's queues are not in the expected form")]
    Unexpected(#[from] serde_json::Error),
}

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

#[derive(Deserialize)]
struct Messages {
    /// By account, region and queue URL.
    messages: BTreeMap<String, BTreeMap<String, BTreeMap<String, Vec<QueuedMessage>>>>,
}

/// The messages of every queue, by the queue's name.
///
/// # Errors
/// The engine cannot be reached.
pub async fn messages(engine: SocketAddr) -> Result<BTreeMap<String, Vec<QueuedMessage>>, QueueError> {
    let answer = Loopback::new(Duration::from_secs(10)).get(engine, "/_ministack/sqs/messages").await?;
    let messages: Messages = serde_json::from_slice(answer.body())?;
    let queues = messages.messages.into_values().flat_map(BTreeMap::into_values).flatten();
    Ok(queues.map(|(url, held)| (url.rsplit('/').next().unwrap_or_default().to_owned(), held)).collect())
}

/// The counts of every queue, by the queue's name.
///
/// # Errors
/// The engine cannot be reached.
pub async fn counts(engine: SocketAddr) -> Result<BTreeMap<String, QueueCounts>, QueueError> {
    let count = |held: &[QueuedMessage]| {
        let visible = held.iter().filter(|message| message.is_visible).count();
        QueueCounts { visible, not_visible: held.len() - visible }
    };
    Ok(messages(engine).await?.into_iter().map(|(name, held)| (name, count(&held))).collect())
}
