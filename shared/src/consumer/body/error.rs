//! Why a body is neither a job nor a known wrapping of one.

use super::MAX_JOBS;
use crate::idempotency::{ErrorClass, LastError};
use crate::job::{EnvelopeError, JobKind};

/// Why a body, or one record of it, is no job. Messages name members and rules, never values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(in crate::consumer) enum BodyError {
    /// The job itself is wrong.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// Several envelopes in a row.
    #[error("the body is a list; send each job as a message of its own")]
    List,
    /// SNS asks whether the queue wants the topic's messages.
    #[error(
        "the body is SNS's question whether to subscribe, not a job; a subscription that the queue's owner makes needs no confirmation"
    )]
    SnsConfirmation,
    /// An SNS envelope of another kind, or an empty one.
    #[error("/Message: the body is an SNS envelope without a notification's text")]
    SnsMessageMissing,
    /// An event that nobody meant for a consumer.
    #[error(
        "/detail: the body is an EventBridge event, neither a job nor an S3 object; narrow the rule's pattern, or put the job's envelope into `detail`"
    )]
    EventWithoutJob,
    /// Wrapped in one another too often.
    #[error("the body is wrapped in more envelopes than services make; send the job itself")]
    TooManyLayers,
    /// `Records` of another form.
    #[error("/Records: must be a list of S3's records")]
    RecordsNotAList,
    /// More than fits.
    #[error("/Records: the message holds {count} records, more than {MAX_JOBS}; send several messages")]
    TooManyJobs {
        /// How many it holds.
        count: usize,
    },
    /// A record of another service.
    #[error("/Records: a record does not come from S3 (`eventSource`)")]
    NotFromS3,
    /// A member that every object event has.
    #[error("{pointer}: the S3 event lacks this member, or it is no text")]
    ObjectIncomplete {
        /// Where it should be.
        pointer: &'static str,
    },
    /// Two uploads of one key could not be told apart.
    #[error(
        "the S3 event names neither version, entity tag nor sequencer of its object, so the next upload would be the same job"
    )]
    ObjectNotIdentified,
    /// The key is not what S3 writes.
    #[error("/s3/object/key: the key is not in the encoding of forms: {problem}")]
    KeyMalformed {
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl BodyError {
    /// Stable name of the reason, in snake case.
    pub(in crate::consumer) fn code(&self) -> &'static str {
        match self {
            Self::Envelope(error) => error.code(),
            Self::List => "body_is_a_list",
            Self::SnsConfirmation => "sns_confirmation",
            Self::SnsMessageMissing => "sns_message_missing",
            Self::EventWithoutJob => "event_without_job",
            Self::TooManyLayers => "wrapped_too_often",
            Self::RecordsNotAList => "records_not_a_list",
            Self::TooManyJobs { .. } => "too_many_jobs",
            Self::NotFromS3 => "record_not_from_s3",
            Self::ObjectIncomplete { .. } => "object_event_incomplete",
            Self::ObjectNotIdentified => "object_not_identified",
            Self::KeyMalformed { .. } => "object_key_malformed",
        }
    }

    /// See [`EnvelopeError::fit_for_logs`].
    pub(super) fn fit_for_logs(self, kind: &JobKind, more: &[&str]) -> Self {
        match self {
            Self::Envelope(error) => Self::Envelope(error.fit_for_logs(kind, more)),
            other => other,
        }
    }
}

impl From<&BodyError> for LastError {
    fn from(error: &BodyError) -> Self {
        Self::new(ErrorClass::Poison, error.code(), error.to_string())
    }
}
