//! The state machine by itself: the rules that close the traces which broke the protocol's model.

mod any_event;

use std::time::Duration;

use ikkai::clock::EpochMillis;
use ikkai::idempotency::{
    Certainty, Claim, ClaimRules, EffectPolicy, Ending, ErrorClass, Event, Failing, JobRecord, LastError, PUT_BACK_MARGIN,
    PutBack, Status, Takeover, Verdict, transition,
};
use ikkai::job::{IdempotencyKey, JobId, JobType, payload_digest};
use serde_json::json;

use crate::script::{millis, seconds};

const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);
const WINDOW: EffectPolicy = EffectPolicy::Rerun { idempotent_for: Some(Duration::from_secs(86_400)), looks_up: false };

fn job_type() -> JobType {
    JobType::parse("email.send").unwrap()
}

fn job_id() -> JobId {
    JobId::derive("caller", &job_type(), &IdempotencyKey::parse("key").unwrap())
}

fn record(status: Status) -> JobRecord {
    JobRecord {
        idempotency_key: Some("key".into()),
        payload: Some(json!({})),
        payload_digest: Some(payload_digest(&json!({}))),
        ..JobRecord::new(job_id(), job_type(), 1, "caller", status, NOW - seconds(600))
    }
}

fn running(token: &str, lease_until: EpochMillis) -> JobRecord {
    JobRecord { attempts: 1, lease_token: Some(token.into()), lease_until: Some(lease_until), ..record(Status::Running) }
}

fn claim_by(token: &str) -> Claim {
    Claim {
        job_id: job_id(),
        job_type: job_type(),
        schema_version: 1,
        caller: "direct:email".into(),
        idempotency_key: "key".into(),
        business_id: None,
        payload: json!({}),
        payload_digest: payload_digest(&json!({})),
        token: token.into(),
        lease_until: NOW + seconds(60),
        sent_at: Some(NOW - seconds(700)),
        takeover: Takeover::Now,
        rules: ClaimRules { max_attempts: 3, max_generations: 10, needs_data: false, effect: EffectPolicy::Hold },
    }
}

fn claim(claim: Claim) -> Event {
    Event::Claim(Box::new(claim))
}

fn complete(token: &str) -> Event {
    Event::Complete { token: token.into(), result: None, provider_ref: None, keep_for: seconds(60) }
}

fn fail(token: &str, ending: Ending, certainty: Certainty, effect: EffectPolicy) -> Event {
    let error = LastError::new(ErrorClass::Transient, "provider_error", "the provider failed");
    Event::Fail(Failing {
        token: token.into(),
        ending,
        certainty,
        max_attempts: 3,
        effect,
        first_effect_noted_by_claim: false,
        error,
    })
}

fn next_part(max_parts: u32) -> Ending {
    Ending::Continue { at: NOW, max_parts }
}

fn save_progress(token: &str, row: u64) -> Event {
    Event::SaveProgress { token: token.into(), progress: json!({"row": row}) }
}

fn begin_effect(token: &str) -> Event {
    Event::BeginEffect { token: token.into(), lease_until: NOW + seconds(90) }
}

fn after(stored: &JobRecord, event: &Event) -> JobRecord {
    transition(Some(stored), event, NOW).next.map_or_else(|| stored.clone(), |next| *next)
}

#[test]
fn a_claim_needs_an_attempt_that_is_left_and_ends_the_job_otherwise() {
    for (attempts, begun, status) in
        [(2, false, Status::Running), (3, false, Status::Dead), (2, true, Status::InDoubt), (3, true, Status::InDoubt)]
    {
        let stored = JobRecord { attempts, effect_begun: begun, ..running("dead worker", NOW - millis(1)) };
        let next = after(&stored, &claim(claim_by("mine")));
        assert_eq!((next.status, next.crashes), (status, 1), "{attempts} attempts, begun {begun}");
    }
    let waiting = JobRecord { attempts: 3, ..record(Status::RetryScheduled) };
    assert_eq!(after(&waiting, &claim(claim_by("mine"))).status, Status::Dead);
}

