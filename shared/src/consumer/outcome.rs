//! The outcome table: what became of a job, and what SQS is told about its message.

use std::time::Duration;

use crate::clock::EpochMillis;
use crate::idempotency::{ErrorClass, LastError};

/// What became of one job. A closed set: nothing else can come out of the pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The handler is done and the record says so.
    Succeeded,
    /// It was done before.
    Duplicate,
    /// Its caller took it back.
    Cancelled,
    /// There is nothing to do, for this reason (a `snake_case` code).
    Skipped(&'static str),
    /// Failed; comes back after this time.
    Retried(Duration, LastError),
    /// The same, but it was a target of this job alone that failed: no sign that others would fail too.
    RetriedForTarget(Duration, LastError),
    /// A part of a long job is done; the next one starts at once.
    Continued,
    /// Came too early for its provider; comes back after this time with its attempt given back.
    Deferred(Duration, LastError),
    /// The circuit to the provider is open; the job was not touched.
    CircuitOpen(Duration),
    /// Another worker holds its lease, or its time has not come.
    Waits(Duration),
    /// Waits for a consumer that knows its schema version.
    SchemaHeld(Duration),
    /// Given up now, for this reason.
    Died(LastError),
    /// Its effect cannot be known, found out now.
    InDoubt(LastError),
    /// Was dead or in doubt before; on its way to the DLQ.
    EndedBefore(LastError),
    /// Could not be understood, or carries another request's key; recorded under its message id.
    Poison(LastError),
    /// Not started: the deadline is near, or its group is blocked.
    NotStarted,
    /// The lease went to another worker while the handler ran; nothing was written.
    LeaseLost,
    /// The table did not answer; comes back after this time.
    Unrecorded(Duration, LastError),
}

/// What happens to the message. Moments and not delays: a job that settled early in a long batch has waited for a part of its time when the batch
/// closes, and SQS counts from then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    /// Not reported: SQS deletes it.
    Acknowledge,
    /// Reported, visible again at this moment; renewed instead where its receives run low.
    ComeBack(EpochMillis),
    /// Reported and visible at this moment: the redrive policy moves it when its receives are used up.
    ToDeadLetterQueue(EpochMillis),
    /// Reported, its visibility left alone: another worker's receipt rules. Renewed on its last receive: there is no other receipt then.
    Leave,
}

/// What has to wait behind a job in its FIFO group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// It is done.
    Nothing,
    /// It has ended and leaves for the DLQ with its message: the group's later messages, where the consumer holds the group. The other jobs of
    /// its own message leave with it, so they run before.
    MessagesWhereHeld,
    /// It comes back: whatever is behind it.
    Everything,
}

impl Disposition {
    /// What happens to a message with both of these jobs: whichever presses more. A receipt that may be another worker's is left alone whatever
    /// else there is; what comes back, comes when the first job is due; a message is deleted when all of its jobs are done.
    pub(super) fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Leave, _) | (_, Self::Leave) => Self::Leave,
            (Self::ComeBack(one), Self::ComeBack(other)) => Self::ComeBack(one.min(other)),
            (Self::ComeBack(due), _) | (_, Self::ComeBack(due)) => Self::ComeBack(due),
            (Self::ToDeadLetterQueue(one), Self::ToDeadLetterQueue(other)) => Self::ToDeadLetterQueue(one.max(other)),
            (Self::ToDeadLetterQueue(due), _) | (_, Self::ToDeadLetterQueue(due)) => Self::ToDeadLetterQueue(due),
            (Self::Acknowledge, Self::Acknowledge) => Self::Acknowledge,
        }
    }
}

impl Outcome {
    /// The whole table, for an outcome that was decided at the moment `at`. Fails closed: only what is known to be done is acknowledged.
    pub(super) fn disposition(&self, at: EpochMillis) -> Disposition {
        match self {
            Self::Succeeded | Self::Duplicate | Self::Cancelled | Self::Skipped(_) => Disposition::Acknowledge,
            Self::Retried(after, _)
            | Self::RetriedForTarget(after, _)
            | Self::Deferred(after, _)
            | Self::CircuitOpen(after)
            | Self::Waits(after)
            | Self::SchemaHeld(after)
            | Self::Unrecorded(after, _) => Disposition::ComeBack(at + *after),
            Self::Continued | Self::NotStarted => Disposition::ComeBack(at),
            Self::Died(_) | Self::InDoubt(_) | Self::EndedBefore(_) | Self::Poison(_) => Disposition::ToDeadLetterQueue(at),
            Self::LeaseLost => Disposition::Leave,
        }
    }

