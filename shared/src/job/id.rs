//! Deterministic job ids.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::digest;
use super::idempotency_key::IdempotencyKey;
use super::job_type::JobType;

/// Part of every digest, so that another way of making ids can never meet this one.
const VERSION_LABEL: &str = "ikkai-job-id-v1";

/// In front of a queue's name where a message has no caller. Callers made by the producer never start with it.
const DIRECT_CALLER_PREFIX: &str = "direct:";

/// Between the type and the message id of a message that has no job.
const MESSAGE_MARK: &str = "msg-";

/// In front of the digest of a message id that cannot be taken as it is.
const MESSAGE_DIGEST_MARK: &str = "x-";

/// Longest message id that is taken as it is. SQS hands out UUIDs (36) and promises at most 100 characters
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-queue-message-identifiers.html>).
const MAX_MESSAGE_ID_CHARS: usize = 100;

/// Identity of a job and key of its record: `<type>-<26 characters>`.
///
/// The 26 characters are a digest of (caller, job type, idempotency key), so the same business request has the same id on every path:
/// a client's retry, a duplicate delivery, a redrive. The type in front lets IAM confine each consumer to its own jobs
/// (`dynamodb:LeadingKeys`). How it is made, with test vectors for other languages: `docs/job-ids.md`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(String);

/// Why a text is not a [`JobId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobIdError {
    /// The text does not start with the expected type and a hyphen.
    #[error("the job id must start with `{expected}-`")]
    OtherType {
        /// The type that was expected.
        expected: JobType,
    },
    /// The text has no valid job type in front of its first hyphen.
    #[error("the job id must start with a job type and a hyphen, like `email.send-`")]
    NoType,
    /// What follows the type is not a digest.
    #[error("the job id must end in 26 characters of lower-case base32 (a-z, 2-7)")]
    NotADigest,
}

impl JobId {
    /// The id of the job that `caller` asks for with `key`.
    #[must_use]
    pub fn derive(caller: &str, job_type: &JobType, key: &IdempotencyKey) -> Self {
        let digest = digest::of_parts(&[
            VERSION_LABEL.as_bytes(),
            caller.as_bytes(),
            job_type.as_str().as_bytes(),
            key.as_str().as_bytes(),
        ]);
        Self(format!("{job_type}-{}", digest::base32(&digest)))
    }

    /// The id of a job whose sender put it on the queue itself and left the id out: the queue's name stands for the caller.
    #[must_use]
    pub fn for_direct_sender(queue_name: &str, job_type: &JobType, key: &IdempotencyKey) -> Self {
        Self::derive(&format!("{DIRECT_CALLER_PREFIX}{queue_name}"), job_type, key)
    }

    /// The record key of a message that has no job of its own, because its body does not parse or is another job's content: `<type>-msg-<message id>`.
    ///
    /// A message id that is longer than 100 characters or has others than letters, digits and hyphens is replaced by its digest.
    #[must_use]
    pub fn for_message(job_type: &JobType, message_id: &str) -> Self {
        let plain = !message_id.is_empty()
            && message_id.len() <= MAX_MESSAGE_ID_CHARS
            && message_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !message_id.starts_with(MESSAGE_DIGEST_MARK);
        if plain {
            return Self(format!("{job_type}-{MESSAGE_MARK}{message_id}"));
        }
        let digest = digest::base32(&digest::of_text(message_id));
        Self(format!("{job_type}-{MESSAGE_MARK}{MESSAGE_DIGEST_MARK}{digest}"))
    }