#[test]
fn a_lease_is_over_only_after_its_last_millisecond() {
    for (until, taken) in [(NOW - millis(1), true), (NOW, false), (NOW + millis(1), false)] {
        let stored = running("other", until);
        assert_eq!(after(&stored, &claim(claim_by("mine"))) != stored, taken, "{until}");
    }
}

#[test]
fn my_own_claim_counts_only_while_it_runs() {
    let mine = running("mine", NOW + seconds(60));
    let repeated = transition(Some(&mine), &claim(claim_by("mine")), NOW);
    assert_eq!((repeated.next, repeated.verdict), (None, Verdict::Started(Box::new(mine))));
    for status in [Status::Succeeded, Status::Dead, Status::InDoubt, Status::Cancelled] {
        let settled = JobRecord { lease_token: Some("mine".into()), ..record(status) };
        let asked = transition(Some(&settled), &claim(claim_by("mine")), NOW);
        assert!(asked.next.is_none() && !matches!(asked.verdict, Verdict::Started(_)), "{status}: {:?}", asked.verdict);
    }
}

#[test]
fn from_the_announcement_on_only_done_and_surely_not_done_settle_normally() {
    let begun = after(&running("mine", NOW + seconds(60)), &begin_effect("mine"));
    assert_eq!((begun.effect_begun, begun.first_effect_at), (true, Some(NOW)));
    assert_eq!(after(&begun, &complete("mine")).status, Status::Succeeded);
    for ending in [Ending::Retry(NOW), Ending::Defer(NOW), next_part(9), Ending::Die] {
        for certainty in [Certainty::Unstated, Certainty::MayBeDone] {
            assert_eq!(after(&begun, &fail("mine", ending, certainty, EffectPolicy::Hold)).status, Status::InDoubt, "{ending:?}");
        }
        let sure = after(&begun, &fail("mine", ending, Certainty::NotDone, EffectPolicy::Hold));
        assert_ne!(sure.status, Status::InDoubt, "{ending:?}");
        assert!(sure.status == Status::Dead || !sure.effect_begun);
    }
}

#[test]
fn an_announcement_makes_the_lease_long_enough_and_never_shorter() {
    assert_eq!(after(&running("mine", NOW + seconds(10)), &begin_effect("mine")).lease_until, Some(NOW + seconds(90)));
    assert_eq!(after(&running("mine", NOW + seconds(600)), &begin_effect("mine")).lease_until, Some(NOW + seconds(600)));
    let renew = Event::Renew { token: "mine".into(), lease_until: NOW + seconds(90) };
    assert_eq!(after(&running("mine", NOW + seconds(600)), &renew).lease_until, Some(NOW + seconds(600)));
}

#[test]
fn a_settlement_that_finds_its_own_token_and_status_has_succeeded() {
    for (event, status) in [
        (complete("mine"), Status::Succeeded),
        (fail("mine", Ending::Retry(NOW + seconds(9)), Certainty::Unstated, EffectPolicy::Hold), Status::RetryScheduled),
        (fail("mine", next_part(9), Certainty::Unstated, EffectPolicy::Hold), Status::RetryScheduled),
        (fail("mine", next_part(1), Certainty::Unstated, EffectPolicy::Hold), Status::Dead),
        (fail("mine", Ending::Die, Certainty::Unstated, EffectPolicy::Hold), Status::Dead),
        (fail("mine", Ending::Die, Certainty::MayBeDone, EffectPolicy::RERUN), Status::InDoubt),
    ] {
        let first = transition(Some(&running("mine", NOW + seconds(60))), &event, NOW);
        let settled = *first.next.expect("a change");
        assert_eq!(settled.status, status);
        assert_eq!(settled.lease_token.as_deref(), Some("mine"), "the token stays");
        let again = transition(Some(&settled), &event, NOW + seconds(1));
        assert_eq!((again.next, again.verdict), (None, first.verdict));
        let foreign = JobRecord { lease_token: Some("other".into()), ..settled };
        assert_eq!(transition(Some(&foreign), &event, NOW).verdict, Verdict::LeaseLost);
    }
}

