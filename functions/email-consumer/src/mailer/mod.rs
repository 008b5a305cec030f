//! Where mails go: the seam to the provider, what can go wrong there, and a double for tests.

mod failure;
mod recording;
mod ses;

use async_trait::async_trait;

pub use self::{
    failure::SendError,
    recording::RecordingMailer,
    ses::{SesMailer, SesSettings},
};
use crate::message::Mail;

/// Sends mails.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Sends one mail with exactly one request: repeating it is the caller's decision, since a request whose answer was lost may
    /// have been a mail.
    ///
    /// # Errors
    /// Says what is known of the mail: [`SendError::Unknown`] alone means that it may have gone out.
    async fn send(&self, mail: &Mail) -> Result<MessageId, SendError>;
}

/// The provider's name for an accepted mail. Not personal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageId(String);

impl MessageId {
    /// Takes the provider's answer as it is.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
