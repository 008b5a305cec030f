//! The state machine of a job, as one pure function.
//!
//! ```text
//! accepted ──claim──▶ running ──complete──▶ succeeded
//!                      │  │  └─fail(transient) | part done─▶ retry_scheduled ──claim──▶ running
//!                      │  └─fail(permanent | attempts used up | receives used up)─▶ dead ──message sent after the death──▶ running
//!                      └─effect may have happened and cannot be known─▶ in_doubt
//! accepted | retry_scheduled | dead ──cancel──▶ cancelled
//! dead | running (lease over) ──put back──▶ accepted        in_doubt ──resolve──▶ succeeded | dead
//! ```
//!
//! Stores never decide: the in-memory store calls this function, and the DynamoDB store writes either what one conditional
//! expression equal to a part of it allows (the ordinary claim), or the exact record that this function returned, guarded by what
//! it was derived from. The conformance suite holds both to the same answers.

mod operator;
mod running;

use std::time::Duration;

pub use self::operator::PUT_BACK_SEND_LEASE;
use self::operator::{put_back_by_operator, resolve};
use self::running::{begin_effect, complete, fail, renew, save_progress};
use super::event::{Claim, EffectPolicy, Event, Takeover, Verdict};
use super::record::{ErrorClass, JobRecord, LastError, Status};
use crate::clock::EpochMillis;

/// A message sent later than this after a job's death was put there by somebody, who wants the job to run again. Anything sooner
/// may be a send that raced with the death: clocks differ, and SDKs repeat sends.
pub const PUT_BACK_MARGIN: Duration = Duration::from_secs(60);

/// A delivery this much ahead of a job's time still runs: worker clocks differ, and a bounced message costs a receive.
pub const NOT_DUE_TOLERANCE: Duration = Duration::from_secs(30);

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The record to write; `None` leaves everything as it is.
    pub next: Option<Box<JobRecord>>,
    /// The answer, true once `next` is written.
    pub verdict: Verdict,
}

impl Transition {
    fn answer(verdict: Verdict) -> Self {
        Self { next: None, verdict }
    }

    fn write(next: JobRecord, verdict: Verdict) -> Self {
        Self { next: Some(Box::new(next)), verdict }
    }
}

/// Applies `event` to the record that is stored (`None`: there is none) at the moment `now` of the asking clock.
#[must_use]
pub fn transition(stored: Option<&JobRecord>, event: &Event, now: EpochMillis) -> Transition {
    let live = stored.filter(|record| !record.is_expired(now));
    let mut transition = match (event, live) {
        (Event::Claim(asked), _) => claim(live, stored, asked, now),
        (Event::HoldSchema { blank, sent_at, hold, max_generations }, record) => {
            let blank = JobRecord { generation: next_generation(stored), ..(**blank).clone() };
            hold_schema(record.unwrap_or(&blank), record.is_none(), *sent_at, *hold, *max_generations, now)
        }
        (_, None) => Transition::answer(Verdict::Missing),
        (Event::BeginEffect { token, lease_until }, Some(record)) => begin_effect(record, token, *lease_until, now),
        (Event::Renew { token, lease_until }, Some(record)) => renew(record, token, *lease_until),
        (Event::SaveProgress { token, progress }, Some(record)) => save_progress(record, token, progress),
        (Event::Complete { token, result, provider_ref, keep_for }, Some(record)) => {
            complete(record, token, result.as_ref(), provider_ref.as_ref(), *keep_for, now)
        }
        (Event::Fail(failing), Some(record)) => fail(record, failing, now),
        (Event::TakeOverSending { token, send_lease_until, min_interval }, Some(record)) => {
            take_over_sending(record, token, *send_lease_until, *min_interval, now)
        }
        (Event::EndSendLease { token }, Some(record)) => sending_ended(record, token, None),
        (Event::ConfirmSent { token }, Some(record)) => sending_ended(record, token, Some(now)),
        (Event::Cancel { keep_for }, Some(record)) => cancel(record, *keep_for, now),
        (Event::PutBack(wish), Some(record)) => put_back_by_operator(record, wish, now),
        (Event::Resolve(resolution), Some(record)) => resolve(record, resolution, now),
    };
    if let Some(next) = &mut transition.next {
        next.updated_at = now;
        if let Verdict::Started(record) = &mut transition.verdict {
            record.updated_at = now;
        }
    }
    transition
}

