//! The test vectors for other languages, read out of the page that publishes them.

use serde_json::Value;

use super::{Fingerprint, IdempotencyKey, JobId, JobType, canonical, payload_digest, strict_json};

const PAGE: &str = include_str!("../../../docs/job-ids.md");

/// The JSON array in the code block that is marked with `json <name>`.
fn vectors(name: &str) -> Vec<Value> {
    let opening = format!("```json {name}\n");
    let (_, rest) = PAGE.split_once(&opening).unwrap_or_else(|| panic!("docs/job-ids.md has no block `{name}`"));
    let (block, _) = rest.split_once("\n```").expect("the block ends");
    let Ok(Value::Array(vectors)) = strict_json::parse(block) else { panic!("the block `{name}` is a JSON array") };
    assert!(vectors.len() >= 3, "`{name}` has vectors");
    vectors
}

fn text<'v>(vector: &'v Value, member: &str) -> &'v str {
    vector[member].as_str().unwrap_or_else(|| panic!("{member} in {vector}"))
}

#[test]
fn job_ids_are_the_published_ones() {
    for vector in vectors("job-ids") {
        let job_type = JobType::parse(text(&vector, "type")).unwrap();
        let key = IdempotencyKey::parse(text(&vector, "idempotencyKey")).unwrap();
        let id = JobId::derive(text(&vector, "caller"), &job_type, &key);
        assert_eq!(id.as_str(), text(&vector, "jobId"), "{vector}");
        if let Some(queue) = text(&vector, "caller").strip_prefix("direct:") {
            assert_eq!(JobId::for_direct_sender(queue, &job_type, &key), id);
        }
    }
}

#[test]
fn record_keys_of_messages_without_a_job_are_the_published_ones() {
    for vector in vectors("message-keys") {
        let job_type = JobType::parse(text(&vector, "type")).unwrap();
        assert_eq!(JobId::for_message(&job_type, text(&vector, "messageId")).as_str(), text(&vector, "recordKey"), "{vector}");
    }
}

#[test]
fn payload_digests_are_the_published_ones() {
    for vector in vectors("payload-digests") {
        assert_eq!(canonical(&vector["payload"]), text(&vector, "canonical"), "{vector}");
        assert_eq!(payload_digest(&vector["payload"]), text(&vector, "digest"), "{vector}");
    }
}

#[test]
fn fingerprints_are_the_published_ones() {
    for vector in vectors("fingerprints") {
        let job_type = JobType::parse(text(&vector, "type")).unwrap();
        let made = Fingerprint::new(&job_type, &vector["payload"], vector.get("data"), &[], text(&vector, "salt").as_bytes());
        assert_eq!(made.as_str(), text(&vector, "fingerprint"), "{vector}");
    }
}
