//! What became of a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of one message, or of one job that has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageVerdict {
    /// SQS's id of the message in the dead-letter queue; left out for a job that has no message any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The jobs that the message holds, as far as it holds any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job_ids: Vec<String>,
    /// What became of it.
    pub verdict: VerdictCode,
    /// Why, in one sentence without anything of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VerdictCode {
    /// Back in its queue, and gone from the dead-letter queue. In a dry run: would be.
    Redriven,
    /// Its job had succeeded, or was cancelled: the message is deleted, and nothing runs. In a dry run: would be.
    AlreadyDone,
    /// Archived and deleted. In a dry run: would be.
    Discarded,
    /// Back in its queue, but perhaps still in the dead-letter queue too. Harmless: it is the same job.
    SentNotDeleted,
    /// Archived, or its job was done; but perhaps still in the dead-letter queue. The next run removes it.
    NotDeleted,
    /// Left: a worker has the job.
    Running,
    /// Left: nobody knows whether its effect happened; resolve the job first.
    InDoubt,
    /// Left: put back as often as it may be.
    Quarantined,
    /// Left: this run has put the job back, and it failed again.
    CameBack,
    /// Left: the record was changed by somebody else meanwhile.
    Changed,
    /// Left: its payload is not the one that its job was accepted with; it can only be discarded.
    OtherContent,
    /// Left: nobody knows which queue it came from, or that queue is not of this stack.
    NoSource,
    /// Left: its job cannot be made again from its record.
    NotRebuildable,
    /// Left: the patched payload is not valid for the job's type.
    PatchInvalid,
    /// Left: the archive could not be written.
    NotArchived,
    /// Left: the record could not be read or written.
    RecordFailed,
    /// Left: the message could not be sent.
    SendFailed,
    /// Left: no message of this job was found, and there is no record of it.
    NotFound,
}

impl VerdictCode {
    /// Whether the operator got what they wanted.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Redriven | Self::AlreadyDone | Self::Discarded)
    }

    /// Whether something went wrong, as opposed to being left on purpose.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Self::SentNotDeleted
                | Self::NotDeleted
                | Self::NoSource
                | Self::NotRebuildable
                | Self::PatchInvalid
                | Self::NotArchived
                | Self::RecordFailed
                | Self::SendFailed
                | Self::NotFound
        )
    }
}
