//! What no event may ever do, to whatever record.

use ikkai::clock::EpochMillis;
use ikkai::idempotency::{
    Certainty, Claim, ClaimRules, EffectPolicy, Ending, ErrorClass, Event, JobRecord, Status, Takeover, Verdict, transition,
};
use proptest::prelude::*;
use serde_json::json;

use super::{NOW, WINDOW, begin_effect, claim, claim_by, complete, fail, next_part, record, save_progress};
use crate::script::seconds;

fn moments() -> impl Strategy<Value = EpochMillis> {
    prop_oneof![Just(-100_000_i64), Just(-100), Just(-1), Just(0), Just(1), Just(100), Just(100_000)]
        .prop_map(|seconds| EpochMillis::from_i64(NOW.as_i64() + seconds * 1_000))
}

fn records() -> impl Strategy<Value = JobRecord> {
    let status = proptest::sample::select(Status::ALL.to_vec());
    let owner = proptest::option::of(proptest::sample::select(vec!["mine", "other"]));
    let numbers = (0u32..5, 0u32..12, 0u32..3);
    let some_time = || proptest::option::of(moments());
    let times = (some_time(), some_time(), some_time(), some_time(), some_time());
    (status, owner, numbers, times, any::<bool>(), any::<bool>()).prop_map(
        |(status, owner, (attempts, generation, crashes), (lease, first, died, due, held), begun, same_payload)| {
            let mut record = record(status);
            (record.attempts, record.generation, record.crashes) = (attempts, generation, crashes);
            record.lease_token = owner.map(str::to_owned);
            record.lease_until = lease;
            record.effect_begun = begun;
            (record.first_effect_at, record.died_at, record.retry_at) = (first, died, due);
            record.schema_held_since = held;
            record.parts = crashes;
            record.progress = begun.then(|| json!({"row": attempts}));
            if !same_payload {
                record.payload_digest = Some("sha256:another".into());
            }
            record
        },
    )
}

fn policies() -> impl Strategy<Value = EffectPolicy> {
    proptest::sample::select(vec![EffectPolicy::Hold, EffectPolicy::RERUN, WINDOW])
}

