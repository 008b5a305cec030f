//! What a move is, in the words of a sequence diagram.

use crate::world::{End, Reply, Request};

/// What happens in a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A worker receives a message.
    Receives(u8, u8),
    /// A worker claims, and this is the answer.
    Claims(u8, Claimed, Heard),
    /// A worker writes what was decided about a refused claim.
    Takes(u8, Claimed, Heard),
    /// A worker announces its effect.
    Announces(u8, Heard),
    /// The announcement is refused: the lease is somebody else's.
    AnnouncesInVain(u8),
    /// The provider answers a worker.
    Effect(u8, Provider),
    /// The handler ends before its effect.
    EndsBefore(u8, End),
    /// A worker settles.
    Settles(u8, End, Settled, Heard),
    /// The heartbeat renews the lease.
    Renews(u8),
    /// The heartbeat finds the lease lost.
    FindsLeaseLost(u8),
    /// The heartbeat finds the receipt lost.
    FindsReceiptLost(u8),
    /// A worker sends a copy of its message.
    Copies(u8, u8),
    /// A worker answers SQS.
    Answers(u8, Reply, u8),
    /// A worker dies.
    WorkerDies(u8),
    /// Visibility ends.
    ComesOut(u8),
    /// SQS moves a message to the dead-letter queue.
    DeadLetters(u8),
    /// A message is purged.
    Purged(u8),
    /// A lease ends.
    LeaseEnds,
    /// A send lease ends.
    SendLeaseEnds,
    /// A minute passes.
    MinutePasses,
    /// The record's window passes.
    WindowPasses,
    /// The provider forgets the key.
    ProviderForgets,
    /// The record expires.
    Expires,
    /// A client posts the job.
    Posts(u8, Posted),
    /// The producer takes the sending over.
    TakesOver(u8, bool),
    /// The producer sends.
    Sends(u8, Sending),
    /// The producer ends its send lease, or does what a variant does instead.
    GivesUpSending(u8, bool),
    /// The producer confirms a repeated send.
    Confirms(u8),
    /// The producer dies.
    ProducerDies(u8, Request),
    /// The operators' function looks at a dead letter.
    LooksAt(u8),
    /// It makes the job's message from the record.
    Rebuilds,
    /// It puts the record back.
    Resets(Reset, Heard),
    /// It sends the copy.
    SendsCopy(Heard),
    /// It finds no room for a copy in this scope.
    FindsNoRoom,
    /// It deletes the message.
    Deletes(u8),
    /// It dies.
    OperatorDies,
    /// SQS's own redrive.
    NativeRedrive(u8, bool),
    /// An operator resolves a doubt.
    Resolves(bool),
    /// Somebody takes the job back.
    Cancels,
}

/// What a claim was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// The job is the worker's.
    Started,
    /// The job was the worker's already.
    WasStarted,
    /// It was decided otherwise.
    Refused,
    /// A decision about the stored record is needed.
    Undecided,
    /// The record changed in between.
    Changed,
    /// Dead from now on.
    Died,
    /// In doubt from now on.
    Doubted,
}

/// Whether an answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It did.
    Yes,
    /// The write was made, its answer was lost.
    Lost,
}

/// What a provider does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Does it, and says so.
    Does,
    /// Does it, and the answer is lost.
    DoesUnheard,
    /// Does not do it, and nobody knows.
    FailsUnheard,
    /// Refuses.
    Refuses(End),
}

/// What a settlement was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It is written.
    Written,
    /// It was written before.
    WasWritten,
    /// The lease is somebody else's.
    Refused,
}

/// What a request finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// Nothing: the record is new.
    New,
    /// The job is accepted, and its sending may be taken over.
    Open,
    /// The job is known to be in the queue, or further.
    Known,
}

/// What becomes of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// It is confirmed.
    Confirmed,
    /// The message is in the queue, the answer is lost.
    Unclear,
    /// It failed.
    Failed,
}

/// What a reset was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// The record is ready.
    Done,
    /// It was waiting already.
    Waiting,
    /// The job is over.
    Over,
    /// It stays as it is.
    Refused,
    /// The record changed in between.
    Changed,
}
