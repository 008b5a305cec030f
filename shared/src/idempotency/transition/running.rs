//! What the owner of a running job's lease may do to it, and how its run ends. Whoever is not the owner changes nothing.

use std::time::Duration;

use serde_json::Value;

use super::super::event::{Certainty, EffectPolicy, Ending, Failing, Verdict};
use super::super::record::{JobRecord, LastError, Status};
use super::{Transition, die, doubt, ended, reason};
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
        Certainty::NotDone => false,
        Certainty::Unstated => record.effect_begun,
        Certainty::MayBeDone => true,
    };
    if failing.effect == EffectPolicy::Hold && unknown {
        return doubt(record, failing.error.clone());
    }
    // A claim notes the first try in advance; where nothing happened, a note of this very claim is taken back.
    let nothing_happened = failing.certainty == Certainty::NotDone && failing.first_effect_noted_by_claim;
    let record = &JobRecord { first_effect_at: record.first_effect_at.filter(|_| !nothing_happened), ..record.clone() };
    let used_up = record.attempts >= failing.max_attempts;
    let may_be_done = failing.certainty == Certainty::MayBeDone;
    match failing.ending {
        Ending::Die if may_be_done => doubt(record, failing.error.clone()),
        Ending::Die => die(record, failing.error.clone(), now),
        Ending::Retry(_) if used_up && may_be_done => doubt(record, failing.error.clone()),
        Ending::Retry(_) if used_up => die(record, failing.error.clone(), now),
        Ending::Retry(at) => wait(record, failing, at, record.attempts),
        Ending::Defer(at) => wait(record, failing, at, record.attempts.saturating_sub(1)),
        Ending::Continue { at, max_parts } => go_on(record, failing, at, max_parts, now),
    }
}

fn wait(record: &JobRecord, failing: &Failing, at: EpochMillis, attempts: u32) -> Transition {
    let next = JobRecord {
        status: Status::RetryScheduled,
        attempts,
        lease_until: None,
        effect_begun: false,
        last_error: Some(failing.error.clone()),
        retry_at: Some(at),
        ..record.clone()
    };
    Transition::write(next, Verdict::Done(Status::RetryScheduled))
}

/// A long job has done a part. That is no failure, so it leaves no reason.
fn go_on(record: &JobRecord, failing: &Failing, at: EpochMillis, max_parts: u32, now: EpochMillis) -> Transition {
    let counted = JobRecord { parts: record.parts.saturating_add(1), ..record.clone() };
    match failing.certainty {
        Certainty::MayBeDone if counted.parts >= max_parts => doubt(&counted, LastError::parts_used_up()),
        _ if counted.parts >= max_parts => die(&counted, LastError::parts_used_up(), now),
        _ => {
            let mut waiting = wait(&counted, failing, at, record.attempts.saturating_sub(1));
            if let Some(next) = &mut waiting.next {
                next.last_error = None;
            }
            waiting
        }
    }
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
