//! The name of one version of an S3 object.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest version id, in bytes: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/versioning-workflows.html>.
pub const MAX_VERSION_ID_BYTES: usize = 1024;

/// The version id of an S3 object: opaque, made by S3, 1 to 1,024 printable characters of ASCII without blanks.
///
/// `null` is the version of an object from before its bucket kept versions.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VersionId(String);

/// The text is not a [`VersionId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a version id as S3 gave it: 1 to 1024 printable characters of ASCII without blanks")]
pub struct VersionIdError;

impl VersionId {
    /// Reads a version id.
    ///
    /// # Errors
    /// When the text breaks the rules of [`VersionId`].
    pub fn parse(text: &str) -> Result<Self, VersionIdError> {
        let is_id = (1..=MAX_VERSION_ID_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_id { Ok(Self(text.to_owned())) } else { Err(VersionIdError) }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shows the length only: payloads do not enter logs, by way of `{:?}` neither.
impl fmt::Debug for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VersionId({} characters)", self.0.len())
    }
}

impl Serialize for VersionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for VersionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for VersionId {
    fn schema_name() -> Cow<'static, str> {
        "VersionId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[!-~]+$",
            "minLength": 1,
            "maxLength": MAX_VERSION_ID_BYTES,
            "description": "The version id of an S3 object."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_id_is_what_s3_writes() {
        for good in ["null", "3/L4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY+MTRCxf3vjVBH40Nr8X8gdRQBpUMLUo", &"v".repeat(1024)] {
            assert_eq!(VersionId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a\n", "é", &"v".repeat(1025)] {
            assert_eq!(VersionId::parse(bad), Err(VersionIdError), "{bad:?}");
        }
        assert_eq!(format!("{:?}", VersionId::parse("abc").unwrap()), "VersionId(3 characters)");
    }
}