#[test]
fn a_settlement_that_finds_another_end_than_its_own_has_lost() {
    let retried = JobRecord { lease_token: Some("mine".into()), ..record(Status::RetryScheduled) };
    assert_eq!(transition(Some(&retried), &complete("mine"), NOW).verdict, Verdict::LeaseLost);
}

#[test]
fn a_send_whose_outcome_is_unclear_keeps_the_record_and_only_its_owner_may_end_it() {
    let sending =
        JobRecord { accept_token: Some("post-1".into()), send_lease_until: Some(NOW + seconds(5)), ..record(Status::Accepted) };
    let ended = after(&sending, &Event::EndSendLease { token: "post-1".into() });
    assert_eq!((ended.status, ended.send_lease_until), (Status::Accepted, None));
    assert_eq!(after(&sending, &Event::EndSendLease { token: "post-2".into() }), sending);
    let take_over = |token: &str| Event::TakeOverSending {
        token: token.into(),
        send_lease_until: NOW + seconds(5),
        min_interval: seconds(60),
    };
    assert_eq!(transition(Some(&sending), &take_over("post-2"), NOW).verdict, Verdict::SendInProgress(NOW + seconds(5)));
    let taken = after(&ended, &take_over("post-2"));
    assert_eq!(taken.accept_token.as_deref(), Some("post-2"));
    assert_eq!(after(&taken, &Event::ConfirmSent { token: "post-1".into() }), taken, "the first one is out of the game");
    let confirmed = after(&taken, &Event::ConfirmSent { token: "post-2".into() });
    assert_eq!(transition(Some(&confirmed), &take_over("post-3"), NOW + seconds(59)).verdict, Verdict::KnownEnqueued);
    assert_eq!(transition(Some(&confirmed), &take_over("post-3"), NOW + seconds(60)).verdict, Verdict::SendTakenOver);
}

#[test]
fn only_a_message_sent_well_after_the_death_puts_a_dead_job_back_and_the_generation_counts_it() {
    let dead = JobRecord { attempts: 3, crashes: 2, died_at: Some(NOW - seconds(500)), generation: 4, ..record(Status::Dead) };
    for (sent_at, runs) in [
        (None, false),
        (Some(NOW - seconds(600)), false),
        (Some(NOW - seconds(500)), false),
        (Some(NOW - seconds(500) + PUT_BACK_MARGIN), false),
        (Some(NOW - seconds(500) + PUT_BACK_MARGIN + millis(1)), true),
    ] {
        let next = after(&dead, &claim(Claim { sent_at, ..claim_by("mine") }));
        if runs {
            assert_eq!((next.status, next.generation, next.attempts, next.crashes), (Status::Running, 5, 1, 0));
            assert_eq!(next.died_at, None);
        } else {
            assert_eq!(next, dead, "{sent_at:?}");
        }
    }
    let worn_out = JobRecord { generation: 10, ..dead.clone() };
    assert_eq!(after(&worn_out, &claim(Claim { sent_at: Some(NOW), ..claim_by("mine") })), worn_out);
    let doubt = JobRecord { status: Status::InDoubt, ..dead };
    assert_eq!(after(&doubt, &claim(Claim { sent_at: Some(NOW), ..claim_by("mine") })), doubt);
}

