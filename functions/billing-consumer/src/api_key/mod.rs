//! The provider's API key: what holds it, where it comes from, and who hands it out.

mod key;
mod ring;
mod secrets_manager;

use async_trait::async_trait;

pub use self::{key::ApiKey, ring::ApiKeyRing, secrets_manager::SecretsManagerKey};

/// Where the key is kept.
#[async_trait]
pub trait ApiKeySource: Send + Sync {
    /// Reads the key as it is now.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    async fn fetch(&self) -> Result<ApiKey, ApiKeyError>;
}

/// Why there is no key. Says nothing of what the secret holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiKeyError {
    /// The store of secrets did not hand it out.
    #[error(
        "the secret with the payment provider's API key cannot be read ({code}): check IKKAI_PAYMENT_SECRET_ID, the secret's value and the function's permission"
    )]
    Unreadable {
        /// The store's name for the reason.
        code: String,
    },
    /// The store of secrets is away, busy or broken: nobody has to mend anything here.
    #[error("the secret with the payment provider's API key cannot be read at the moment ({code})")]
    Unreachable {
        /// The store's name for the reason.
        code: String,
    },
    /// The secret holds something else.
    #[error(
        "the secret does not hold an API key: put the key in as plain text, or as JSON {{\"apiKey\":\"…\"}}; \
         keys have only visible ASCII characters"
    )]
    NotAKey,
}
