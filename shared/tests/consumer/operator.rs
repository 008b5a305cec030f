//! What an operator does to a job, in the state machine and in its consumer: put it back, with another payload too, and end its doubt.

use ikkai::clock::EpochMillis;
use ikkai::idempotency::{
    Claim, ClaimRules, EffectPolicy, ErrorClass, Event, JobRecord, LastError, Outcome, PUT_BACK_SEND_LEASE, PutBack, Resolution,
    Status, Takeover, Verdict, transition,
};
use ikkai::job::{IdempotencyKey, JobId, JobType, payload_digest};
use serde_json::{Value, json};

use crate::script::{millis, seconds};

const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);
const WINDOW: EffectPolicy =
    EffectPolicy::Rerun { idempotent_for: Some(std::time::Duration::from_secs(86_400)), looks_up: false };

fn asked_for() -> Value {
    json!({"user": "first"})
}

fn record(status: Status) -> JobRecord {
    let job_type = JobType::parse("email.send").unwrap();
    let key = IdempotencyKey::parse("key").unwrap();
    JobRecord {
        idempotency_key: Some("key".into()),
        payload: Some(asked_for()),
        payload_digest: Some(payload_digest(&asked_for())),
        generation: 2,
        ..JobRecord::new(JobId::derive("caller", &job_type, &key), job_type, 1, "caller", status, NOW - seconds(600))
    }
}

fn dead() -> JobRecord {
    JobRecord {
        attempts: 3,
        crashes: 1,
        parts: 4,
        progress: Some(json!({"row": 7})),
        lease_token: Some("former".into()),
        died_at: Some(NOW - seconds(300)),
        last_error: Some(LastError::new(ErrorClass::Permanent, "user_unknown", "there is no such user")),
        ..record(Status::Dead)
    }
}

fn in_doubt() -> JobRecord {
    JobRecord {
        effect_begun: true,
        first_effect_at: Some(NOW - seconds(100_000)),
        last_error: Some(LastError::crashed_after_effect()),
        ..record(Status::InDoubt)
    }
}

/// A worker died of it.
fn abandoned() -> JobRecord {
    JobRecord {
        attempts: 1,
        lease_token: Some("dead worker".into()),
        lease_until: Some(NOW - millis(1)),
        ..record(Status::Running)
    }
}

fn wish() -> PutBack {
    PutBack { generation: 2, max_generations: 10, payload: None }
}

fn patch(payload: Value) -> Event {
    let digest = payload_digest(&payload);
    Event::PutBack(PutBack { payload: Some((payload, digest)), ..wish() })
}

fn ask(stored: &JobRecord, event: &Event) -> (Option<JobRecord>, Verdict) {
    let answer = transition(Some(stored), event, NOW);
    (answer.next.map(|next| *next), answer.verdict)
}

fn put_back(stored: &JobRecord) -> (Option<JobRecord>, Verdict) {
    ask(stored, &Event::PutBack(wish()))
}

fn written(stored: &JobRecord, event: &Event) -> JobRecord {
    let (next, verdict) = ask(stored, event);
    next.unwrap_or_else(|| panic!("nothing is written, but {verdict:?} answered"))
}

fn claim(stored: &JobRecord, payload: &Value, effect: EffectPolicy) -> (Option<JobRecord>, Verdict) {
    let claim = Claim {
        job_id: stored.job_id.clone(),
        job_type: stored.job_type.clone(),
        schema_version: 1,
        caller: "direct:email".into(),
        idempotency_key: "key".into(),
        business_id: None,
        payload: payload.clone(),
        payload_digest: payload_digest(payload),
        token: "mine".into(),
        lease_until: NOW + seconds(60),
        sent_at: Some(NOW),
        takeover: Takeover::Now,
        rules: ClaimRules { max_attempts: 3, max_generations: 10, needs_data: false, effect },
    };
    ask(stored, &Event::Claim(Box::new(claim)))
}

fn resolve(stored: &JobRecord, outcome: Outcome) -> (Option<JobRecord>, Verdict) {
    ask(stored, &Event::Resolve(Resolution { generation: 2, outcome }))
}

