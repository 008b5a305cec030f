//! What an operator does to a job that does not go on by itself.

use super::super::event::{PutBack, Resolution, Verdict};
use super::super::record::{JobRecord, LastError, Status};
use super::{Transition, die, doubt, ended, put_back, reason};
use crate::clock::EpochMillis;

/// Makes a job ready for the message that the operator is about to send.
pub(super) fn put_back_by_operator(record: &JobRecord, wish: &PutBack, now: EpochMillis) -> Transition {
    let same_life = record.generation == wish.generation;
    match record.status {
        Status::Succeeded => Transition::answer(Verdict::AlreadySucceeded(record.result.clone())),
        Status::Cancelled => Transition::answer(Verdict::Cancelled),
        Status::InDoubt => Transition::answer(Verdict::WasInDoubt(reason(record))),
        Status::Running if !record.lease_is_over(now) => {
            Transition::answer(Verdict::RunningElsewhere(record.lease_until.unwrap_or(now)))
        }
        // Also what this very wish has left behind, when its answer was lost or the message could not be sent.
        Status::Accepted | Status::RetryScheduled if wish.payload.is_none() || wears(record, wish) => {
            Transition::answer(Verdict::Waiting(record.status))
        }
        status if !same_life => Transition::answer(Verdict::TooLate(status)),
        Status::Running if record.effect_begun => {
            doubt(&JobRecord { crashes: record.crashes.saturating_add(1), ..record.clone() }, LastError::crashed_after_effect())
        }
        Status::Dead | Status::Running if record.generation >= wish.max_generations => Transition::answer(Verdict::Quarantined),
        Status::Dead | Status::Running | Status::Accepted | Status::RetryScheduled => {
            Transition::write(ready(record, wish, now), Verdict::Done(Status::Accepted))
        }
    }
}

/// Whether the job already runs with the payload of the wish.
fn wears(record: &JobRecord, wish: &PutBack) -> bool {
    wish.payload.as_ref().is_some_and(|(_, digest)| record.payload_digest.as_ref() == Some(digest))
}

fn ready(record: &JobRecord, wish: &PutBack, now: EpochMillis) -> JobRecord {
    let next = JobRecord {
        status: Status::Accepted,
        lease_until: None,
        died_at: None,
        retry_at: None,
        schema_held_since: None,
        accept_token: None,
        send_lease_until: None,
        // A client that repeats its request meanwhile does not send the message a second time.
        enqueued_at: Some(now),
        expires_at: None,
        ..put_back(record)
    };
    match &wish.payload {
        Some((payload, digest)) => mended(next, payload.clone(), digest.clone()),
        None => next,
    }
}

/// The job with another payload. The request's fingerprint stays, so that its honest repetition is still recognised.
fn mended(record: JobRecord, payload: serde_json::Value, digest: String) -> JobRecord {
    let (original_payload, original_payload_digest) = match record.original_payload {
        Some(first) => (Some(first), record.original_payload_digest),
        None => (record.payload, record.payload_digest),
    };
    // Where a long job was is no place in another job.
    JobRecord {
        payload: Some(payload),
        payload_digest: Some(digest),
        original_payload,
        original_payload_digest,
        progress: None,
        ..record
    }
}

/// Ends a doubt.
pub(super) fn resolve(record: &JobRecord, resolution: &Resolution, now: EpochMillis) -> Transition {
    match (record.status, resolution) {
        (Status::InDoubt, Resolution::Done { provider_ref, keep_for }) => {
            let done = ended(record, Status::Succeeded, *keep_for, now);
            let provider_ref = provider_ref.clone().or_else(|| record.provider_ref.clone());
            Transition::write(JobRecord { provider_ref, ..done }, Verdict::Done(Status::Succeeded))
        }
        (Status::InDoubt, Resolution::RunAgain) => {
            let certain = JobRecord { effect_begun: false, first_effect_at: None, ..record.clone() };
            let dead = die(&certain, LastError::resolved_to_run_again(), now);
            Transition { verdict: Verdict::Done(Status::Dead), ..dead }
        }
        // The same resolution before, whose answer was lost.
        (Status::Succeeded, Resolution::Done { .. }) => Transition::answer(Verdict::AlreadySucceeded(record.result.clone())),
        (Status::Dead, Resolution::RunAgain) if *record == resolved(record) => Transition::answer(Verdict::Done(Status::Dead)),
        (status, _) => Transition::answer(Verdict::TooLate(status)),
    }
}

fn resolved(record: &JobRecord) -> JobRecord {
    JobRecord { last_error: Some(LastError::resolved_to_run_again()), ..record.clone() }
}
