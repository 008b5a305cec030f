//! Uploads that S3 tells about: which of them become jobs.

use ikkai::{
    consumer::{ObjectEvent, ObjectVerdict},
    job::{AssetId, ImageFormat, ImageResize, VersionId},
};

use crate::places::Places;

/// What is made of an upload that nobody asked anything of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadRule {
    /// The longest sides.
    pub sizes: Vec<u32>,
    /// The formats.
    pub formats: Vec<ImageFormat>,
}

/// The job of an object, if it is an original. The version that the event names is the one that is read.
pub(crate) fn job_of(object: &ObjectEvent, places: &Places, rule: &UploadRule) -> ObjectVerdict<ImageResize> {
    // First: whatever a notification is set up for, an output must not make outputs.
    if places.is_output(&object.bucket, &object.key) {
        return ObjectVerdict::Skip("own_output");
    }
    if object.bucket != places.originals_bucket {
        let message = "the event is about another bucket than IKKAI_ORIGINALS_BUCKET: remove that bucket's notification";
        return refuse("bucket_not_expected", message.to_owned());
    }
    let Some(asset) = object.key.strip_prefix(&places.originals_prefix) else {
        return ObjectVerdict::Skip("outside_prefix");
    };
    if asset.is_empty() {
        return ObjectVerdict::Skip("folder_marker");
    }
    let asset_id = match AssetId::parse(asset) {
        Ok(asset_id) => asset_id,
        Err(error) => return refuse("key_not_usable", format!("the object's key {error}")),
    };
    let version_id = match object.version_id.as_deref().map(VersionId::parse).transpose() {
        Ok(version_id) => version_id,
        Err(error) => return refuse("version_not_usable", format!("the object's version {error}")),
    };
    ObjectVerdict::Job(ImageResize { asset_id, version_id, sizes: rule.sizes.clone(), formats: rule.formats.clone() })
}

fn refuse(code: &'static str, message: String) -> ObjectVerdict<ImageResize> {
    ObjectVerdict::Refuse { code, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(bucket: &str, key: &str, version: Option<&str>) -> ObjectVerdict<ImageResize> {
        let object = ObjectEvent {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            version_id: version.map(str::to_owned),
            etag: None,
            size: Some(10),
            sequencer: None,
            event_name: "ObjectCreated:Put".to_owned(),
        };
        let places = Places {
            originals_bucket: "assets".to_owned(),
            originals_prefix: "uploads/".to_owned(),
            derived_bucket: "assets".to_owned(),
            derived_prefix: "derived/".to_owned(),
        };
        job_of(&object, &places, &UploadRule { sizes: vec![256], formats: vec![ImageFormat::Webp] })
    }

    #[test]
    fn an_upload_is_a_job_for_its_version() {
        let ObjectVerdict::Job(job) = verdict("assets", "uploads/Ferien 2031/ü+%20.jpg", Some("v1")) else { panic!("a job") };
        assert_eq!(job.asset_id.as_str(), "Ferien 2031/ü+%20.jpg");
        assert_eq!(job.version_id.unwrap().as_str(), "v1");
        assert_eq!((job.sizes, job.formats), (vec![256], vec![ImageFormat::Webp]));
    }

    #[test]
    fn outputs_and_what_lies_elsewhere_make_no_job() {
        assert_eq!(verdict("assets", "derived/x.jpg/256.webp", None), ObjectVerdict::Skip("own_output"));
        assert_eq!(verdict("assets", "logs/x", None), ObjectVerdict::Skip("outside_prefix"));
        assert_eq!(verdict("assets", "uploads/", None), ObjectVerdict::Skip("folder_marker"));
    }

    #[test]
    fn what_cannot_be_worked_on_is_refused_without_its_key() {
        for (bucket, key, version, expected) in [
            ("secret-bucket", "uploads/x.jpg", None, "bucket_not_expected"),
            ("assets", "uploads/../secret.jpg", None, "key_not_usable"),
            ("assets", "uploads/secret\n.jpg", None, "key_not_usable"),
            ("assets", "uploads/secret.jpg", Some("a b"), "version_not_usable"),
        ] {
            let ObjectVerdict::Refuse { code, message } = verdict(bucket, key, version) else { panic!("refused") };
            assert_eq!(code, expected);
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