#[test]
fn an_effect_tried_before_the_providers_window_is_not_repeated() {
    let rules = ClaimRules { effect: WINDOW, ..claim_by("mine").rules };
    for (first, status) in [(NOW - seconds(86_400), Status::Running), (NOW - seconds(86_401), Status::InDoubt)] {
        for stored in [
            JobRecord { first_effect_at: Some(first), ..record(Status::RetryScheduled) },
            JobRecord { first_effect_at: Some(first), ..running("dead worker", NOW - seconds(1)) },
            JobRecord { first_effect_at: Some(first), died_at: Some(NOW - seconds(500)), ..record(Status::Dead) },
        ] {
            let asked = Claim { rules, sent_at: Some(NOW), ..claim_by("mine") };
            assert_eq!(after(&stored, &claim(asked)).status, status, "from {}", stored.status);
        }
    }
}

#[test]
fn a_part_that_is_done_counts_for_itself_and_attempts_begin_anew() {
    let earlier = Some(LastError::new(ErrorClass::Transient, "provider_error", "the provider failed"));
    let stored = JobRecord { attempts: 2, parts: 7, last_error: earlier, ..running("mine", NOW + seconds(60)) };
    let saved = after(&stored, &save_progress("mine", 8));
    let next = after(&saved, &fail("mine", next_part(9), Certainty::Unstated, EffectPolicy::RERUN));
    assert_eq!((next.status, next.attempts, next.parts), (Status::RetryScheduled, 0, 8));
    assert_eq!((next.progress, next.last_error, next.retry_at), (Some(json!({"row": 8})), None, Some(NOW)));
}

#[test]
fn a_job_that_has_had_its_parts_is_dead_and_a_put_back_goes_on_with_new_ones() {
    let stored = JobRecord { parts: 8, progress: Some(json!({"row": 8})), ..running("mine", NOW + seconds(60)) };
    let dead = after(&stored, &fail("mine", next_part(9), Certainty::Unstated, EffectPolicy::RERUN));
    assert_eq!((dead.status, dead.parts, &dead.progress), (Status::Dead, 9, &Some(json!({"row": 8}))));
    assert_eq!(dead.last_error, Some(LastError::parts_used_up()));

    let dead = JobRecord { died_at: Some(NOW - seconds(500)), ..dead };
    let again = after(&dead, &claim(Claim { sent_at: Some(NOW), ..claim_by("other") }));
    assert_eq!((again.status, again.parts, again.progress), (Status::Running, 0, Some(json!({"row": 8}))));
}

#[test]
fn a_worker_that_died_leaves_its_progress_to_the_next_one() {
    let crashed = JobRecord { progress: Some(json!({"row": 8})), ..running("dead worker", NOW - seconds(1)) };
    let taken = after(&crashed, &claim(claim_by("mine")));
    assert_eq!((taken.attempts, taken.crashes, taken.progress), (2, 1, Some(json!({"row": 8}))));
}

#[test]
fn only_records_that_ended_well_expire() {
    for event in [
        fail("mine", Ending::Die, Certainty::Unstated, EffectPolicy::Hold),
        fail("mine", Ending::Retry(NOW), Certainty::Unstated, EffectPolicy::Hold),
        fail("mine", Ending::Die, Certainty::MayBeDone, EffectPolicy::Hold),
    ] {
        assert_eq!(after(&running("mine", NOW), &event).expires_at, None);
    }
    let done = after(&running("mine", NOW), &complete("mine"));
    assert_eq!(done.expires_at, Some((NOW + seconds(60)).to_seconds_ceil()));
}

#[test]
fn what_was_private_goes_when_the_job_is_done() {
    let progress = Some(json!({"row": 8}));
    let stored = JobRecord { data: Some(json!({"note": "private"})), progress, ..running("mine", NOW) };
    let done = after(&stored, &complete("mine"));
    assert_eq!((done.data, done.progress), (None, None));
    assert!(
        after(&stored, &fail("mine", Ending::Die, Certainty::Unstated, EffectPolicy::Hold)).data.is_some(),
        "a redrive needs it"
    );
}

