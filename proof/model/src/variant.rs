//! Protocols that are known to be bad: each lacks one rule. They exist in the model alone.

/// A rule that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// A settlement does not name the lease it is made under.
    UnfencedComplete,
    /// The record's key is the message id.
    KeyByMessageId,
    /// The producer deletes its record when a send failed or its outcome is unclear.
    DeleteAfterUnclearSend,
    /// The claim does not ask how often the job was started.
    NoAttemptCheck,
    /// The redrive sends first and puts the record back after that.
    ResetAfterSend,
    /// The reset does not name the generation that was read.
    ResetWithoutGeneration,
    /// What is unclear about an effect is taken for a failure, and tried again.
    RepeatAfterUnclear,
    /// Records that are not done have an end too.
    TtlOnUnfinished,
    /// The redrive deletes the message before it sends the copy.
    DeleteBeforeSend,
    /// A repeated claim goes on wherever it finds its own token.
    OwnTokenIsEnough,
    /// A repeated settlement does not recognise its own first write.
    OwnSettlementUnknown,
    /// The redrive deals with dead and done jobs only.
    RedriveOnlyDead,
    /// A resolution to run again makes the job ready at once.
    ResolveReopens,
    /// Messages whose receives run low are not renewed.
    NoRenewal,
    /// The window of the provider's key is not looked at.
    NoWindow,
    /// A job without a message cannot be put back.
    NoRebuild,
    /// Any message that is sent after a death puts the job back.
    NoMargin,
}

impl Variant {
    /// All of them, in the order in which `docs/why.md` explains them.
    pub const ALL: [Self; 17] = [
        Self::UnfencedComplete,
        Self::KeyByMessageId,
        Self::NoAttemptCheck,
        Self::RepeatAfterUnclear,
        Self::NoWindow,
        Self::OwnTokenIsEnough,
        Self::OwnSettlementUnknown,
        Self::NoMargin,
        Self::NoRenewal,
        Self::TtlOnUnfinished,
        Self::DeleteAfterUnclearSend,
        Self::ResetAfterSend,
        Self::ResetWithoutGeneration,
        Self::DeleteBeforeSend,
        Self::RedriveOnlyDead,
        Self::NoRebuild,
        Self::ResolveReopens,
    ];
}