fn done(provider_ref: Option<&str>) -> Outcome {
    Outcome::Done { provider_ref: provider_ref.map(str::to_owned), keep_for: seconds(3_600) }
}

// -- put back ------------------------------------------------------------------------------------------------------------------

#[test]
fn every_status_has_its_answer() {
    let live = JobRecord { lease_until: Some(NOW), ..abandoned() };
    let begun = JobRecord { effect_begun: true, ..abandoned() };
    let worn = |record: JobRecord| JobRecord { generation: 10, ..record };
    let at_10 = Event::PutBack(PutBack { generation: 10, ..wish() });
    let doubt = LastError::crashed_after_effect();
    for (stored, event, verdict, status) in [
        (record(Status::Accepted), Event::PutBack(wish()), Verdict::Waiting(Status::Accepted), Some(Status::Accepted)),
        (
            record(Status::RetryScheduled),
            Event::PutBack(wish()),
            Verdict::Waiting(Status::RetryScheduled),
            Some(Status::RetryScheduled),
        ),
        (record(Status::Succeeded), Event::PutBack(wish()), Verdict::AlreadySucceeded(None), None),
        (record(Status::Cancelled), Event::PutBack(wish()), Verdict::Cancelled, None),
        (in_doubt(), Event::PutBack(wish()), Verdict::WasInDoubt(doubt.clone()), None),
        (live, Event::PutBack(wish()), Verdict::RunningElsewhere(NOW), None),
        (begun.clone(), Event::PutBack(wish()), Verdict::InDoubt(doubt.clone()), Some(Status::InDoubt)),
        (worn(begun), at_10.clone(), Verdict::InDoubt(doubt), Some(Status::InDoubt)),
        (abandoned(), Event::PutBack(wish()), Verdict::Done(Status::Accepted), Some(Status::Accepted)),
        (worn(abandoned()), at_10.clone(), Verdict::Quarantined, Some(Status::Dead)),
        (dead(), Event::PutBack(wish()), Verdict::Done(Status::Accepted), Some(Status::Accepted)),
        (worn(dead()), at_10, Verdict::Quarantined, None),
    ] {
        let (next, answered) = ask(&stored, &event);
        assert_eq!((next.map(|next| next.status), answered), (status, verdict), "{} at {}", stored.status, stored.generation);
    }
    assert_eq!(transition(None, &Event::PutBack(wish()), NOW).verdict, Verdict::Missing);
}

#[test]
fn a_job_that_is_put_back_starts_afresh_and_keeps_what_it_had_done() {
    let sent = Some(NOW - seconds(400));
    let stored =
        JobRecord { retry_at: Some(NOW), schema_held_since: Some(NOW), first_effect_at: Some(NOW), enqueued_at: sent, ..dead() };
    let (next, _) = put_back(&stored);
    let expected = JobRecord {
        status: Status::Accepted,
        generation: 3,
        attempts: 0,
        crashes: 0,
        parts: 0,
        retry_at: None,
        died_at: None,
        schema_held_since: None,
        send_lease_until: Some(NOW + PUT_BACK_SEND_LEASE),
        put_back_at: Some(NOW),
        updated_at: NOW,
        enqueued_at: None,
        ..stored
    };
    assert_eq!(next, Some(expected));
    assert_eq!(put_back(&abandoned()).0.unwrap().lease_until, None);
}

#[test]
fn a_repeated_wish_finds_its_own_work_and_a_stale_one_touches_nothing() {
    for event in [Event::PutBack(wish()), patch(json!({"user": "second"}))] {
        let waiting = written(&dead(), &event);
        assert_eq!(ask(&waiting, &event), (None, Verdict::Waiting(Status::Accepted)), "its answer was lost");
        let died_again = JobRecord { status: Status::Dead, died_at: Some(NOW), ..waiting };
        assert_eq!(ask(&died_again, &event), (None, Verdict::TooLate(Status::Dead)), "that was another life");
    }
    let newer = JobRecord { generation: 3, ..abandoned() };
    assert_eq!(put_back(&newer), (None, Verdict::TooLate(Status::Running)));
}

