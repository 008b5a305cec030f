//! Deliberate bugs. A simulator that finds none of them finds nothing.
//!
//! None of them is in the code that is shipped: each is a wrapper around a seam (the table, a queue, the mapping, the provider's adapter), and
//! does there what a wrong line in the kit would do.

/// A deliberate bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// A worker settles its job whoever owns it by now.
    UnfencedComplete,
    /// A claim takes a job whose lease still holds.
    ClaimIgnoresLease,
    /// A claim does not look at the attempts that were used.
    ClaimIgnoresAttempts,
    /// The end of a lease is written in seconds.
    LeaseInSeconds,
    /// The expiry of a record is written in milliseconds.
    ExpiryInMilliseconds,
    /// An expired record that was not removed yet counts.
    ExpiredRecordCounts,
    /// The announcement of an effect is not written.
    EffectNotAnnounced,
    /// A put-back forgets when an effect was tried first.
    FirstEffectForgotten,
    /// A put-back is written after its message was sent, whatever the record has become.
    ResetAfterSend,
    /// Dead letters are deleted before they are sent.
    DeleteBeforeSend,
    /// The API answers before its message is in the queue.
    AnswerBeforeSend,
    /// Entries of a batch that were not sent count as sent.
    SendFailuresIgnored,
    /// A copy of a message is taken as sent without having been.
    RenewalNotSent,
    /// The heartbeat is not stopped before visibility is set for the last time.
    HeartbeatAfterBackoff,
    /// A job that could not be settled is acknowledged.
    AcknowledgeUnsettled,
    /// The answer's list of failures is not read.
    PartialFailuresIgnored,
    /// A failure is reported with an empty identifier.
    EmptyItemIdentifier,
    /// A job is named after its message.
    KeyedByMessage,
    /// An unclear answer of the provider is taken for a refusal, and the effect is tried again.
    EffectRepeated,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::UnfencedComplete,
        Self::ClaimIgnoresLease,
        Self::ClaimIgnoresAttempts,
        Self::LeaseInSeconds,
        Self::ExpiryInMilliseconds,
        Self::ExpiredRecordCounts,
        Self::EffectNotAnnounced,
        Self::FirstEffectForgotten,
        Self::ResetAfterSend,
        Self::DeleteBeforeSend,
        Self::AnswerBeforeSend,
        Self::SendFailuresIgnored,
        Self::RenewalNotSent,
        Self::HeartbeatAfterBackoff,
        Self::AcknowledgeUnsettled,
        Self::PartialFailuresIgnored,
        Self::EmptyItemIdentifier,
        Self::KeyedByMessage,
        Self::EffectRepeated,
    ];

    /// The name on the command line and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnfencedComplete => "unfenced_complete",
            Self::ClaimIgnoresLease => "claim_ignores_lease",
            Self::ClaimIgnoresAttempts => "claim_ignores_attempts",
            Self::LeaseInSeconds => "lease_in_seconds",
            Self::ExpiryInMilliseconds => "expiry_in_milliseconds",
            Self::ExpiredRecordCounts => "expired_record_counts",
            Self::EffectNotAnnounced => "effect_not_announced",
            Self::FirstEffectForgotten => "first_effect_forgotten",
            Self::ResetAfterSend => "reset_after_send",
            Self::DeleteBeforeSend => "delete_before_send",
            Self::AnswerBeforeSend => "answer_before_send",
            Self::SendFailuresIgnored => "send_failures_ignored",
            Self::RenewalNotSent => "renewal_not_sent",
            Self::HeartbeatAfterBackoff => "heartbeat_after_backoff",
            Self::AcknowledgeUnsettled => "acknowledge_unsettled",
            Self::PartialFailuresIgnored => "partial_failures_ignored",
            Self::EmptyItemIdentifier => "empty_item_identifier",
            Self::KeyedByMessage => "keyed_by_message",
            Self::EffectRepeated => "effect_repeated",
        }
    }

    /// Reads the name back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mutant| mutant.name() == name)
    }
}
