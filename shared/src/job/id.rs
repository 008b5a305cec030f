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
