//! What an operator does to a job that does not go on by itself.

use std::time::Duration;

use serde_json::Value;

use super::super::event::{Outcome, PutBack, Resolution, Verdict};
use super::super::record::{JobRecord, LastError, Status};
use super::{Transition, die, doubt, ended, give_up, put_back, reason};
use crate::clock::EpochMillis;

/// A job remembers so many payloads that patches gave it; messages with older ones are other content.
const MOST_PATCHED_DIGESTS: usize = 20;

/// So long after a put-back an operator's tool may be sending the job's message. Putting ten records back and sending their messages takes a
/// second, and some tens of seconds where services have to be asked again.
pub const PUT_BACK_SEND_LEASE: Duration = Duration::from_secs(30);

/// A put-back of a waiting job is noted once within this time. Shorter than any message takes into a dead-letter queue.
const NOTED_ONCE_WITHIN: Duration = Duration::from_secs(5);

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
        Status::Accepted | Status::RetryScheduled if wish.payload.is_none() || wears(record, wish) => noted(record, now),
        status if !same_life => Transition::answer(Verdict::TooLate(status)),
        Status::Running if record.effect_begun => doubt(&crashed(record), LastError::crashed_after_effect()),
        Status::Running if record.generation >= wish.max_generations => abandoned(record, now),
        Status::Dead if record.generation >= wish.max_generations => Transition::answer(Verdict::Quarantined),
        Status::Running => again(&crashed(record), wish, now),
        Status::Dead | Status::Accepted | Status::RetryScheduled => again(record, wish, now),
    }
}

/// A job that waits needs nothing but its message; that one is about to be sent is noted all the same:
///
/// ```text
/// an operator puts the message M of a waiting job back: its copy N is sent, M cannot be deleted
/// N fails for a while, and waits for a later time
/// another operator discards what is left in the dead-letter queue: M. The job waits for N, and must not be cancelled with M
/// ```
///
/// M was sent before the put-back, and N after it. Nothing is written twice within moments: a wish is repeated when its answer was lost, and
/// several operators may have it.
fn noted(record: &JobRecord, now: EpochMillis) -> Transition {
    let verdict = Verdict::Waiting(record.status);
    if record.put_back_at.is_some_and(|at| at + NOTED_ONCE_WITHIN > now) {
        return Transition::answer(verdict);
    }
    Transition::write(JobRecord { put_back_at: Some(now), ..record.clone() }, verdict)
}

/// The lease is over and the job is not settled: its worker died. An effect that was ever tried may have been tried by that worker too, under a
/// provider's key without a word; an operator does not know the consumer's policy, so the doubt is kept.
fn crashed(record: &JobRecord) -> JobRecord {
    let tried = || record.first_effect_at.map(|_| LastError::crashed_after_effect());
    let last_error = record.doubt().cloned().or_else(tried).or_else(|| record.last_error.clone());
    JobRecord { crashes: record.crashes.saturating_add(1), last_error, ..record.clone() }
}

/// Nobody settles the job any more: its worker died, its message is in the dead-letter queue or gone, and it was put back as often as it may be.
/// Left running it would be kept for ever, and neither be resolved, cancelled nor discarded. So it ends as a claim at its limits ends it.
fn abandoned(record: &JobRecord, now: EpochMillis) -> Transition {
    let end = give_up(&crashed(record), LastError::abandoned(), now);
    match end.verdict {
        Verdict::Dead(_) => Transition { verdict: Verdict::Quarantined, ..end },
        _ => end,
    }
}

/// Another payload must not run over what the present one may have done.
fn again(record: &JobRecord, wish: &PutBack, now: EpochMillis) -> Transition {
    match (record.doubt(), &wish.payload) {
        (Some(earlier), Some(_)) if record.status == Status::Running => doubt(record, earlier.clone()),
        (Some(earlier), Some(_)) => Transition::answer(Verdict::WasInDoubt(earlier.clone())),
        _ => Transition::write(ready(record, wish, now), Verdict::Done(Status::Accepted)),
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
        // As with a first request: the message is about to be sent, nobody knows whether it was, and the confirmation is not written. A client
        // that repeats its request meanwhile is told to wait, and afterwards sends the message itself: a second one does no harm, none does.
        send_lease_until: Some(now + PUT_BACK_SEND_LEASE),
        enqueued_at: None,
        put_back_at: Some(now),
        expires_at: None,
        ..put_back(record)
    };
    match &wish.payload {
        Some((payload, digest)) => mended(next, payload.clone(), digest.clone()),
        None => next,
    }
}

/// The job with another payload. The request's fingerprint stays, so that its honest repetition is still recognised; and the digests of the
/// payloads it had stay, so that a message with one of them is known to be this job's.
fn mended(record: JobRecord, payload: Value, digest: String) -> JobRecord {
    if record.payload_digest.as_ref() == Some(&digest) {
        return record;
    }
    let is_first = record.original_payload_digest.is_none();
    let (original_payload, original_payload_digest) = match is_first {
        true => (record.payload.clone(), record.payload_digest.clone()),
        false => (record.original_payload.clone(), record.original_payload_digest.clone()),
    };
    let mut patched_payload_digests = record.patched_payload_digests.clone();
    patched_payload_digests.extend(record.payload_digest.clone().filter(|_| !is_first));
    let forgotten = patched_payload_digests.len().saturating_sub(MOST_PATCHED_DIGESTS);
    patched_payload_digests.drain(..forgotten);
    // Where a long job was is no place in another job.
    JobRecord {
        payload: Some(payload),
        payload_digest: Some(digest),
        original_payload,
        original_payload_digest,
        patched_payload_digests,
        progress: None,
        ..record
    }
}

/// Ends a doubt, if it is the one that was looked at:
///
/// ```text
/// an operator looks at the doubt of generation 0, and is called away
/// another one resolves it to run again, and puts the job back: generation 1
/// the job's second run ends in doubt too
/// the first operator says "done", of an effect of generation 0, or "run again", not knowing of a second one
/// ```
pub(super) fn resolve(record: &JobRecord, resolution: &Resolution, now: EpochMillis) -> Transition {
    if record.generation != resolution.generation {
        return Transition::answer(Verdict::OtherGeneration(record.generation));
    }
    match (record.status, &resolution.outcome) {
        (Status::InDoubt, Outcome::Done { provider_ref, keep_for }) => {
            let done = ended(record, Status::Succeeded, *keep_for, now);
            let provider_ref = provider_ref.clone().or_else(|| record.provider_ref.clone());
            Transition::write(JobRecord { provider_ref, last_error: None, ..done }, Verdict::Done(Status::Succeeded))
        }
        (Status::InDoubt, Outcome::RunAgain) => {
            let certain = JobRecord { effect_begun: false, first_effect_at: None, ..record.clone() };
            let dead = die(&certain, LastError::resolved_to_run_again(), now);
            Transition { verdict: Verdict::Done(Status::Dead), ..dead }
        }
        // The same resolution before, whose answer was lost.
        (Status::Succeeded, Outcome::Done { .. }) => Transition::answer(Verdict::AlreadySucceeded(record.result.clone())),
        (Status::Dead, Outcome::RunAgain) if record.last_error == Some(LastError::resolved_to_run_again()) => {
            Transition::answer(Verdict::Done(Status::Dead))
        }
        (status, _) => Transition::answer(Verdict::TooLate(status)),
    }
}