fn events() -> impl Strategy<Value = Event> {
    let certainty = proptest::sample::select(vec![
        Certainty::NotTried,
        Certainty::NotDone,
        Certainty::NeverDone,
        Certainty::Unstated,
        Certainty::MayBeDone,
    ]);
    let ending = proptest::sample::select(vec![Ending::Retry(NOW), Ending::Defer(NOW), next_part(2), Ending::Die]);
    let claims = (proptest::option::of(moments()), policies(), any::<bool>(), any::<bool>()).prop_map(
        |(sent_at, effect, needs_data, now)| {
            let rules = ClaimRules { effect, needs_data, ..claim_by("mine").rules };
            let takeover = if now { Takeover::Now } else { Takeover::Postpone };
            claim(Claim { sent_at, rules, takeover, ..claim_by("mine") })
        },
    );
    let hold = (proptest::option::of(moments()), any::<bool>()).prop_map(|(sent_at, over)| Event::HoldSchema {
        blank: Box::new(record(Status::Accepted)),
        sent_at,
        hold: if over { seconds(50) } else { seconds(3_600) },
        max_generations: 10,
    });
    prop_oneof![
        3 => claims,
        1 => hold,
        2 => (ending, certainty, policies()).prop_map(|(ending, certainty, effect)| fail("mine", ending, certainty, effect)),
        1 => Just(complete("mine")),
        1 => Just(begin_effect("mine")),
        1 => (0u64..3).prop_map(|row| save_progress("mine", row)),
        1 => Just(Event::Renew { token: "mine".into(), lease_until: NOW + seconds(90) }),
        1 => Just(Event::TakeOverSending { token: "mine".into(), send_lease_until: NOW, min_interval: seconds(60) }),
        1 => Just(Event::EndSendLease { token: "mine".into() }),
        1 => Just(Event::ConfirmSent { token: "mine".into() }),
        1 => Just(Event::Cancel { keep_for: seconds(60) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_event_changes_a_job_that_runs_under_another_workers_lease(stored in records(), event in events()) {
        let stored = JobRecord { status: Status::Running, lease_token: Some("other".into()), ..stored };
        let is_over = stored.lease_is_over(NOW);
        let answer = transition(Some(&stored), &event, NOW);
        if !(is_over && matches!(event, Event::Claim(_))) {
            prop_assert_eq!(answer.next, None, "{:?}", event);
        }
    }

    #[test]
    fn no_owners_event_changes_anything_but_the_owners_running_job(stored in records(), event in events()) {
        let owners = matches!(
            event,
            Event::BeginEffect { .. } | Event::Renew { .. } | Event::SaveProgress { .. } | Event::Complete { .. } | Event::Fail(_)
        );
        if owners && !stored.is_run_by("mine") {
            prop_assert_eq!(transition(Some(&stored), &event, NOW).next, None);
        }
    }

    #[test]
    fn what_succeeded_or_was_cancelled_or_is_in_doubt_stays(stored in records(), event in events()) {
        if matches!(stored.status, Status::Succeeded | Status::Cancelled | Status::InDoubt) {
            prop_assert_eq!(transition(Some(&stored), &event, NOW).next, None);
        }
    }

    #[test]
    fn a_start_is_counted_owned_leased_and_within_the_limit(stored in records(), event in events()) {
        let answer = transition(Some(&stored), &event, NOW);
        if let Verdict::Started(started) = answer.verdict {
            prop_assert_eq!(started.lease_token.as_deref(), Some("mine"));
            prop_assert_eq!(started.status, Status::Running);
            if let Some(next) = answer.next {
                prop_assert_eq!(&next, &started, "the worker knows what is stored");
                prop_assert!((1..=3).contains(&next.attempts));
                prop_assert!(next.lease_until.is_some() && !next.effect_begun);
            }
        }
    }

    #[test]
    fn the_first_effect_is_never_forgotten(stored in records(), event in events()) {
        if let (Some(first), Some(next)) = (stored.first_effect_at, transition(Some(&stored), &event, NOW).next) {
            prop_assert_eq!(next.first_effect_at, Some(first), "{:?}", event);
        }
    }

    #[test]
    fn progress_is_lost_only_by_a_job_that_ended_well(stored in records(), event in events()) {
        if let Some(next) = transition(Some(&stored), &event, NOW).next {
            match next.status {
                Status::Succeeded | Status::Cancelled => prop_assert_eq!(next.progress, None),
                _ if matches!(event, Event::SaveProgress { .. }) => prop_assert!(next.progress.is_some()),
                _ => prop_assert_eq!(next.progress, stored.progress, "{:?}", event),
            }
        }
    }

    #[test]
    fn every_end_has_its_reason_and_its_time(stored in records(), event in events()) {
        if let Some(next) = transition(Some(&stored), &event, NOW).next {
            prop_assert_eq!(next.updated_at, NOW);
            match next.status {
                Status::Dead => prop_assert!(next.last_error.is_some() && next.died_at == Some(NOW) && next.expires_at.is_none()),
                Status::InDoubt => {
                    prop_assert_eq!(next.last_error.map(|error| error.class), Some(ErrorClass::Ambiguous));
                    prop_assert_eq!(next.expires_at, None);
                }
                Status::Succeeded | Status::Cancelled => prop_assert!(next.expires_at.is_some() && next.data.is_none()),
                _ => prop_assert_eq!(next.expires_at, None),
            }
        }
    }

    #[test]
    fn an_event_applied_twice_is_applied_once(stored in records(), event in events()) {
        // The SDK repeats a write whose answer was lost; the repetition must not count, move or free anything again.
        // A message comes after it was sent, give or take a few seconds of skew.
        let sent_at = match &event {
            Event::Claim(claim) => claim.sent_at,
            Event::HoldSchema { sent_at, .. } => *sent_at,
            _ => None,
        };
        prop_assume!(sent_at.is_none_or(|sent_at| sent_at <= NOW + seconds(5)));
        if let Some(next) = transition(Some(&stored), &event, NOW).next {
            let again = transition(Some(&next), &event, NOW).next.unwrap_or_else(|| next.clone());
            prop_assert_eq!(again, next, "{:?}", event);
        }
    }
}