#[test]
fn a_job_that_waits_notes_its_put_back_once_and_changes_nothing_else() {
    let waiting = JobRecord { attempts: 2, retry_at: Some(NOW + seconds(60)), ..record(Status::RetryScheduled) };
    let noted = written(&waiting, &Event::PutBack(wish()));
    assert_eq!(noted, JobRecord { put_back_at: Some(NOW), updated_at: NOW, ..waiting });
    let put_back_later = |time| transition(Some(&noted), &Event::PutBack(wish()), NOW + time).next;
    assert_eq!(put_back_later(seconds(4)), None, "its answer was lost, or several operators want the same");
    assert_eq!(put_back_later(seconds(60)).unwrap().put_back_at, Some(NOW + seconds(60)));
    let (next, _) = claim(&JobRecord { retry_at: None, ..noted }, &asked_for(), EffectPolicy::Hold);
    assert_eq!(next.unwrap().put_back_at, Some(NOW), "a run does not make the old message the job's own");
}

#[test]
fn a_native_put_back_after_an_operators_is_still_bounded() {
    let mut stored = JobRecord { generation: 9, ..dead() };
    stored = written(&stored, &Event::PutBack(PutBack { generation: 9, ..wish() }));
    assert_eq!(stored.generation, 10);
    let died_again = JobRecord { status: Status::Dead, died_at: Some(NOW - seconds(3_600)), ..stored };
    let (next, verdict) = claim(&died_again, &asked_for(), EffectPolicy::Hold);
    assert_eq!((next, matches!(verdict, Verdict::WasDead(_))), (None, true));
    let beyond = Event::PutBack(PutBack { generation: 10, max_generations: u32::MAX, payload: None });
    let forced = written(&died_again, &beyond);
    let (next, _) = claim(&forced, &asked_for(), EffectPolicy::Hold);
    assert_eq!(next.map(|next| (next.status, next.generation)), Some((Status::Running, 11)), "an operator may go on");
}

#[test]
fn a_job_that_was_just_put_back_is_being_sent_and_never_known_to_be() {
    let waiting = put_back(&dead()).0.unwrap();
    let take_over =
        Event::TakeOverSending { token: "client".into(), send_lease_until: NOW + seconds(90), min_interval: seconds(60) };
    let being_sent = Verdict::SendInProgress(NOW + PUT_BACK_SEND_LEASE);
    for (later, verdict) in [(0, being_sent.clone()), (30, being_sent), (31, Verdict::SendTakenOver)] {
        assert_eq!(transition(Some(&waiting), &take_over, NOW + seconds(later)).verdict, verdict, "{later} s later");
    }
}

#[test]
fn a_job_whose_last_worker_died_after_its_last_put_back_ends_with_its_reason() {
    let worn = JobRecord { generation: 10, ..abandoned() };
    let last_wish = Event::PutBack(PutBack { generation: 10, ..wish() });
    let (next, verdict) = ask(&worn, &last_wish);
    let ended = next.expect("an end is written");
    assert_eq!((verdict, ended.status, ended.crashes), (Verdict::Quarantined, Status::Dead, 1));
    assert_eq!((ended.last_error.clone(), ended.died_at, ended.lease_until), (Some(LastError::abandoned()), Some(NOW), None));
    assert_eq!(ask(&ended, &last_wish), (None, Verdict::Quarantined), "a repeated wish finds its own work");
    let cancelled = ask(&ended, &Event::Cancel { keep_for: seconds(60) });
    assert_eq!(cancelled.1, Verdict::Cancelled, "and an operator can end it for good");

    let earlier = LastError::new(ErrorClass::Ambiguous, "no_answer", "the provider did not answer");
    let doubtful = JobRecord { last_error: Some(earlier.clone()), ..worn.clone() };
    let tried = JobRecord { first_effect_at: Some(NOW - seconds(60)), ..worn.clone() };
    for (stored, reason) in [(doubtful, earlier), (tried, LastError::crashed_after_effect())] {
        let (next, verdict) = ask(&stored, &last_wish);
        assert_eq!((next.unwrap().status, verdict), (Status::InDoubt, Verdict::InDoubt(reason)), "an effect may have happened");
    }
    let beyond = Event::PutBack(PutBack { generation: 10, max_generations: u32::MAX, payload: None });
    assert_eq!(written(&worn, &beyond).status, Status::Accepted, "an operator may go on");
}

