//! Where originals lie and where their outputs go.

use ikkai::job::{AssetId, ImageFormat, VersionId};

use crate::{encode::extension, objects::ObjectAddress};

/// Longest prefix, in bytes: with an asset id and a file's name it makes a key that S3 takes.
pub(crate) const MAX_PREFIX_BYTES: usize = 100;

/// The buckets and prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The bucket of the originals.
    pub originals_bucket: String,
    /// What their keys begin with, with a slash at its end.
    pub originals_prefix: String,
    /// The bucket of the outputs.
    pub derived_bucket: String,
    /// What their keys begin with, with a slash at its end.
    pub derived_prefix: String,
}

impl Places {
    /// The original of an asset.
    pub(crate) fn original(&self, asset: &AssetId, version_id: Option<VersionId>) -> ObjectAddress {
        let key = format!("{}{asset}", self.originals_prefix);
        ObjectAddress { bucket: self.originals_bucket.clone(), key, version_id }
    }

    /// What the keys of an asset's outputs begin with. The whole asset id is in it, ending included: `x.jpg` and `x.png` are two assets,
    /// and so are `a/x.png` and `b/x.png`.
    pub(crate) fn outputs(&self, asset: &AssetId) -> String {
        format!("{}{asset}/", self.derived_prefix)
    }

    /// Whether an output could be an original: in one bucket, with one prefix inside the other. Each output would then make outputs.
    pub(crate) fn overlap(&self) -> bool {
        self.originals_bucket == self.derived_bucket
            && (self.derived_prefix.starts_with(&self.originals_prefix)
                || self.originals_prefix.starts_with(&self.derived_prefix))
    }

    /// Whether a key is one that this consumer writes.
    pub(crate) fn is_output(&self, bucket: &str, key: &str) -> bool {
        bucket == self.derived_bucket && key.starts_with(&self.derived_prefix)
    }
}

/// The last part of an output's key.
pub(crate) fn file_name(size: u32, format: ImageFormat) -> String {
    format!("{size}.{}", extension(format))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn places(originals_prefix: &str, derived_bucket: &str, derived_prefix: &str) -> Places {
        Places {
            originals_bucket: "assets".to_owned(),
            originals_prefix: originals_prefix.to_owned(),
            derived_bucket: derived_bucket.to_owned(),
            derived_prefix: derived_prefix.to_owned(),
        }
    }

    #[test]
    fn outputs_of_different_assets_sizes_and_formats_have_different_keys() {
        let places = places("uploads/", "assets", "derived/");
        let mut keys = BTreeSet::new();
        for asset in ["x.png", "x.jpg", "a/x.png", "b/x.png", "x", "x.png/256.webp", "x.png/"] {
            for size in [1, 256, 2561] {
                for format in ImageFormat::ALL {
                    let prefix = places.outputs(&AssetId::parse(asset).unwrap());
                    assert!(keys.insert(format!("{prefix}{}", file_name(size, format))), "{asset} {size}");
                }
            }
        }
        assert!(keys.contains("derived/a/x.png/256.webp") && keys.contains("derived/x.jpg/1.jpg"));
    }

    #[test]
    fn prefixes_inside_each_other_overlap_in_one_bucket_only() {
        for (originals, bucket, derived, overlap) in [
            ("uploads/", "assets", "derived/", false),
            ("uploads/", "assets", "uploads/", true),
            ("uploads/", "assets", "uploads/small/", true),
            ("derived/up/", "assets", "derived/", true),
            ("uploads/", "other", "uploads/", false),
            ("up/", "assets", "upper/", false),
        ] {
            assert_eq!(places(originals, bucket, derived).overlap(), overlap, "{originals} {bucket} {derived}");
        }
    }

    #[test]
    fn the_longest_key_is_one_that_s3_takes() {
        let places = places("uploads/", "assets", &"d".repeat(MAX_PREFIX_BYTES));
        let asset = AssetId::parse(&"a".repeat(ikkai::job::MAX_ASSET_ID_BYTES)).unwrap();
        assert!(places.outputs(&asset).len() + file_name(8192, ImageFormat::Webp).len() <= 1024);
    }
}
