//! How an engine is asked for what no call of AWS tells: its version, its mailbox, what lies in its queues.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EngineKind, localstack, ministack};
use crate::local::loopback::{Loopback, LoopbackError};
use crate::local::mailbox::ReceivedMail;
use crate::local::queues::QueuedMessage;

/// An engine that runs: which one, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineAddress {
    /// Which one.
    pub kind: EngineKind,
    /// Where it listens.
    pub socket: SocketAddr,
}

/// An engine did not tell.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It did not answer.
    #[error("cannot ask the engine for its {what}")]
    Unreachable {
        /// For what.
        what: &'static str,
        /// Why not.
        source: LoopbackError,
    },
    /// Its answer is not what this version of it should say.
    #[error("the engine's {what} is not in the expected form")]
    Unexpected {
        /// What was asked for.
        what: &'static str,
        /// Where it differs.
        source: serde_json::Error,
    },
}

impl EngineAddress {
    /// The engine's version, in its own words.
    ///
    /// # Errors
    /// It does not answer, or tells no version.
    pub async fn version(&self) -> Result<String, AskError> {
        #[derive(Deserialize)]
        struct Health {
            version: String,
        }
        let path = match self.kind {
            EngineKind::Ministack => ministack::HEALTH,
            EngineKind::Localstack => localstack::HEALTH,
        };
        let health: Health = self.ask("version", path).await?;
        Ok(health.version)
    }

    /// All mails that its SES has taken, oldest first.
    ///
    /// # Errors
    /// It does not answer, or in another form.
    pub(in crate::local) async fn mails(&self) -> Result<Vec<ReceivedMail>, AskError> {
        match self.kind {
            EngineKind::Ministack => {
                let mails: ministack::Mails = self.ask("mailbox", ministack::MAILS).await?;
                Ok(mails.flat())
            }
            EngineKind::Localstack => self.ask("mailbox", localstack::MAILS).await,
        }
    }

    /// The messages in its queues, by the queue's name.
    ///
    /// # Errors
    /// It does not answer, or in another form.
    pub(in crate::local) async fn messages(&self) -> Result<BTreeMap<String, Vec<QueuedMessage>>, AskError> {
        match self.kind {
            EngineKind::Ministack => {
                let messages: ministack::Messages = self.ask("queues", ministack::MESSAGES).await?;
                Ok(messages.by_queue())
            }
            EngineKind::Localstack => self.ask("queues", localstack::MESSAGES).await,
        }
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, what: &'static str, path: &str) -> Result<T, AskError> {
        let answer = Loopback::new(Duration::from_secs(30)).get(self.socket, path).await;
        let answer = answer.map_err(|source| AskError::Unreachable { what, source })?;
        // Through a value: an error then names the member and no body of a message.
        let value: Value = serde_json::from_slice(answer.body()).map_err(|source| AskError::Unexpected { what, source })?;
        serde_json::from_value(value).map_err(|source| AskError::Unexpected { what, source })
    }
}
