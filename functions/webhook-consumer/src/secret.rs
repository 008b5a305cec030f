//! The secret behind all signatures, and where it is kept.

use async_trait::async_trait;
use aws_sdk_secretsmanager::{
    Client,
    error::{ProvideErrorMetadata as _, SdkError},
};
use ikkai::aws::is_outage;
use secrecy::SecretString;
use serde::Deserialize;

/// Shortest secret that is used, in characters: anything shorter was typed, not generated.
const MIN_SECRET_CHARS: usize = 16;

/// The secret that callers' keys are made from; while it is being exchanged, the former one too.
#[derive(Clone, Debug)]
pub struct SigningSecret {
    current: SecretString,
    previous: Option<SecretString>,
}

/// Why there is no secret. Neither the secret nor its id is in the texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// Secrets Manager did not hand it out.
    #[error("the signing secret could not be read ({code}); check IKKAI_WEBHOOK_SECRET_ID and the function's permission")]
    Unavailable {
        /// The service's error code, or what happened.
        code: String,
    },
    /// Secrets Manager is away, busy or broken: nobody has to mend anything here.
    #[error("the signing secret cannot be read at the moment ({code})")]
    Unreachable {
        /// The service's error code, or what happened.
        code: String,
    },
    /// It is not what it has to be.
    #[error(r#"the signing secret must be JSON like {{"current":"…","previous":"…"}} with texts of at least {MIN_SECRET_CHARS} characters"#)]
    Malformed,
}

impl SecretError {
    /// Stable machine name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "signing_secret_unavailable",
            Self::Unreachable { .. } => "signing_secret_unreachable",
            Self::Malformed => "signing_secret_malformed",
        }
    }
}

#[derive(Deserialize)]
struct Document {
    current: String,
    #[serde(default)]
    previous: Option<String>,
}

impl SigningSecret {
    /// Reads `{"current":"…","previous":"…"}`; `previous` may be missing, null or empty. Other members are left alone.
    ///
    /// # Errors
    /// When it is no such document, or a secret is too short.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let Document { current, previous } = serde_json::from_str(text).map_err(|_| SecretError::Malformed)?;
        let previous = previous.filter(|previous| !previous.is_empty());
        let long_enough = |secret: &String| secret.chars().count() >= MIN_SECRET_CHARS;
        if !long_enough(&current) || previous.as_ref().is_some_and(|previous| !long_enough(previous)) {
            return Err(SecretError::Malformed);
        }
        Ok(Self { current: current.into(), previous: previous.map(Into::into) })
    }

    /// The current secret, then the previous one.
    pub(crate) fn all(&self) -> impl Iterator<Item = &SecretString> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}

/// Where the secret is kept.
#[async_trait]
pub trait SecretSource: Send + Sync + 'static {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read, or is malformed.
    async fn fetch(&self) -> Result<SigningSecret, SecretError>;
}

/// A secret in AWS Secrets Manager.
#[derive(Clone, Debug)]
pub struct SecretsManager {
    client: Client,
    secret_id: String,
}

impl SecretsManager {
    /// The secret with this name or ARN.
    #[must_use]
    pub fn new(client: Client, secret_id: &str) -> Self {
        Self { client, secret_id: secret_id.to_owned() }
    }
}

#[async_trait]
impl SecretSource for SecretsManager {
    async fn fetch(&self) -> Result<SigningSecret, SecretError> {
        let answer = Box::pin(self.client.get_secret_value().secret_id(&self.secret_id).send()).await.map_err(|error| {
            let happened = match &error {
                SdkError::TimeoutError(_) => "timed out",
                SdkError::DispatchFailure(_) => "no connection",
                _ => "no error code",
            };
            let code = error.code().unwrap_or(happened).to_owned();
            if is_outage(&error) { SecretError::Unreachable { code } } else { SecretError::Unavailable { code } }
        })?;
        SigningSecret::parse(answer.secret_string().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn parsed(text: &str) -> Result<Vec<String>, SecretError> {
        SigningSecret::parse(text).map(|secret| secret.all().map(|one| one.expose_secret().to_owned()).collect())
    }

    #[test]
    fn the_current_secret_comes_first_and_the_previous_one_may_be_missing() {
        let (one, two) = ("0123456789abcdef", "fedcba9876543210");
        assert_eq!(parsed(&format!(r#"{{"previous":"{two}","current":"{one}"}}"#)), Ok(vec![one.to_owned(), two.to_owned()]));
        for alone in [r#"{"current":"0123456789abcdef"}"#, r#"{"current":"0123456789abcdef","previous":null}"#] {
            assert_eq!(parsed(alone), Ok(vec![one.to_owned()]));
        }
        assert_eq!(parsed(r#"{"current":"0123456789abcdef","previous":"","note":1}"#), Ok(vec![one.to_owned()]));
    }

    #[test]
    fn what_is_no_such_document_or_too_short_is_refused() {
        for text in ["", "0123456789abcdef", "{}", r#"{"current":""}"#, r#"{"current":"short"}"#, r#"{"current":7}"#, "[]"] {
            assert_eq!(parsed(text), Err(SecretError::Malformed), "{text}");
        }
        assert_eq!(parsed(r#"{"current":"0123456789abcdef","previous":"short"}"#), Err(SecretError::Malformed));
    }

    #[test]
    fn debug_shows_no_secret() {
        let shown = format!("{:?}", SigningSecret::parse(r#"{"current":"0123456789abcdef"}"#).unwrap());
        assert!(!shown.contains("0123456789abcdef"), "{shown}");
    }
}
