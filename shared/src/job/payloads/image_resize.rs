//! `image.resize`: the sizes and formats of one picture.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference_id::ReferenceId;
use crate::job::payload::JobPayload;

/// Makes smaller pictures of one original in S3, one for each size and format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageResize {
    /// The original: its key in the bucket of originals, without the configured prefix.
    pub asset_id: ReferenceId,
    /// The version of the original; without it the newest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_id: Option<ReferenceId>,
    /// Longest side of each output, in pixels.
    pub sizes: Vec<u32>,
    /// The file formats of each size.
    pub formats: Vec<ImageFormat>,
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

impl JobPayload for ImageResize {
    const TYPE: &'static str = "image.resize";
    const SCHEMA_VERSION: u32 = 1;
}
