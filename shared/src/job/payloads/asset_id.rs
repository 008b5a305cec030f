//! The name of an object in a bucket, as a payload carries it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::job::characters;

/// Longest asset id, in bytes of UTF-8. An S3 key has at most 1,024
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html>); the rest is for prefixes and for what is made of the asset.
pub const MAX_ASSET_ID_BYTES: usize = 900;

/// An object in a bucket: its key without the prefix that a consumer is set up with.
///
/// 1 to 900 bytes of UTF-8, blanks and any script included, since people name their files as they like. Refused is what other programs
/// would read as something else: control and line-breaking characters, a slash at the start, and `.` or `..` between slashes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AssetId(String);

/// Why a text is not an [`AssetId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssetIdError {
    /// The text has no character.
    #[error("must be the key of an object, not an empty string")]
    Empty,
    /// The text has more than [`MAX_ASSET_ID_BYTES`] bytes.
    #[error("must be a key of at most 900 bytes of UTF-8")]
    TooLong,
    /// The text begins with a slash.
    #[error("must be a key without a slash at its start: leave the slash out")]
    LeadingSlash,
    /// One of the parts between slashes is `.` or `..`.
    #[error("must be a key without `.` or `..` between its slashes: give the object another key")]
    DotSegment,
    /// A control character, a line or paragraph separator, or a character that SQS does not carry.
    #[error("must be a key without control characters and line breaks: give the object another key")]
    BadCharacter,
}

impl AssetId {
    /// Reads an asset id.
    ///
    /// # Errors
    /// When the text breaks the rules of [`AssetId`].
    pub fn parse(text: &str) -> Result<Self, AssetIdError> {
        if text.is_empty() {
            return Err(AssetIdError::Empty);
        }
        if text.len() > MAX_ASSET_ID_BYTES {
            return Err(AssetIdError::TooLong);
        }
        if text.chars().any(is_refused) {
            return Err(AssetIdError::BadCharacter);
        }
        if text.starts_with('/') {
            return Err(AssetIdError::LeadingSlash);
        }
        if text.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Err(AssetIdError::DotSegment);
        }
        Ok(Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_refused(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') || !characters::is_carried(character)
}

impl fmt::Display for AssetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Shows the length only: payloads do not enter logs, by way of `{:?}` neither.
impl fmt::Debug for AssetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AssetId({} bytes)", self.0.len())
    }
}

impl std::str::FromStr for AssetId {
    type Err = AssetIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for AssetId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AssetId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for AssetId {
    fn schema_name() -> Cow<'static, str> {
        "AssetId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            // No `.` or `..` between slashes, no slash in front, none of the refused characters.
            "pattern": r"^(?!/)(?!(.*/)?\.{1,2}(/|$))[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ufffe\uffff]+$",
            "minLength": 1,
            "maxLength": MAX_ASSET_ID_BYTES,
            "description": "The key of an object without the configured prefix: at most 900 bytes of UTF-8."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_as_people_name_them_are_accepted() {
        for good in [
            "a",
            "a/x.png",
            "Ferien 2031/IMG 0001 (2).JPG",
            "写真/山.jpg",
            "100% + more&co=.png",
            "a//b",
            "a/",
            "...",
            ".hidden",
            "a/.b/..c",
            "logo@2x.png",
        ] {
            assert_eq!(AssetId::parse(good).map(|id| id.as_str().to_owned()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn what_could_be_read_as_something_else_is_refused() {
        let cases = [
            ("", AssetIdError::Empty),
            ("/a", AssetIdError::LeadingSlash),
            (".", AssetIdError::DotSegment),
            ("..", AssetIdError::DotSegment),
            ("../a", AssetIdError::DotSegment),
            ("a/../b", AssetIdError::DotSegment),
            ("a/.", AssetIdError::DotSegment),
            ("a\nb", AssetIdError::BadCharacter),
            ("a\u{0}", AssetIdError::BadCharacter),
            ("a\u{7f}", AssetIdError::BadCharacter),
            ("a\u{85}", AssetIdError::BadCharacter),
            ("a\u{2028}b", AssetIdError::BadCharacter),
            ("a\u{ffff}", AssetIdError::BadCharacter),
        ];
        for (bad, rule) in cases {
            assert_eq!(AssetId::parse(bad), Err(rule), "{bad:?}");
        }
    }

    #[test]
    fn the_limit_counts_bytes_and_not_characters() {
        assert!(AssetId::parse(&"a".repeat(900)).is_ok());
        assert!(AssetId::parse(&"写".repeat(300)).is_ok());
        assert_eq!(AssetId::parse(&"写".repeat(301)), Err(AssetIdError::TooLong));
    }

    #[test]
    fn debug_does_not_show_the_id() {
        assert_eq!(format!("{:?}", AssetId::parse("jane/passport.jpg").unwrap()), "AssetId(17 bytes)");
    }
}
