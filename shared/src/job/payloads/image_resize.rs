//! `image.resize`: the sizes and formats of one picture.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asset_id::AssetId;
use super::version_id::VersionId;
use crate::job::field_error::FieldError;
use crate::job::payload::JobPayload;

/// Makes smaller pictures of one original in S3, one for each size and format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageResize {
    /// The original: its key in the bucket of originals, without the configured prefix.
    pub asset_id: AssetId,
    /// The version of the original; without it the newest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_id: Option<VersionId>,
    /// Longest side of each output, in pixels; none twice.
    #[schemars(length(min = 1, max = 10), inner(range(min = 1, max = 8192)), extend("uniqueItems" = true))]
    pub sizes: Vec<u32>,
    /// The file formats of each size; none twice.
    #[schemars(length(min = 1, max = 3), extend("uniqueItems" = true))]
    pub formats: Vec<ImageFormat>,
}

impl ImageResize {
    /// Most sizes of one job.
    pub const MAX_SIZES: usize = 10;
    /// What a size may be, in pixels.
    pub const SIZE_RANGE: RangeInclusive<u32> = 1..=8192;
}

/// A file format that pictures are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// Lossy WebP; keeps transparency.
    Webp,
    /// JPEG; transparency becomes the background.
    Jpeg,
    /// PNG; keeps transparency.
    Png,
}

impl ImageFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Webp, Self::Jpeg, Self::Png];

    /// The name that payloads and settings use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Webp => "webp",
            Self::Jpeg => "jpeg",
            Self::Png => "png",
        }
    }
}

impl JobPayload for ImageResize {
    const TYPE: &'static str = "image.resize";
    const SCHEMA_VERSION: u32 = 1;

    fn check(&self) -> Vec<FieldError> {
        let sizes = check_list(&self.sizes, Self::MAX_SIZES, "/sizes");
        let formats = check_list(&self.formats, ImageFormat::ALL.len(), "/formats");
        let (least, most) = Self::SIZE_RANGE.into_inner();
        let outside = self.sizes.iter().enumerate().filter(|(_, size)| !Self::SIZE_RANGE.contains(size)).map(|(index, _)| {
            FieldError::new(format!("/sizes/{index}"), "invalid_value", format!("must be an integer from {least} to {most}"))
        });
        sizes.into_iter().chain(outside.take(Self::MAX_SIZES)).chain(formats).collect()
    }
}

fn check_list<T: Ord>(elements: &[T], most: usize, at: &str) -> Option<FieldError> {
    if elements.is_empty() || elements.len() > most {
        return Some(FieldError::new(at, "invalid_length", format!("must have 1 to {most} elements")));
    }
    let distinct: BTreeSet<&T> = elements.iter().collect();
    (distinct.len() < elements.len())
        .then(|| FieldError::new(at, "duplicate_element", "must not have the same element twice: remove one"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::job::decode;

    fn errors(change: impl FnOnce(&mut Value)) -> Vec<(String, &'static str)> {
        let mut payload = json!({"assetId": "a b/ü.jpg", "sizes": [256, 720], "formats": ["webp", "jpeg"]});
        change(&mut payload);
        let errors = decode::<ImageResize>(&payload).err().unwrap_or_default();
        errors.into_iter().map(|error| (error.pointer, error.code)).collect()
    }

    #[test]
    fn a_job_names_an_object_sizes_and_formats() {
        assert_eq!(errors(|_| ()), []);
        assert_eq!(
            errors(|payload| payload["versionId"] = json!("3/L4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY+MTRCxf3vjVBH40Nr8X8gdRQBpUMLUo")),
            []
        );
        assert_eq!(errors(|payload| payload["versionId"] = json!("null")), [], "S3's name of a version from before versioning");
        assert_eq!(errors(|payload| payload["versionId"] = json!("")), [("/versionId".to_owned(), "invalid_length")]);
    }

    #[test]
    fn lists_are_short_without_repetition_and_within_range() {
        for (member, value, pointer, code) in [
            ("sizes", json!([]), "/sizes", "invalid_length"),
            ("sizes", json!((1..=11).collect::<Vec<_>>()), "/sizes", "invalid_length"),
            ("sizes", json!([256, 256]), "/sizes", "duplicate_element"),
            ("sizes", json!([256, 0]), "/sizes/1", "invalid_value"),
            ("sizes", json!([8193]), "/sizes/0", "invalid_value"),
            ("sizes", json!([-1]), "/sizes/0", "invalid_value"),
            ("formats", json!([]), "/formats", "invalid_length"),
            ("formats", json!(["webp", "webp"]), "/formats", "duplicate_element"),
            ("formats", json!(["gif"]), "/formats/0", "invalid_value"),
            ("assetId", json!("../x"), "/assetId", "invalid_value"),
        ] {
            assert_eq!(errors(|payload| payload[member] = value.clone()), [(pointer.to_owned(), code)], "{value}");
        }
    }

    #[test]
    fn the_schema_says_the_same() {
        let schema = schemars::schema_for!(ImageResize).to_value();
        let validator = jsonschema::validator_for(&schema).expect("a valid schema");
        for (asset, sizes) in [
            ("a", json!([1])),
            ("/a", json!([1])),
            ("a/../b", json!([1])),
            ("..a", json!([1])),
            ("a/.", json!([1])),
            ("a\u{85}", json!([1])),
            ("写 真", json!([8192, 1])),
            ("a", json!([8193])),
            ("a", json!([7, 7])),
            ("a", json!([])),
        ] {
            let payload = json!({"assetId": asset, "sizes": sizes, "formats": ["png"]});
            assert_eq!(validator.is_valid(&payload), decode::<ImageResize>(&payload).is_ok(), "{payload}");
        }
    }
}
