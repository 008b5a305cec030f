//! What the owner of a running job's lease may do to it, and how its run ends. Whoever is not the owner changes nothing.

use std::time::Duration;

use serde_json::Value;

use super::super::event::{Certainty, EffectPolicy, Ending, Failing, Verdict};
use super::super::record::{ErrorClass, JobRecord, LastError, Status};
use super::{Transition, doubt, ended, give_up, reason};
use crate::clock::EpochMillis;

pub(super) fn begin_effect(record: &JobRecord, token: &str, lease_until: EpochMillis, now: EpochMillis) -> Transition {
    if !record.is_run_by(token) {
        return Transition::answer(Verdict::LeaseLost);
    }
    let next = JobRecord {
        effect_begun: true,
        first_effect_at: record.first_effect_at.or(Some(now)),
        lease_until: record.lease_until.max(Some(lease_until)),
        ..record.clone()
    };
    Transition::write(next, Verdict::Done(Status::Running))
}

pub(super) fn renew(record: &JobRecord, token: &str, lease_until: EpochMillis) -> Transition {
    if !record.is_run_by(token) {
        return Transition::answer(Verdict::LeaseLost);
    }
    let next = JobRecord { lease_until: record.lease_until.max(Some(lease_until)), ..record.clone() };
    Transition::write(next, Verdict::Done(Status::Running))
}

pub(super) fn save_progress(record: &JobRecord, token: &str, progress: &Value) -> Transition {
    if !record.is_run_by(token) {
        return Transition::answer(Verdict::LeaseLost);
    }
    Transition::write(JobRecord { progress: Some(progress.clone()), ..record.clone() }, Verdict::Done(Status::Running))
}

pub(super) fn complete(
    record: &JobRecord,
    token: &str,
    result: Option<&Value>,
    provider_ref: Option<&String>,
    keep_for: Duration,
    now: EpochMillis,
) -> Transition {
    if !record.is_run_by(token) {
        return settled_before(record, token, Status::Succeeded);
    }
    let next = JobRecord {
        result: result.cloned(),
        provider_ref: provider_ref.or(record.provider_ref.as_ref()).cloned(),
        last_error: None,
        ..ended(record, Status::Succeeded, keep_for, now)
    };
    Transition::write(next, Verdict::Done(Status::Succeeded))
}

pub(super) fn fail(record: &JobRecord, failing: &Failing, now: EpochMillis) -> Transition {
    if !record.is_run_by(&failing.token) {
        return match record.status {
            Status::RetryScheduled | Status::Dead | Status::InDoubt => settled_before(record, &failing.token, record.status),
            _ => Transition::answer(Verdict::LeaseLost),
        };
    }
    // From `begin_effect` on, only an error that the handler marks as surely-not-done settles as an ordinary failure; and a handler that
    // says "may be done" is believed, announced or not.
    let unknown = match failing.certainty {
        Certainty::NotTried | Certainty::NotDone | Certainty::NeverDone => false,
        Certainty::Unstated => record.effect_begun,
        Certainty::MayBeDone => true,
    };
    if failing.effect == EffectPolicy::Hold && unknown {
        return doubt(record, failing.error.clone());
    }
    // A claim notes the first try in advance; where nothing happened, a note of this very claim is taken back.
    let nothing_happened = failing.first_effect_noted_by_claim
        && matches!(failing.certainty, Certainty::NotTried | Certainty::NotDone | Certainty::NeverDone);
    let record = &JobRecord {
        first_effect_at: record.first_effect_at.filter(|_| !nothing_happened),
        last_error: doubt_after(record, failing),
        ..record.clone()
    };
    let used_up = record.attempts >= failing.max_attempts;
    let error = failing.error.clone();
    match failing.ending {
        Ending::Die => give_up(record, error, now),
        Ending::Retry(_) if used_up => give_up(record, error, now),
        Ending::Retry(at) => wait(record, Some(error), at, record.attempts),
        Ending::Defer(at) => wait(record, Some(error), at, record.attempts.saturating_sub(1)),
        Ending::Continue { at, max_parts } => go_on(record, at, max_parts, now),
    }
}

/// What is left unknown about the effect after a failure: what this run may have done, or an earlier one.
fn doubt_after(record: &JobRecord, failing: &Failing) -> Option<LastError> {
    if failing.certainty == Certainty::MayBeDone {
        return Some(LastError { class: ErrorClass::Ambiguous, ..failing.error.clone() });
    }
    record.doubt().filter(|_| failing.leaves_earlier_doubt()).cloned()
}

/// The job comes back. The reason of a doubt is kept before that of the last failure.
fn wait(record: &JobRecord, error: Option<LastError>, at: EpochMillis, attempts: u32) -> Transition {
    let next = JobRecord {
        status: Status::RetryScheduled,
        attempts,
        lease_until: None,
        effect_begun: false,
        last_error: record.doubt().cloned().or(error),
        retry_at: Some(at),
        ..record.clone()
    };
    Transition::write(next, Verdict::Done(Status::RetryScheduled))
}

/// A long job has done a part. That is no failure, so it leaves no reason; and attempts are counted from one part to the next.
fn go_on(record: &JobRecord, at: EpochMillis, max_parts: u32, now: EpochMillis) -> Transition {
    let counted = JobRecord { parts: record.parts.saturating_add(1), ..record.clone() };
    if counted.parts >= max_parts {
        return give_up(&counted, LastError::parts_used_up(), now);
    }
    wait(&counted, None, at, 0)
}

/// A retried settlement whose first write won without its answer.
fn settled_before(record: &JobRecord, token: &str, wanted: Status) -> Transition {
    let mine = record.lease_token.as_deref() == Some(token) && record.status == wanted;
    Transition::answer(match (mine, wanted) {
        (false, _) => Verdict::LeaseLost,
        (true, Status::Dead) => Verdict::Dead(reason(record)),
        (true, Status::InDoubt) => Verdict::InDoubt(reason(record)),
        (true, status) => Verdict::Done(status),
    })
}
