//! A draft that is put down, so that another invocation can take it up.
//!
//! The draft itself lies in the store, under the digest of its content; the job's progress holds that digest and nothing else, because it has
//! to stay small.

use ikkai::job::Period;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    checksum::{Checksum, sha256_hex},
    draft::{Draft, Reading, Upload},
    summary::Summary,
};

/// Goes up when older functions cannot go on with what is written. A draft of another version is not used: the report begins anew.
const VERSION: u32 = 1;

/// A draft without its pending bytes.
#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    upload: Option<Upload>,
    bytes: u64,
    checksum: String,
    summary: Summary,
    reading: Reading,
}

/// A draft as bytes: one line of JSON, then the pending bytes.
pub(crate) fn encode(draft: &Draft) -> Vec<u8> {
    let head = Head {
        version: VERSION,
        upload: draft.upload.clone(),
        bytes: draft.bytes,
        checksum: draft.checksum.to_state(),
        summary: draft.summary.clone(),
        reading: draft.reading.clone(),
    };
    let mut body = serde_json::to_vec(&head).expect("numbers and texts");
    body.push(b'\n');
    body.extend_from_slice(&draft.pending);
    body
}

/// The draft in `body`, if it is the one with this digest and of this version and period.
pub(crate) fn decode(body: &[u8], digest: &str, period: &Period) -> Option<Draft> {
    if sha256_hex(body) != digest {
        return None;
    }
    let end_of_head = body.iter().position(|byte| *byte == b'\n')?;
    let head: Head = serde_json::from_slice(&body[..end_of_head]).ok()?;
    if head.version != VERSION || head.summary.days.len() != period.days() {
        return None;
    }
    Some(Draft {
        upload: head.upload,
        pending: body[end_of_head + 1..].to_vec(),
        bytes: head.bytes,
        checksum: Checksum::from_state(&head.checksum)?,
        summary: head.summary,
        reading: head.reading,
    })
}

/// What the job's progress says about a draft.
pub(crate) fn progress(digest: &str) -> Value {
    json!({"draft": digest})
}

/// The digest that a job's progress names.
pub(crate) fn named_in(progress: &Value) -> Option<&str> {
    let digest = progress.get("draft")?.as_str()?;
    // It becomes a part of a key.
    (digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digest)
}

#[cfg(test)]
mod tests {
    use ikkai::clock::EpochMillis;

    use super::*;
    use crate::{
        history::{HistoryPage, Position},
        store::UploadedPart,
    };

    fn draft(period: &Period) -> Draft {
        let mut draft = Draft::new(period);
        let next = Position { created_at: EpochMillis::from_i64(7), job_id: "email.send-7".to_owned() };
        draft.add(HistoryPage { rows: Vec::new(), next: Some(next) }, period);
        let part = UploadedPart { number: 1, etag: "\"e\"".to_owned(), crc32: Some("AAAAAA==".to_owned()) };
        draft.upload = Some(Upload { name: "upload-1".to_owned(), parts: vec![part] });
        draft.pending.extend_from_slice(b"\nafter a line break\xff");
        draft
    }

    #[test]
    fn a_draft_is_taken_up_as_it_was_put_down() {
        let period = Period::parse("2026-01").unwrap();
        let body = encode(&draft(&period));
        let again = decode(&body, &sha256_hex(&body), &period).unwrap();
        assert_eq!(encode(&again), body);
        assert_eq!(again.pending, draft(&period).pending);
    }

    #[test]
    fn what_is_not_the_draft_that_was_put_down_is_not_used() {
        let period = Period::parse("2026-01").unwrap();
        let body = encode(&draft(&period));
        assert!(decode(&body, &sha256_hex(b"other"), &period).is_none(), "another content");
        assert!(decode(&body, &sha256_hex(&body), &Period::parse("2026-02").unwrap()).is_none(), "another period");
        for text in [String::new(), "\n".to_owned(), String::from_utf8_lossy(&body).replace("\"version\":1", "\"version\":2")] {
            assert!(decode(text.as_bytes(), &sha256_hex(text.as_bytes()), &period).is_none());
        }
    }

    #[test]
    fn progress_names_a_digest_and_nothing_else_is_one() {
        let digest = sha256_hex(b"draft");
        assert_eq!(named_in(&progress(&digest)), Some(digest.as_str()));
        for other in [json!(null), json!({"draft": "../../etc"}), json!({"draft": 7}), json!({"row": 7})] {
            assert_eq!(named_in(&other), None);
        }
    }
}