#[test]
fn a_job_that_needs_private_data_dies_without_its_record() {
    let rules = ClaimRules { needs_data: true, ..claim_by("mine").rules };
    let asked = transition(None, &claim(Claim { rules, ..claim_by("mine") }), NOW);
    assert_eq!(asked.verdict, Verdict::Dead(LastError::record_missing()));
    assert_eq!(asked.next.expect("a record").status, Status::Dead);
}

#[test]
fn a_job_that_died_for_want_of_its_data_dies_of_it_again_whoever_puts_it_back() {
    let rules = ClaimRules { needs_data: true, ..claim_by("mine").rules };
    let asked = Claim { rules, ..claim_by("mine") };
    let dead = *transition(None, &claim(asked.clone()), NOW - seconds(600)).next.expect("a record");
    let wish = PutBack { generation: 0, max_generations: 10, payload: None };
    let by_operator = *transition(Some(&dead), &Event::PutBack(wish), NOW).next.expect("a put-back");
    assert_eq!(by_operator.status, Status::Accepted);
    let native = Claim { sent_at: Some(NOW), ..asked.clone() };
    for (stored, asked) in [(by_operator, asked), (dead, native)] {
        let again = transition(Some(&stored), &claim(asked.clone()), NOW);
        assert_eq!(again.verdict, Verdict::Dead(LastError::record_missing()));
        let next = *again.next.expect("a record");
        assert_eq!((next.status, next.generation, next.attempts, next.died_at), (Status::Dead, 1, 0, Some(NOW)));
        let with_data = JobRecord { data: Some(json!({"amount": "1.00"})), ..stored };
        assert!(matches!(transition(Some(&with_data), &claim(asked), NOW).verdict, Verdict::Started(_)));
    }
}

#[test]
fn a_crash_on_the_last_attempt_under_a_providers_key_leaves_the_job_in_doubt() {
    let mut asked = claim_by("mine");
    asked.rules.effect = WINDOW;
    for (first_effect_at, status) in [(Some(NOW - seconds(60)), Status::InDoubt), (None, Status::Dead)] {
        let crashed = JobRecord { attempts: 3, first_effect_at, ..running("former", NOW - seconds(1)) };
        let next = transition(Some(&crashed), &claim(asked.clone()), NOW).next.expect("a verdict is written");
        assert_eq!((next.status, next.crashes), (status, 1));
    }
}

#[test]
fn a_window_that_is_over_is_asked_before_the_limit_of_attempts() {
    let mut asked = claim_by("mine");
    asked.rules.effect = WINDOW;
    let waiting = JobRecord { attempts: 3, first_effect_at: Some(NOW - seconds(90_000)), ..record(Status::RetryScheduled) };
    let next = transition(Some(&waiting), &claim(asked), NOW).next.expect("a verdict is written");
    assert_eq!(next.status, Status::InDoubt);
}

#[test]
fn a_cancellation_never_hides_an_effect_that_may_have_happened() {
    let cancel = Event::Cancel { keep_for: seconds(60) };
    for status in [Status::RetryScheduled, Status::Dead] {
        for (class, verdict) in [(ErrorClass::Transient, Verdict::Cancelled), (ErrorClass::Ambiguous, Verdict::TooLate(status))] {
            let failed = JobRecord { last_error: Some(LastError::new(class, "provider_error", "failed")), ..record(status) };
            assert_eq!(transition(Some(&failed), &cancel, NOW).verdict, verdict, "{status} after {class:?}");
        }
    }
}

#[test]
fn a_new_life_after_an_expired_record_has_a_generation_of_its_own() {
    let former =
        JobRecord { generation: 4, expires_at: Some((NOW - seconds(60)).to_seconds_floor()), ..record(Status::Succeeded) };
    let hold =
        Event::HoldSchema { blank: Box::new(record(Status::Accepted)), sent_at: None, hold: seconds(60), max_generations: 10 };
    for event in [claim(claim_by("mine")), hold] {
        assert_eq!(transition(Some(&former), &event, NOW).next.expect("a record").generation, 5);
    }
}