/// A worker asks to run the job.
fn claim(live: Option<&JobRecord>, stored: Option<&JobRecord>, asked: &Claim, now: EpochMillis) -> Transition {
    let Some(record) = live else {
        let mut blank = from_message(asked, now);
        blank.generation = next_generation(stored);
        return if asked.rules.needs_data { die(&blank, LastError::record_missing(), now) } else { start(&blank, asked, now) };
    };
    if record.payload_digest.as_ref().is_some_and(|digest| *digest != asked.payload_digest) {
        return Transition::answer(Verdict::PayloadMismatch);
    }
    match record.status {
        Status::Succeeded => Transition::answer(Verdict::AlreadySucceeded(record.result.clone())),
        Status::Cancelled => Transition::answer(Verdict::Cancelled),
        Status::InDoubt => Transition::answer(Verdict::WasInDoubt(reason(record))),
        Status::Dead if was_put_back(record, asked.sent_at, asked.rules.max_generations) => {
            runnable(&put_back(record), asked, now)
        }
        Status::Dead => Transition::answer(Verdict::WasDead(reason(record))),
        // An accepted job waits too where its caller asked for a later time.
        Status::Accepted | Status::RetryScheduled => match record.retry_at {
            Some(due) if due > now + NOT_DUE_TOLERANCE => Transition::answer(Verdict::NotDue(due)),
            _ => runnable(record, asked, now),
        },
        // My own earlier write won although its answer was lost.
        Status::Running if record.is_run_by(&asked.token) => Transition::answer(Verdict::Started(Box::new(record.clone()))),
        Status::Running if !record.lease_is_over(now) => {
            Transition::answer(Verdict::RunningElsewhere(record.lease_until.unwrap_or(now)))
        }
        Status::Running => abandoned(record, asked, now),
    }
}

/// An expired item that is still there is a former life: the counter goes on, so that nobody's stale view fits the new one.
fn next_generation(former: Option<&JobRecord>) -> u32 {
    former.map_or(0, |former| former.generation.saturating_add(1))
}

/// The lease is over and the job is not settled: its worker died.
fn abandoned(record: &JobRecord, asked: &Claim, now: EpochMillis) -> Transition {
    // Under a provider's key an effect may have begun with the claim itself.
    let may_have_begun = record.effect_begun || (asked.rules.effect.notes_first_effect() && record.first_effect_at.is_some());
    let last_error = if may_have_begun { Some(LastError::crashed_after_effect()) } else { record.last_error.clone() };
    let crashed = JobRecord { crashes: record.crashes.saturating_add(1), last_error, ..record.clone() };
    if record.effect_begun && asked.rules.effect == EffectPolicy::Hold {
        return doubt(&crashed, LastError::crashed_after_effect());
    }
    if record.attempts >= asked.rules.max_attempts {
        return give_up(&crashed, LastError::crashes_used_up(), now);
    }
    match asked.takeover {
        Takeover::Postpone => Transition::answer(Verdict::Postponed),
        Takeover::Now => runnable(&crashed, asked, now),
    }
}

/// Nothing stands against a run but the limits.
///
/// A record that was made by a message holds no private data, however often the job is put back; one that a message of a newer schema
/// version made holds no request either.
fn runnable(record: &JobRecord, asked: &Claim, now: EpochMillis) -> Transition {
    if asked.rules.needs_data && (record.payload.is_none() || record.data.is_none()) {
        return give_up(record, LastError::record_missing(), now);
    }
    match (record.first_effect_at, asked.rules.effect.window_start(now)) {
        (Some(first), Some(start)) if first < start => doubt(record, LastError::idempotency_window_over()),
        _ if record.attempts >= asked.rules.max_attempts => {
            let error = record.last_error.clone().unwrap_or_else(LastError::crashes_used_up);
            give_up(record, error, now)
        }
        _ if record.crashes > 0 && asked.takeover == Takeover::Postpone => Transition::answer(Verdict::Postponed),
        _ => start(record, asked, now),
    }
}

