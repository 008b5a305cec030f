//! The outcome table: what became of a record, and what SQS is told about it.

use std::time::Duration;

use crate::idempotency::{ErrorClass, LastError};

/// What became of one record. A closed set: nothing else can come out of the pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The handler is done and the record says so.
    Succeeded,
    /// It was done before.
    Duplicate,
    /// Its caller took it back.
    Cancelled,
    /// Failed; comes back after this time.
    Retried(Duration, LastError),
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

/// What happens to the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    /// Not reported: SQS deletes it.
    Acknowledge,
    /// Reported, visible again after this time; renewed instead where its receives run low.
    ComeBack(Duration),
    /// Reported and visible at once: the redrive policy moves it when its receives are used up.
    ToDeadLetterQueue,
    /// Reported, its visibility left alone: another worker's receipt rules.
    Leave,
}

impl Outcome {
    /// The whole table. Fails closed: only what is known to be done is acknowledged.
    pub(super) fn disposition(&self) -> Disposition {
        match self {
            Self::Succeeded | Self::Duplicate | Self::Cancelled => Disposition::Acknowledge,
            Self::Retried(after, _)
            | Self::Deferred(after, _)
            | Self::CircuitOpen(after)
            | Self::Waits(after)
            | Self::SchemaHeld(after)
            | Self::Unrecorded(after, _) => Disposition::ComeBack(*after),
            Self::Continued | Self::NotStarted => Disposition::ComeBack(Duration::ZERO),
            Self::Died(_) | Self::InDoubt(_) | Self::EndedBefore(_) | Self::Poison(_) => Disposition::ToDeadLetterQueue,
            Self::LeaseLost => Disposition::Leave,
        }
    }

    /// The name in logs.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Duplicate => "duplicate",
            Self::Cancelled => "cancelled",
            Self::Retried(..) => "retried",
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
            | Self::Deferred(_, error)
            | Self::Died(error)
            | Self::InDoubt(error)
            | Self::EndedBefore(error)
            | Self::Poison(error)
            | Self::Unrecorded(_, error) => Some(error),
            _ => None,
        }
    }

    /// Whether the record stops the later ones of its FIFO group. A death does so only where the consumer holds the group.
    pub(super) const fn blocks_group(&self, hold_after_death: bool) -> bool {
        match self {
            Self::Succeeded | Self::Duplicate | Self::Cancelled => false,
            Self::Died(_) | Self::InDoubt(_) | Self::EndedBefore(_) | Self::Poison(_) => hold_after_death,
            _ => true,
        }
    }

    /// Whether the record may be in any state: nobody asked it, or it did not answer.
    pub(super) const fn left_record_unread(&self) -> bool {
        matches!(self, Self::CircuitOpen(_) | Self::NotStarted | Self::Unrecorded(..))
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