#[test]
fn a_worker_that_was_given_up_cannot_settle_the_job_any_more() {
    let waiting = put_back(&abandoned()).0.unwrap();
    let complete = Event::Complete { token: "dead worker".into(), result: None, provider_ref: None, keep_for: seconds(60) };
    assert_eq!(ask(&waiting, &complete), (None, Verdict::LeaseLost));
}

#[test]
fn the_doubt_about_a_worker_that_died_is_not_put_back_away() {
    let tried = JobRecord { first_effect_at: Some(NOW - seconds(60)), ..abandoned() };
    assert_eq!(put_back(&tried).0.unwrap().last_error, Some(LastError::crashed_after_effect()));
    let earlier = LastError::new(ErrorClass::Ambiguous, "no_answer", "the provider did not answer");
    let doubtful = JobRecord { last_error: Some(earlier.clone()), ..tried };
    assert_eq!(put_back(&doubtful).0.unwrap().last_error, Some(earlier));
    let failed = LastError::new(ErrorClass::Transient, "provider_error", "the provider failed");
    let never_tried = JobRecord { last_error: Some(failed.clone()), ..abandoned() };
    assert_eq!(put_back(&never_tried).0.unwrap().last_error, Some(failed));
}

// -- another payload -----------------------------------------------------------------------------------------------------------

#[test]
fn what_was_asked_for_first_survives_every_patch() {
    let payloads = ["second", "third", "fourth"].map(|user| json!({ "user": user }));
    let mut stored = dead();
    for payload in &payloads {
        let digest = payload_digest(payload);
        let patched = Event::PutBack(PutBack {
            generation: stored.generation,
            max_generations: 10,
            payload: Some((payload.clone(), digest)),
        });
        let waiting = written(&stored, &patched);
        assert_eq!((waiting.payload.as_ref(), waiting.progress.as_ref()), (Some(payload), None));
        stored = JobRecord { status: Status::Dead, died_at: Some(NOW), ..waiting };
    }
    assert_eq!(stored.original_payload, Some(asked_for()));
    assert_eq!(stored.original_payload_digest, Some(payload_digest(&asked_for())));
    assert_eq!((&stored.fingerprint, stored.idempotency_key.as_deref()), (&dead().fingerprint, Some("key")));
    for former in [&asked_for(), &payloads[0], &payloads[1]] {
        assert!(stored.had_payload(&payload_digest(former)), "{former}");
    }
    assert!(!stored.had_payload(&payload_digest(&payloads[2])), "that is the present one");
    assert!(!stored.had_payload(&payload_digest(&json!({"user": "stranger"}))));
}

#[test]
fn a_patch_that_changes_nothing_leaves_no_trace_and_one_back_to_the_first_payload_fits() {
    let same = written(&dead(), &patch(asked_for()));
    assert_eq!((same.original_payload, same.progress), (None, dead().progress));
    let patched = written(&dead(), &patch(json!({"user": "second"})));
    let died_again = JobRecord { status: Status::Dead, generation: 2, died_at: Some(NOW), ..patched };
    let back = written(&died_again, &patch(asked_for()));
    assert_eq!((back.payload.clone(), back.original_payload.clone()), (Some(asked_for()), Some(asked_for())));
    assert!(!back.had_payload(&payload_digest(&asked_for())) && back.had_payload(&payload_digest(&json!({"user": "second"}))));
    assert!(claim(&back, &asked_for(), EffectPolicy::Hold).0.is_some());
}

