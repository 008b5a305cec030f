//! Objects in S3 that a consumer is told about, and what it makes of them.

use crate::job::IdempotencyKey;

/// Part of every digest, so that another way of making keys can never meet this one.
const VERSION_LABEL: &[u8] = b"ikkai-object-v1";

/// What S3 says about one object, the same whichever way the notification came: straight, through SNS or through EventBridge.
///
/// Anybody who may write to the bucket chooses the key, and anybody who may send to the queue the rest: a handler checks that the
/// bucket and the prefix are its own.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectEvent {
    /// The bucket's name.
    pub bucket: String,
    /// The object's key, decoded.
    pub key: String,
    /// The version of the object, where the bucket keeps versions.
    pub version_id: Option<String>,
    /// The entity tag, without quotes.
    pub etag: Option<String>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Orders the events of one key: with the shorter value padded with zeros on the right, the greater one is the later event
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html>).
    pub sequencer: Option<String>,
    /// What happened, such as `ObjectCreated:Put`.
    pub event_name: String,
}

impl ObjectEvent {
    /// The idempotency key of the object's job, the same for every delivery and every wrapping of its event. `None`: the event does not
    /// tell this content of the key from the next one.
    pub(super) fn idempotency_key(&self) -> Option<IdempotencyKey> {
        let (bucket, key) = (self.bucket.as_bytes(), self.key.as_bytes());
        let part = |text: &Option<String>| text.as_deref().unwrap_or_default().as_bytes().to_vec();
        let (kind, which): (&[u8], _) = match &self.version_id {
            Some(version) => (b"version", [version.as_bytes().to_vec(), Vec::new()]),
            None if self.etag.is_none() && self.sequencer.is_none() => return None,
            None => (b"etag", [part(&self.etag), part(&self.sequencer)]),
        };
        let [first, second] = &which;
        Some(IdempotencyKey::of_parts("s3-object", &[VERSION_LABEL, bucket, key, kind, first, second]))
    }
}

/// Keys are chosen by people and may name them: only what happened is shown.
impl std::fmt::Debug for ObjectEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectEvent").field("event_name", &self.event_name).field("size", &self.size).finish_non_exhaustive()
    }
}

/// What a consumer makes of an [`ObjectEvent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectVerdict<P> {
    /// This job. Its payload is checked like one that came in an envelope.
    Job(P),
    /// Nothing to do, for this reason (a `snake_case` code): acknowledged without work, with one log line.
    Skip(&'static str),
    /// Not for this consumer: recorded as poison, on its way to the dead-letter queue.
    Refuse {
        /// Stable machine name, `snake_case`.
        code: &'static str,
        /// One sentence for a person. Never holds a key or a bucket's name.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn keys_of_objects_are_the_published_ones() {
        let page = include_str!("../../../docs/messages.md");
        let (_, rest) = page.split_once("```json object-keys\n").expect("the block is there");
        let vectors: Vec<Value> = serde_json::from_str(rest.split_once("\n```").expect("the block ends").0).expect("a list");
        assert_eq!(vectors.len(), 2);
        for vector in vectors {
            let text = |name: &str| vector[name].as_str().map(str::to_owned);
            let object = ObjectEvent {
                bucket: text("bucket").unwrap(),
                key: text("key").unwrap(),
                version_id: text("versionId"),
                etag: text("etag"),
                size: Some(1),
                sequencer: text("sequencer"),
                event_name: "ObjectCreated:Put".to_owned(),
            };
            assert_eq!(object.idempotency_key().unwrap().as_str(), text("idempotencyKey").unwrap());
        }
    }
}