    /// Reads an id that came from outside. Only the digest form of the expected type is accepted: nobody can name the record of an unparseable
    /// message, or of another type's job.
    ///
    /// # Errors
    /// When the type is another one or the rest is not a digest.
    pub fn parse(text: &str, expected_type: &JobType) -> Result<Self, JobIdError> {
        let digest = text
            .strip_prefix(expected_type.as_str())
            .and_then(|rest| rest.strip_prefix('-'))
            .ok_or_else(|| JobIdError::OtherType { expected: expected_type.clone() })?;
        if !digest::is_base32(digest) {
            return Err(JobIdError::NotADigest);
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads an id of any type and of either form, as it comes back out of our own table or from an operator.
    ///
    /// # Errors
    /// When there is no job type in front, or neither a digest nor a message id behind it.
    pub fn parse_stored(text: &str) -> Result<Self, JobIdError> {
        let (job_type, rest) = text.split_once('-').ok_or(JobIdError::NoType)?;
        let job_type = JobType::parse(job_type).map_err(|_| JobIdError::NoType)?;
        let is_message = rest.strip_prefix(MESSAGE_MARK).is_some_and(|id| {
            let digest_form = id.strip_prefix(MESSAGE_DIGEST_MARK).is_some_and(digest::is_base32);
            digest_form || Self::for_message(&job_type, id).0 == text
        });
        if is_message || digest::is_base32(rest) { Ok(Self(text.to_owned())) } else { Err(JobIdError::NotADigest) }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The type of the job: what stands in front of the first hyphen.
    ///
    /// # Panics
    /// Never: every way to make an id has checked the type.
    #[must_use]
    pub fn job_type(&self) -> JobType {
        let (job_type, _) = self.0.split_once('-').expect("an id has a hyphen");
        JobType::parse(job_type).expect("an id starts with its type")
    }

    /// Whether this is the record key of a message without a job ([`JobId::for_message`]).
    #[must_use]
    pub fn is_for_message(&self) -> bool {
        self.0.split_once('-').is_some_and(|(_, rest)| rest.starts_with(MESSAGE_MARK))
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for JobId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for JobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse_stored(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn email() -> JobType {
        JobType::parse("email.send").unwrap()
    }

    fn key(text: &str) -> IdempotencyKey {
        IdempotencyKey::parse(text).unwrap()
    }

    #[test]
    fn the_same_request_is_the_same_job_and_any_other_is_another() {
        let job = JobId::derive("caller-a", &email(), &key("order-1"));
        assert_eq!(job, JobId::derive("caller-a", &email(), &key("order-1")));
        let billing = JobType::parse("billing.charge").unwrap();
        let others = [
            JobId::derive("caller-b", &email(), &key("order-1")),
            JobId::derive("caller-a", &billing, &key("order-1")),
            JobId::derive("caller-a", &email(), &key("order-2")),
            JobId::derive("caller-", &email(), &key("aorder-1")),
            JobId::for_direct_sender("caller-a", &email(), &key("order-1")),
        ];
        for other in others {
            assert_ne!(job, other);
        }
    }

    #[test]
    fn the_digest_differs_between_types_not_only_the_prefix() {
        let digest = |job_type: &str| {
            let id = JobId::derive("c", &JobType::parse(job_type).unwrap(), &key("k"));
            id.as_str().rsplit_once('-').unwrap().1.to_owned()
        };
        assert_ne!(digest("email.send"), digest("email.test"));
    }

    #[test]
    fn a_direct_sender_is_a_caller_named_after_the_queue() {
        let direct = JobId::for_direct_sender("jobs", &email(), &key("k"));
        assert_eq!(direct, JobId::derive("direct:jobs", &email(), &key("k")));
    }

    #[test]
    fn an_id_has_its_type_and_its_text_back() {
        let id = JobId::derive("c", &email(), &key("k"));
        assert_eq!(id.job_type(), email());
        assert_eq!(id.as_str().len(), "email.send-".len() + 26);
        assert_eq!(JobId::parse(id.as_str(), &email()), Ok(id.clone()));
        assert_eq!(JobId::parse_stored(id.as_str()), Ok(id));
    }

    #[test]
    fn from_outside_only_the_digest_form_of_the_expected_type_is_accepted() {
        let other_type = Err(JobIdError::OtherType { expected: email() });
        let good = "email.send-aaaqeayeaudaocajbifqydiob4";
        assert!(JobId::parse(good, &email()).is_ok());
        assert_eq!(JobId::parse("billing.charge-aaaqeayeaudaocajbifqydiob4", &email()), other_type);
        assert_eq!(JobId::parse("email.send.now-aaaqeayeaudaocajbifqydiob4", &email()), other_type);
        assert_eq!(JobId::parse("", &email()), other_type);
        for bad in [
            "email.send-msg-8e03978e-40d5-43e8-bc93-6894a57f9324",
            "email.send-",
            "email.send-aaaqeayeaudaocajbifqydiob",
            "email.send-aaaqeayeaudaocajbifqydiob4 ",
            "email.send-AAAQEAYEAUDAOCAJBIFQYDIOB4",
            "email.send-aaaqeayeaudaocajbifqydiob5",
        ] {
            assert_eq!(JobId::parse(bad, &email()), Err(JobIdError::NotADigest), "{bad}");
        }
    }

    #[test]
    fn a_message_without_a_job_has_a_record_key_of_its_own() {
        let id = JobId::for_message(&email(), "8e03978e-40d5-43e8-bc93-6894a57f9324");
        assert_eq!(id.as_str(), "email.send-msg-8e03978e-40d5-43e8-bc93-6894a57f9324");
        assert!(id.is_for_message());
        assert_eq!(id.job_type(), email());
        assert_eq!(JobId::parse_stored(id.as_str()), Ok(id));
        assert!(!JobId::derive("c", &email(), &key("k")).is_for_message());
    }

    #[test]
    fn any_message_id_gives_a_short_and_distinct_record_key() {
        let odd = [
            "",
            "a b",
            "a/b",
            "日本",
            &"m".repeat(101),
            &"m".repeat(100_000),
            "x-",
            "x-aaaqeayeaudaocajbifqydiob4",
            "-",
            "msg-1",
            "m",
        ];
        let keys: std::collections::BTreeSet<_> = odd.iter().map(|message_id| JobId::for_message(&email(), message_id)).collect();
        assert_eq!(keys.len(), odd.len());
        for key in keys {
            assert!(key.as_str().len() <= 200 && key.as_str().is_ascii(), "{key}");
            assert_eq!(JobId::parse_stored(key.as_str()), Ok(key));
        }
        let longest = JobType::parse(&format!("a.{}", "b".repeat(46))).unwrap();
        assert!(JobId::for_message(&longest, &"m".repeat(100)).as_str().len() <= 200);
    }

    #[test]
    fn what_was_never_stored_is_not_read_back() {
        for bad in ["", "email.send", "email-send", "email-aaaqeayeaudaocajbifqydiob4", "-aaaqeayeaudaocajbifqydiob4"] {
            assert_eq!(JobId::parse_stored(bad), Err(JobIdError::NoType), "{bad}");
        }
        for bad in ["email.send-x", "email.send-msg-", "email.send-msg-a b", "email.send-msg-x-1", "email.send-msg"] {
            assert_eq!(JobId::parse_stored(bad), Err(JobIdError::NotADigest), "{bad}");
        }
    }

    #[test]
    fn json_round_trips_and_is_checked() {
        let id = JobId::for_message(&email(), "8e03978e");
        let text = serde_json::to_string(&id).unwrap();
        assert_eq!(text, "\"email.send-msg-8e03978e\"");
        assert_eq!(serde_json::from_str::<JobId>(&text).unwrap(), id);
        assert!(serde_json::from_str::<JobId>("\"email.send-1\"").is_err());
    }
}