    /// Whether nothing is left to do for the job's message.
    pub(super) const fn is_done(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Duplicate | Self::Cancelled | Self::Skipped(_))
    }

    /// The name in logs.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Duplicate => "duplicate",
            Self::Cancelled => "cancelled",
            Self::Skipped(_) => "skipped",
            Self::Retried(..) | Self::RetriedForTarget(..) => "retried",
            Self::Continued => "continued",
            Self::Deferred(..) => "deferred",
            Self::CircuitOpen(_) => "circuit_open",
            Self::Waits(_) => "waits",
            Self::SchemaHeld(_) => "schema_held",
            Self::Died(_) => "dead",
            Self::InDoubt(_) => "in_doubt",
            Self::EndedBefore(_) => "ended_before",
            Self::Poison(_) => "poison",
            Self::NotStarted => "not_started",
            Self::LeaseLost => "lease_lost",
            Self::Unrecorded(..) => "unrecorded",
        }
    }

    /// Why, where something went wrong.
    #[must_use]
    pub const fn error(&self) -> Option<&LastError> {
        match self {
            Self::Retried(_, error)
            | Self::RetriedForTarget(_, error)
            | Self::Deferred(_, error)
            | Self::Died(error)
            | Self::InDoubt(error)
            | Self::EndedBefore(error)
            | Self::Poison(error)
            | Self::Unrecorded(_, error) => Some(error),
            _ => None,
        }
    }

    /// What the job means for the later ones of its FIFO group.
    pub(super) const fn blocks(&self) -> Blocks {
        match self {
            Self::Succeeded | Self::Duplicate | Self::Cancelled | Self::Skipped(_) => Blocks::Nothing,
            Self::Died(_) | Self::InDoubt(_) | Self::EndedBefore(_) | Self::Poison(_) => Blocks::MessagesWhereHeld,
            _ => Blocks::Everything,
        }
    }

    /// Whether the record may be in any state: nobody asked it, it did not answer, or it is another worker's.
    pub(super) const fn left_record_unread(&self) -> bool {
        matches!(self, Self::CircuitOpen(_) | Self::NotStarted | Self::LeaseLost | Self::Unrecorded(..))
    }

    /// Whether an attempt failed; nothing where there was none, or where its target alone failed: one customer's server is no sign that
    /// something is wrong here.
    pub(super) const fn attempt_failed(&self) -> Option<bool> {
        match self {
            Self::Succeeded | Self::Continued => Some(false),
            Self::Retried(..) | Self::Unrecorded(..) | Self::Died(_) | Self::InDoubt(_) | Self::Poison(_) => Some(true),
            Self::Duplicate
            | Self::Cancelled
            | Self::Skipped(_)
            | Self::RetriedForTarget(..)
            | Self::Deferred(..)
            | Self::CircuitOpen(_)
            | Self::Waits(_)
            | Self::SchemaHeld(_)
            | Self::EndedBefore(_)
            | Self::NotStarted
            | Self::LeaseLost => None,
        }
    }

    /// Whether the provider or the table failed in a way that may go away: what the circuit breaker and the batch's own error
    /// count.
    pub(super) fn is_transient_failure(&self) -> bool {
        match self {
            Self::Retried(..) | Self::Unrecorded(..) => true,
            Self::Deferred(_, error) => error.class == ErrorClass::Deferred,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dispositions() -> impl Strategy<Value = Disposition> {
        let time = || (0i64..50_000).prop_map(EpochMillis::from_i64);
        prop_oneof![
            Just(Disposition::Acknowledge),
            time().prop_map(Disposition::ComeBack),
            time().prop_map(Disposition::ToDeadLetterQueue),
            Just(Disposition::Leave),
        ]
    }

    /// How much a disposition presses; the greatest decides.
    fn urgency(disposition: Disposition) -> (u8, i64) {
        match disposition {
            Disposition::Acknowledge => (0, 0),
            Disposition::ToDeadLetterQueue(due) => (1, due.as_i64()),
            Disposition::ComeBack(due) => (2, -due.as_i64()),
            Disposition::Leave => (3, 0),
        }
    }

    proptest! {
        #[test]
        fn a_message_is_treated_as_the_most_urgent_of_its_jobs(parts in proptest::collection::vec(dispositions(), 1..8)) {
            let folded = parts.iter().copied().reduce(Disposition::with).unwrap();
            let most_urgent = parts.iter().copied().max_by_key(|part| urgency(*part)).unwrap();
            prop_assert_eq!(folded, most_urgent);
            let all_done = parts.iter().all(|part| *part == Disposition::Acknowledge);
            prop_assert_eq!(folded == Disposition::Acknowledge, all_done);
        }
    }
}