fn start(record: &JobRecord, asked: &Claim, now: EpochMillis) -> Transition {
    let first_effect_at =
        if asked.rules.effect.notes_first_effect() { record.first_effect_at.or(Some(now)) } else { record.first_effect_at };
    let next = JobRecord {
        status: Status::Running,
        attempts: record.attempts.saturating_add(1),
        lease_token: Some(asked.token.clone()),
        lease_until: Some(asked.lease_until),
        effect_begun: false,
        first_effect_at,
        payload: record.payload.clone().or_else(|| Some(asked.payload.clone())),
        payload_digest: record.payload_digest.clone().or_else(|| Some(asked.payload_digest.clone())),
        idempotency_key: record.idempotency_key.clone().or_else(|| Some(asked.idempotency_key.clone())),
        business_id: record.business_id.clone().or_else(|| asked.business_id.clone()),
        accept_token: None,
        send_lease_until: None,
        enqueued_at: None,
        retry_at: None,
        schema_held_since: None,
        died_at: None,
        updated_at: now,
        ..record.clone()
    };
    Transition::write(next.clone(), Verdict::Started(Box::new(next)))
}

fn from_message(asked: &Claim, now: EpochMillis) -> JobRecord {
    JobRecord {
        idempotency_key: Some(asked.idempotency_key.clone()),
        business_id: asked.business_id.clone(),
        payload: Some(asked.payload.clone()),
        payload_digest: Some(asked.payload_digest.clone()),
        ..JobRecord::new(asked.job_id.clone(), asked.job_type.clone(), asked.schema_version, &asked.caller, Status::Accepted, now)
    }
}

/// Whether a dead job's message was sent by somebody who wants it to run again.
pub(crate) fn was_put_back(record: &JobRecord, sent_at: Option<EpochMillis>, max_generations: u32) -> bool {
    let sent_after_death = match (sent_at, record.died_at) {
        (Some(sent), Some(died)) => sent > died + PUT_BACK_MARGIN,
        _ => false,
    };
    sent_after_death && record.generation < max_generations
}

fn put_back(record: &JobRecord) -> JobRecord {
    // Progress stays: what was done once need not be done again.
    JobRecord {
        generation: record.generation.saturating_add(1),
        attempts: 0,
        crashes: 0,
        parts: 0,
        effect_begun: false,
        ..record.clone()
    }
}

/// The job ends for a reason that says nothing about its effect: dead, or in doubt where a run may have had it.
fn give_up(record: &JobRecord, error: LastError, now: EpochMillis) -> Transition {
    match record.doubt() {
        Some(earlier) => doubt(record, earlier.clone()),
        None => die(record, error, now),
    }
}

fn die(record: &JobRecord, error: LastError, now: EpochMillis) -> Transition {
    let next = JobRecord {
        status: Status::Dead,
        lease_until: None,
        retry_at: None,
        accept_token: None,
        send_lease_until: None,
        enqueued_at: None,
        died_at: Some(now),
        last_error: Some(error.clone()),
        ..record.clone()
    };
    Transition::write(next, Verdict::Dead(error))
}

fn doubt(record: &JobRecord, error: LastError) -> Transition {
    let error = LastError { class: ErrorClass::Ambiguous, ..error };
    let next = JobRecord {
        status: Status::InDoubt,
        lease_until: None,
        retry_at: None,
        last_error: Some(error.clone()),
        ..record.clone()
    };
    Transition::write(next, Verdict::InDoubt(error))
}

