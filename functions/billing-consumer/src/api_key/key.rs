//! The key itself.

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::ApiKeyError;

/// Longest key.
const MAX_CHARS: usize = 512;

/// An API key. It shows itself to the provider alone.
#[derive(Clone, Debug)]
pub struct ApiKey(SecretString);

/// The JSON form of the secret.
#[derive(Deserialize)]
struct Wrapped {
    #[serde(rename = "apiKey")]
    api_key: String,
}

impl ApiKey {
    /// Reads the text of a secret: the key, or `{"apiKey":"…"}`. White space around it is dropped.
    ///
    /// # Errors
    /// The text holds no key.
    pub fn parse(secret: &str) -> Result<Self, ApiKeyError> {
        let secret = secret.trim();
        let key = if secret.starts_with('{') {
            let Wrapped { api_key } = serde_json::from_str(secret).map_err(|_| ApiKeyError::NotAKey)?;
            SecretString::from(api_key.trim())
        } else {
            SecretString::from(secret)
        };
        let text = key.expose_secret();
        let is_key = (1..=MAX_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_key { Ok(Self(key)) } else { Err(ApiKeyError::NotAKey) }
    }

    /// The header field that lets us in, marked as one not to be shown.
    pub(crate) fn bearer(&self) -> HeaderValue {
        let field = HeaderValue::from_str(&format!("Bearer {}", self.0.expose_secret()));
        let mut field = field.unwrap_or_else(|_| HeaderValue::from_static(""));
        field.set_sensitive(true);
        field
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_plain_or_out_of_json() {
        for text in ["sk_test_123", " sk_test_123\n", r#"{"apiKey":"sk_test_123"}"#, r#"{"apiKey":" sk_test_123 ","note":"x"}"#] {
            assert_eq!(ApiKey::parse(text).unwrap().bearer(), "Bearer sk_test_123", "{text}");
        }
        let long = "x".repeat(MAX_CHARS + 1);
        for text in [
            "",
            " ",
            "two words",
            "sk\u{e9}",
            "sk\r\nx-evil: 1",
            "{}",
            r#"{"apiKey":""}"#,
            r#"{"apiKey":5}"#,
            r#"{"apiKey":"a b"}"#,
            &long,
        ] {
            assert_eq!(ApiKey::parse(text).unwrap_err(), ApiKeyError::NotAKey, "{text}");
        }
    }

    #[test]
    fn a_key_is_shown_nowhere() {
        let key = ApiKey::parse("sk_test_123").unwrap();
        assert!(!format!("{key:?} {:?}", key.bearer()).contains("sk_test"));
    }
}
