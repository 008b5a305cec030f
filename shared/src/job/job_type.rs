//! The name of a kind of job.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest job type, in characters.
pub const MAX_JOB_TYPE_CHARS: usize = 48;

/// The name of a kind of job, such as `email.send`.
///
/// Two or more words joined by dots, at most 48 characters. A word starts with a lower-case letter and goes on with lower-case letters,
/// digits and inner underscores. There is no hyphen: a job id is `<type>-<digest>`, and an IAM policy that confines a consumer to
/// `email.send-*` (`dynamodb:LeadingKeys`) would otherwise let it into the jobs of a type called `email.send-bulk`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobType(Cow<'static, str>);

/// Why a text is not a [`JobType`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobTypeError {
    /// The text has no character.
    #[error("a job type must not be empty: write it like `email.send`")]
    Empty,
    /// The text has more than [`MAX_JOB_TYPE_CHARS`] characters.
    #[error("a job type has at most 48 characters")]
    TooLong,
    /// The text is a single word.
    #[error("a job type has at least two words joined by a dot, like `email.send`")]
    NoDot,
    /// A word has a character that is not allowed where it stands.
    #[error("the words of a job type consist of a-z, 0-9 and inner underscores and start with a letter, like `email.send`")]
    BadWord,
}

impl JobType {
    /// Reads a job type.
    ///
    /// # Errors
    /// When the text breaks the rules of [`JobType`].
    pub fn parse(text: &str) -> Result<Self, JobTypeError> {
        check(text.as_bytes()).map(|()| Self(Cow::Owned(text.to_owned())))
    }

    /// The same for a name that is written in the program: nothing is copied.
    pub(crate) fn from_static(text: &'static str) -> Result<Self, JobTypeError> {
        check(text.as_bytes()).map(|()| Self(Cow::Borrowed(text)))
    }

    /// Whether a name that is written in the program is a job type.
    pub(crate) const fn is_valid(text: &'static str) -> bool {
        check(text.as_bytes()).is_ok()
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `const`, so that a payload type with a bad name does not compile (see `JobKind::of`).
const fn check(text: &[u8]) -> Result<(), JobTypeError> {
    if text.is_empty() {
        return Err(JobTypeError::Empty);
    }
    if text.len() > MAX_JOB_TYPE_CHARS {
        return Err(JobTypeError::TooLong);
    }
    let mut dots = 0;
    let mut at_start = true;
    let mut after_underscore = false;
    let mut position = 0;
    while position < text.len() {
        let byte = text[position];
        position += 1;
        match byte {
            b'a'..=b'z' => after_underscore = false,
            b'0'..=b'9' if !at_start => after_underscore = false,
            b'_' if !at_start => after_underscore = true,
            b'.' if !at_start && !after_underscore => {
                dots += 1;
                at_start = true;
                continue;
            }
            _ => return Err(JobTypeError::BadWord),
        }
        at_start = false;
    }
    if at_start || after_underscore {
        return Err(JobTypeError::BadWord);
    }
    if dots == 0 {
        return Err(JobTypeError::NoDot);
    }
    Ok(())
}

impl fmt::Display for JobType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for JobType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for JobType {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for JobType {
    type Err = JobTypeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for JobType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for JobType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_joined_by_dots_are_job_types() {
        for good in ["email.send", "a.b", "image.resize_2x", "billing.invoice.charge", "x9.y_z9"] {
            assert_eq!(JobType::parse(good).map(|parsed| parsed.to_string()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_rule() {
        let long = format!("a.{}", "b".repeat(MAX_JOB_TYPE_CHARS - 1));
        let cases = [
            ("", JobTypeError::Empty),
            ("email", JobTypeError::NoDot),
            ("Email.send", JobTypeError::BadWord),
            (".send", JobTypeError::BadWord),
            ("email.", JobTypeError::BadWord),
            ("email..send", JobTypeError::BadWord),
            ("email.9send", JobTypeError::BadWord),
            ("email._send", JobTypeError::BadWord),
            ("email.send_", JobTypeError::BadWord),
            ("email_.send", JobTypeError::BadWord),
            ("email.send bulk", JobTypeError::BadWord),
            ("é.send", JobTypeError::BadWord),
            (&long, JobTypeError::TooLong),
        ];
        for (bad, rule) in cases {
            assert_eq!(JobType::parse(bad), Err(rule), "{bad:?}");
        }
        assert!(JobType::parse(&long[..MAX_JOB_TYPE_CHARS]).is_ok());
    }

    #[test]
    fn a_hyphen_is_refused_because_it_ends_the_type_in_a_job_id() {
        assert_eq!(JobType::parse("email.send-bulk"), Err(JobTypeError::BadWord));
    }

    #[test]
    fn json_round_trips_and_is_checked() {
        let parsed: JobType = serde_json::from_str("\"email.send\"").unwrap();
        assert_eq!(serde_json::to_string(&parsed).unwrap(), "\"email.send\"");
        assert!(serde_json::from_str::<JobType>("\"email\"").is_err());
    }
}