/// A record that ended for good: what was private goes, and the item may expire.
fn ended(record: &JobRecord, status: Status, keep_for: Duration, now: EpochMillis) -> JobRecord {
    JobRecord {
        status,
        data: None,
        progress: None,
        lease_until: None,
        effect_begun: false,
        accept_token: None,
        send_lease_until: None,
        enqueued_at: None,
        retry_at: None,
        schema_held_since: None,
        expires_at: Some((now + keep_for).to_seconds_ceil()),
        ..record.clone()
    }
}

fn hold_schema(
    record: &JobRecord,
    is_new: bool,
    sent_at: Option<EpochMillis>,
    hold: Duration,
    max_generations: u32,
    now: EpochMillis,
) -> Transition {
    let held = |since: EpochMillis, base: &JobRecord| JobRecord {
        status: Status::RetryScheduled,
        schema_held_since: Some(since),
        ..base.clone()
    };
    match record.status {
        Status::Accepted | Status::RetryScheduled => match record.schema_held_since {
            Some(since) if since + hold <= now => give_up(record, LastError::schema_too_new(), now),
            Some(_) if !is_new => Transition::answer(Verdict::SchemaHeld),
            _ => Transition::write(held(now, record), Verdict::SchemaHeld),
        },
        Status::Dead if was_put_back(record, sent_at, max_generations) => {
            let again = JobRecord { died_at: None, ..put_back(record) };
            Transition::write(held(now, &again), Verdict::SchemaHeld)
        }
        Status::Dead => Transition::answer(Verdict::WasDead(reason(record))),
        Status::InDoubt => Transition::answer(Verdict::WasInDoubt(reason(record))),
        Status::Succeeded => Transition::answer(Verdict::AlreadySucceeded(record.result.clone())),
        Status::Cancelled => Transition::answer(Verdict::Cancelled),
        Status::Running => Transition::answer(Verdict::RunningElsewhere(record.lease_until.unwrap_or(now))),
    }
}

fn take_over_sending(
    record: &JobRecord,
    token: &str,
    send_lease_until: EpochMillis,
    min_interval: Duration,
    now: EpochMillis,
) -> Transition {
    if record.status != Status::Accepted {
        return Transition::answer(Verdict::KnownEnqueued);
    }
    if record.accept_token.as_deref() == Some(token) {
        // My own earlier takeover won although its answer was lost.
        return Transition::answer(Verdict::SendTakenOver);
    }
    match (record.send_lease_until, record.enqueued_at) {
        (Some(until), _) if until >= now => Transition::answer(Verdict::SendInProgress(until)),
        (_, Some(sent)) if sent + min_interval > now => Transition::answer(Verdict::KnownEnqueued),
        _ => {
            let next = JobRecord {
                accept_token: Some(token.to_owned()),
                send_lease_until: Some(send_lease_until),
                enqueued_at: None,
                ..record.clone()
            };
            Transition::write(next, Verdict::SendTakenOver)
        }
    }
}

fn sending_ended(record: &JobRecord, token: &str, confirmed_at: Option<EpochMillis>) -> Transition {
    if record.status != Status::Accepted || record.accept_token.as_deref() != Some(token) {
        return Transition::answer(Verdict::KnownEnqueued);
    }
    let next = JobRecord { send_lease_until: None, enqueued_at: confirmed_at, ..record.clone() };
    Transition::write(next, Verdict::Done(Status::Accepted))
}

fn cancel(record: &JobRecord, keep_for: Duration, now: EpochMillis) -> Transition {
    // An effect that may have happened is not hidden behind "cancelled".
    match record.status {
        Status::RetryScheduled | Status::Dead if record.doubt().is_some() => Transition::answer(Verdict::TooLate(record.status)),
        Status::Accepted | Status::RetryScheduled | Status::Dead => {
            Transition::write(ended(record, Status::Cancelled, keep_for, now), Verdict::Cancelled)
        }
        Status::Cancelled => Transition::answer(Verdict::Cancelled),
        status => Transition::answer(Verdict::TooLate(status)),
    }
}

fn reason(record: &JobRecord) -> LastError {
    record
        .last_error
        .clone()
        .unwrap_or_else(|| LastError::new(ErrorClass::Permanent, "reason_missing", "the record holds no reason"))
}