#[test]
fn a_job_that_waits_takes_a_patch_unless_somebody_may_have_had_the_effect() {
    let second = json!({"user": "second"});
    let waiting = JobRecord { retry_at: Some(NOW + seconds(60)), ..record(Status::RetryScheduled) };
    let next = written(&waiting, &patch(second.clone()));
    assert_eq!((next.status, next.generation, next.retry_at, next.payload), (Status::Accepted, 3, None, Some(second.clone())));
    let earlier = LastError::new(ErrorClass::Ambiguous, "no_answer", "the provider did not answer");
    let doubtful = JobRecord { last_error: Some(earlier.clone()), ..waiting };
    assert_eq!(ask(&doubtful, &patch(second.clone())), (None, Verdict::WasInDoubt(earlier)));
    let tried = JobRecord { first_effect_at: Some(NOW - seconds(60)), ..abandoned() };
    let (next, verdict) = ask(&tried, &patch(second));
    assert_eq!(verdict, Verdict::InDoubt(LastError::crashed_after_effect()), "so that it can be resolved");
    assert_eq!(next.map(|next| (next.status, next.payload)), Some((Status::InDoubt, Some(asked_for()))));
}

// -- the end of a doubt --------------------------------------------------------------------------------------------------------

#[test]
fn a_doubt_ends_done_or_dead_and_nothing_else_is_resolved() {
    let (next, verdict) = resolve(&in_doubt(), done(Some("pi_1")));
    let ended = next.unwrap();
    assert_eq!(
        (verdict, ended.status, ended.provider_ref.as_deref()),
        (Verdict::Done(Status::Succeeded), Status::Succeeded, Some("pi_1"))
    );
    assert_eq!((ended.last_error, ended.expires_at), (None, Some((NOW + seconds(3_600)).to_seconds_ceil())));
    let (next, verdict) = resolve(&in_doubt(), Outcome::RunAgain);
    let dead_now = next.unwrap();
    assert_eq!((verdict, dead_now.status, dead_now.died_at), (Verdict::Done(Status::Dead), Status::Dead, Some(NOW)));
    assert_eq!((dead_now.first_effect_at, dead_now.effect_begun, dead_now.doubt()), (None, false, None));
    for stored in [record(Status::Accepted), record(Status::RetryScheduled), dead(), abandoned(), record(Status::Cancelled)] {
        for resolution in [done(None), Outcome::RunAgain] {
            assert_eq!(resolve(&stored, resolution), (None, Verdict::TooLate(stored.status)));
        }
    }
    assert_eq!(resolve(&record(Status::Succeeded), Outcome::RunAgain), (None, Verdict::TooLate(Status::Succeeded)));
    let known = JobRecord { provider_ref: Some("known".into()), ..in_doubt() };
    assert_eq!(resolve(&known, done(None)).0.unwrap().provider_ref.as_deref(), Some("known"));
}

#[test]
fn a_doubt_that_nobody_looked_at_is_not_resolved() {
    let second_doubt = JobRecord { generation: 3, ..in_doubt() };
    for outcome in [done(Some("pi_1")), Outcome::RunAgain] {
        assert_eq!(resolve(&second_doubt, outcome), (None, Verdict::OtherGeneration(3)));
    }
    let ended_since = JobRecord { generation: 3, ..record(Status::Succeeded) };
    assert_eq!(resolve(&ended_since, done(None)), (None, Verdict::OtherGeneration(3)));
}

#[test]
fn a_repeated_resolution_finds_its_own_work() {
    for (resolution, verdict) in [(done(None), Verdict::AlreadySucceeded(None)), (Outcome::RunAgain, Verdict::Done(Status::Dead))]
    {
        let resolved = resolve(&in_doubt(), resolution.clone()).0.unwrap();
        assert_eq!(resolve(&resolved, resolution), (None, verdict));
    }
}

#[test]
fn a_job_in_doubt_runs_again_after_its_resolution_only_and_its_window_starts_anew() {
    for policy in [EffectPolicy::Hold, WINDOW] {
        let (next, verdict) = claim(&in_doubt(), &asked_for(), policy);
        assert_eq!((next, matches!(verdict, Verdict::WasInDoubt(_))), (None, true));
        let resolved = resolve(&in_doubt(), Outcome::RunAgain).0.unwrap();
        let waiting = put_back(&resolved).0.unwrap();
        let (next, verdict) = claim(&waiting, &asked_for(), policy);
        assert!(matches!(verdict, Verdict::Started(_)), "{policy:?}: {verdict:?}");
        let running = next.unwrap();
        assert_eq!((running.generation, running.attempts, running.crashes), (3, 1, 0));
        assert_eq!(running.first_effect_at, policy.notes_first_effect().then_some(NOW));
    }
}
