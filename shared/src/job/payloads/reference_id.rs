//! The only kind of text that most payloads need.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest reference id, in characters.
pub const MAX_REFERENCE_ID_CHARS: usize = 128;

/// The `format` of a reference id in our JSON Schemas.
pub(crate) const REFERENCE_ID_FORMAT: &str = "reference-id";

/// The id of something that is kept elsewhere: a user, a template, a delivery.
///
/// 1 to 128 characters: letters, digits and `. _ : / -` of ASCII, the first one a letter or digit. No `@` and no blanks, so neither a mail
/// address nor a sentence is an id.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReferenceId(String);

/// Why a text is not a [`ReferenceId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceIdError {
    /// The text has no character.
    #[error("must be the id of something, not an empty string")]
    Empty,
    /// The text has more than [`MAX_REFERENCE_ID_CHARS`] characters.
    #[error("must be an id of at most 128 characters")]
    TooLong,
    /// A character is not allowed, or not allowed at the start.
    #[error("must be an id of ASCII letters, digits and . _ : / - that starts with a letter or digit (no address, no text)")]
    BadCharacter,
}

impl ReferenceId {
    /// Reads a reference id.
    ///
    /// # Errors
    /// When the text breaks the rules of [`ReferenceId`].
    pub fn parse(text: &str) -> Result<Self, ReferenceIdError> {
        let Some(first) = text.bytes().next() else { return Err(ReferenceIdError::Empty) };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte);
        if !first.is_ascii_alphanumeric() || !text.bytes().all(allowed) {
            return Err(ReferenceIdError::BadCharacter);
        }
        if text.len() > MAX_REFERENCE_ID_CHARS {
            return Err(ReferenceIdError::TooLong);
        }
        Ok(Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReferenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Shows the length only: payloads do not enter logs, by way of `{:?}` neither.
impl fmt::Debug for ReferenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReferenceId({} characters)", self.0.len())
    }
}

impl AsRef<str> for ReferenceId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for ReferenceId {
    type Err = ReferenceIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for ReferenceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ReferenceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ReferenceId {
    fn schema_name() -> Cow<'static, str> {
        "ReferenceId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": REFERENCE_ID_FORMAT,
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._:/-]*$",
            "minLength": 1,
            "maxLength": MAX_REFERENCE_ID_CHARS,
            "description": "The id of something that is kept elsewhere."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_many_houses_are_accepted() {
        for good in
            ["user-42", "u", "order:2031/0007", "8e03978e-40d5-43e8-bc93-6894a57f9324", "cus_NffrFeUfNV2Hib", "welcome.v2"]
        {
            assert_eq!(ReferenceId::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn addresses_texts_and_oversized_ids_are_refused() {
        let cases = [
            ("", ReferenceIdError::Empty),
            ("ada@example.com", ReferenceIdError::BadCharacter),
            ("Dear Ada", ReferenceIdError::BadCharacter),
            ("-user", ReferenceIdError::BadCharacter),
            ("../secret", ReferenceIdError::BadCharacter),
            ("user\n", ReferenceIdError::BadCharacter),
            ("ユーザー", ReferenceIdError::BadCharacter),
        ];
        for (bad, rule) in cases {
            assert_eq!(ReferenceId::parse(bad), Err(rule), "{bad:?}");
        }
        assert!(ReferenceId::parse(&"a".repeat(128)).is_ok());
        assert_eq!(ReferenceId::parse(&"a".repeat(129)), Err(ReferenceIdError::TooLong));
    }

    #[test]
    fn debug_does_not_show_the_id() {
        assert_eq!(format!("{:?}", ReferenceId::parse("user-42").unwrap()), "ReferenceId(7 characters)");
    }
}
