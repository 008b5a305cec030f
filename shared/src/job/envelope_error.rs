//! Why a message body is not a job.

use std::collections::BTreeSet;

use super::envelope::MEMBERS;
use super::field_error::{FieldError, summary};
use super::id::JobIdError;
use super::job_type::JobType;
use super::pointer;
use super::registry::JobKind;
use super::strict_json::{StrictJsonError, StrictJsonRule};

/// Why a message body is not a job. No message contains a value out of the body; an error of [`Envelope::parse`](super::Envelope::parse)
/// contains no member name either that the program does not know itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// The body is not JSON.
    #[error("the body is not JSON: {0}")]
    NotJson(StrictJsonError),
    /// The body is JSON that two readers could read differently (numbers, depth, characters).
    #[error("the body is not strict JSON: {0}")]
    NotStrict(StrictJsonError),
    /// A member stands twice in an object.
    #[error("{pointer}: the member stands there twice: remove one")]
    DuplicateMember {
        /// The member.
        pointer: String,
    },
    /// The body is JSON, but no object.
    #[error("the body must be a JSON object like {{\"type\":…,\"schemaVersion\":…,\"idempotencyKey\":…,\"payload\":{{…}}}}")]
    NotAnObject,
    /// A member that an envelope does not have.
    #[error("{pointer}: unknown member{}", nearest.map(|nearest| format!(": did you mean `{nearest}`?")).unwrap_or_default())]
    UnknownMember {
        /// The member.
        pointer: String,
        /// The known name that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A member that an envelope must have.
    #[error("/{member}: the member is missing")]
    MissingMember {
        /// Its name.
        member: &'static str,
    },
    /// A member of the envelope has a value that it cannot have.
    #[error("{0}")]
    InvalidMember(FieldError),
    /// A job of another type than this queue carries.
    #[error("/type: this is not the queue of that type: it carries `{expected}` jobs only")]
    WrongType {
        /// The type that the queue carries.
        expected: JobType,
    },
    /// The job id is none of this type.
    #[error("/jobId: {0}; leave it out and it is derived")]
    BadJobId(JobIdError),
    /// The payload is not one of this type.
    #[error("{}", summary(.0))]
    InvalidPayload(Vec<FieldError>),
    /// The body has something that must not be in a queue.
    #[error("{}", summary(.0))]
    Refused(Vec<FieldError>),
}

impl EnvelopeError {
    /// Stable name of the reason, in snake case.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotJson(_) | Self::NotAnObject => "body_not_json",
            Self::NotStrict(error) => error.code(),
            Self::DuplicateMember { .. } => "duplicate_member",
            Self::UnknownMember { .. } => "unknown_member",
            Self::MissingMember { .. } => "missing_member",
            Self::InvalidMember(_) => "member_invalid",
            Self::WrongType { .. } => "wrong_type",
            Self::BadJobId(_) => "bad_job_id",
            Self::InvalidPayload(_) => "payload_invalid",
            Self::Refused(_) => "payload_refused",
        }
    }

    /// The same error without member names of the sender's invention: those may be people's, and a consumer logs and keeps the error.
    /// Known are those of the envelope, of the kind's payload, and `more`.
    pub(crate) fn fit_for_logs(self, kind: &JobKind, more: &[&str]) -> Self {
        let mut known = kind.member_names();
        known.extend(MEMBERS.iter().chain(more).map(|&name| name.to_owned()));
        self.with_known_names(&known)
    }

    fn with_known_names(mut self, known: &BTreeSet<String>) -> Self {
        let hide = |pointer: &mut String| *pointer = pointer::with_known_names(pointer, known);
        match &mut self {
            Self::NotJson(error) | Self::NotStrict(error) => hide(&mut error.pointer),
            Self::DuplicateMember { pointer } | Self::UnknownMember { pointer, .. } => hide(pointer),
            Self::InvalidMember(error) => hide(&mut error.pointer),
            Self::InvalidPayload(errors) | Self::Refused(errors) => {
                errors.iter_mut().for_each(|error| hide(&mut error.pointer));
            }
            Self::NotAnObject | Self::MissingMember { .. } | Self::WrongType { .. } | Self::BadJobId(_) => {}
        }
        self
    }

    /// The fields that are wrong, with pointers into the body.
    #[must_use]
    pub fn fields(&self) -> Vec<FieldError> {
        match self {
            Self::NotJson(error) | Self::NotStrict(error) => vec![error.clone().into()],
            Self::DuplicateMember { pointer } => {
                vec![FieldError::new(pointer, self.code(), "the member stands there twice: remove one")]
            }
            Self::NotAnObject => vec![FieldError::new("", self.code(), "the body must be a JSON object")],
            Self::UnknownMember { pointer, nearest } => {
                let message =
                    nearest.map_or_else(|| "unknown member".to_owned(), |name| format!("unknown member: did you mean `{name}`?"));
                vec![FieldError::new(pointer, self.code(), message)]
            }
            Self::MissingMember { member } => vec![FieldError::new(format!("/{member}"), self.code(), "the member is missing")],
            Self::InvalidMember(error) => vec![error.clone()],
            Self::WrongType { expected } => {
                vec![FieldError::new("/type", self.code(), format!("this queue carries `{expected}` jobs only"))]
            }
            Self::BadJobId(error) => vec![FieldError::new("/jobId", self.code(), error.to_string())],
            Self::InvalidPayload(errors) | Self::Refused(errors) => errors.clone(),
        }
    }
}

impl From<StrictJsonError> for EnvelopeError {
    fn from(error: StrictJsonError) -> Self {
        match error.rule {
            StrictJsonRule::DuplicateMember => Self::DuplicateMember { pointer: error.pointer },
            rule if rule.is_json() => Self::NotStrict(error),
            _ => Self::NotJson(error),
        }
    }
}
