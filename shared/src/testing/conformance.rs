//! What every [`JobStore`] has to do, as one suite: run against the in-memory store, and against DynamoDB engines.
//!
//! The heart is `every_claim_is_decided_as_the_state_machine_says`: all interesting records against all interesting claims, each
//! answer and each stored record compared with [`transition`].

mod operator;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::clock::{Clock, EpochMillis, ManualClock};
use crate::idempotency::{
    Claim, ClaimRules, Created, EffectPolicy, ErrorClass, Event, FirstClaim, Guard, JobRecord, JobStore, LastError, Ledger,
    Replaced, Status, Takeover, Verdict, transition,
};
use crate::job::{Fingerprint, IdempotencyKey, JobId, JobType, payload_digest};

const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);

/// Runs the whole suite. `label` keeps the keys of two runs on one table apart.
///
/// # Panics
/// When the store does not conform; the message names the case.
pub async fn suite(store: Arc<dyn JobStore>, label: &str) {
    let lab = Lab { store, label: label.to_owned() };
    a_record_comes_back_as_it_was_written(&lab).await;
    a_record_is_created_once(&lab).await;
    an_expired_record_counts_as_absent(&lab).await;
    one_of_many_claims_wins(&lab).await;
    a_guard_that_does_not_hold_changes_nothing(&lab).await;
    a_repeated_write_meets_itself(&lab).await;
    every_claim_is_decided_as_the_state_machine_says(&lab).await;
    every_settlement_is_decided_as_the_state_machine_says(&lab).await;
    operator::every_wish_of_an_operator_is_decided_as_the_state_machine_says(&lab).await;
    operator::one_of_many_wishes_wins(&lab).await;
}

struct Lab {
    store: Arc<dyn JobStore>,
    label: String,
}

impl Lab {
    fn ledger(&self) -> Ledger {
        Ledger::new(self.store.clone(), Arc::new(ManualClock::new(NOW)))
    }

    fn job_id(&self, name: &str) -> JobId {
        JobId::derive(&self.label, &job_type(), &IdempotencyKey::parse(name).expect("a key"))
    }

    fn record(&self, name: &str, status: Status) -> JobRecord {
        JobRecord {
            idempotency_key: Some(name.to_owned()),
            payload: Some(json!({"n": 9_007_199_254_740_993_i64})),
            payload_digest: Some(digest()),
            updated_at: back(MINUTE),
            ..JobRecord::new(self.job_id(name), job_type(), 1, "caller", status, back(MINUTE * 10))
        }
    }

    fn claim(&self, name: &str, token: &str) -> Claim {
        Claim {
            job_id: self.job_id(name),
            job_type: job_type(),
            schema_version: 1,
            caller: "direct:email".to_owned(),
            idempotency_key: name.to_owned(),
            business_id: Some("order-1".to_owned()),
            payload: json!({"n": 9_007_199_254_740_993_i64}),
            payload_digest: digest(),
            token: token.to_owned(),
            lease_until: NOW + MINUTE,
            sent_at: Some(back(MINUTE * 9)),
            takeover: Takeover::Now,
            rules: ClaimRules { max_attempts: 3, max_generations: 10, needs_data: false, effect: EffectPolicy::Hold },
        }
    }

    /// Puts a record there, whatever its state, as if it had always been there.
    async fn seed(&self, record: &JobRecord) {
        let seeded = self.store.replace(None, record, &Guard::Absent).await.expect("the store answers");
        assert_eq!(seeded, Replaced::Written, "the key of a case is taken: {}", record.job_id);
    }

    async fn stored(&self, job_id: &JobId) -> Option<JobRecord> {
        self.store.get(job_id).await.expect("the store answers")
    }
}

fn job_type() -> JobType {
    JobType::parse("email.send").expect("a job type")
}

fn digest() -> String {
    payload_digest(&json!({"n": 9_007_199_254_740_993_i64}))
}

fn back(time: Duration) -> EpochMillis {
    EpochMillis::from_i64(NOW.as_i64() - i64::try_from(time.as_millis()).unwrap_or(0))
}

async fn a_record_comes_back_as_it_was_written(lab: &Lab) {
    let full = JobRecord {
        business_id: Some("order-1001".into()),
        account_id: Some("account-7".into()),
        callback_url: Some("https://shop.example/ikkai".into()),
        original_payload: Some(json!({"n": 1})),
        original_payload_digest: Some("sha256:first".into()),
        patched_payload_digests: vec!["sha256:second".into(), "sha256:third".into()],
        data: Some(json!({"note": "łódź ☕", "nested": [1, {"a": null}]})),
        fingerprint: Some(Fingerprint::random(&job_type(), &json!({}), None, &[])),
        generation: 2,
        attempts: 1,
        crashes: 1,
        parts: 3,
        progress: Some(json!({"after": "łódź", "rows": [1, 2]})),
        lease_token: Some("token".into()),
        lease_until: Some(NOW),
        effect_begun: true,
        first_effect_at: Some(back(MINUTE)),
        provider_ref: Some("ref".into()),
        result: Some(json!({"messageId": "m-1"})),
        last_error: Some(LastError::new(ErrorClass::Transient, "provider_error", "the provider failed")),
        died_at: Some(NOW),
        accept_token: Some("accept".into()),
        send_lease_until: Some(NOW),
        enqueued_at: Some(NOW),
        put_back_at: Some(back(MINUTE)),
        retry_at: Some(NOW),
        schema_held_since: Some(NOW),
        expires_at: Some(NOW.to_seconds_ceil()),
        ..lab.record("round-trip", Status::Running)
    };
    lab.seed(&full).await;
    assert_eq!(lab.stored(&full.job_id).await, Some(full));
}

async fn a_record_is_created_once(lab: &Lab) {
    let record = lab.record("create", Status::Accepted);
    let attempts = (0..16).map(|_| lab.store.create(&record, NOW));
    let answers = futures::future::join_all(attempts).await;
    let made = answers.iter().filter(|answer| matches!(answer, Ok(Created::New))).count();
    assert_eq!(made, 1, "one of sixteen parallel creations wins");
    for answer in answers {
        if let Created::Exists(found) = answer.expect("the store answers") {
            assert_eq!(*found, record, "the others get the stored record");
        }
    }
}

async fn an_expired_record_counts_as_absent(lab: &Lab) {
    let former = JobRecord {
        expires_at: Some(back(Duration::from_secs(3600)).to_seconds_ceil()),
        result: Some(json!(1)),
        ..lab.record("expired", Status::Succeeded)
    };
    lab.seed(&former).await;
    let fresh = lab.record("expired", Status::Accepted);
    assert_eq!(lab.store.create(&fresh, NOW).await.expect("the store answers"), Created::New);
    assert_eq!(lab.stored(&fresh.job_id).await, Some(fresh.clone()), "nothing of its former life is left");

    let kept = JobRecord { expires_at: Some((NOW + MINUTE).to_seconds_ceil()), ..lab.record("not-expired", Status::Succeeded) };
    lab.seed(&kept).await;
    let created = lab.store.create(&lab.record("not-expired", Status::Accepted), NOW).await.expect("the store answers");
    assert!(matches!(created, Created::Exists(_)));
}

async fn one_of_many_claims_wins(lab: &Lab) {
    for (name, seeded) in [("claim-none", None), ("claim-accepted", Some(Status::Accepted))] {
        if let Some(status) = seeded {
            lab.seed(&lab.record(name, status)).await;
        }
        let tokens: Vec<_> = (0..16).map(|worker| format!("worker-{worker}")).collect();
        let claims: Vec<_> = tokens.iter().map(|token| lab.claim(name, token)).collect();
        let answers = futures::future::join_all(claims.iter().map(|claim| lab.store.claim(claim, NOW))).await;
        let started = answers.iter().filter(|answer| matches!(answer, Ok(FirstClaim::Started(_)))).count();
        assert_eq!(started, 1, "{name}: one of sixteen parallel claims wins");
        let stored = lab.stored(&lab.job_id(name)).await.expect("a record");
        assert_eq!((stored.status, stored.attempts, stored.crashes), (Status::Running, 1, 0));
    }
}

async fn a_guard_that_does_not_hold_changes_nothing(lab: &Lab) {
    let record = JobRecord { lease_token: Some("mine".into()), ..lab.record("guards", Status::Running) };
    lab.seed(&record).await;
    let next = JobRecord { attempts: 9, ..record.clone() };
    let stale = JobRecord { generation: 1, ..record.clone() };
    let touched = JobRecord { updated_at: NOW, ..record.clone() };
    for (stored, guard) in [
        (Some(&record), Guard::Lease("somebody-else".into())),
        (Some(&record), Guard::Sending("mine".into())),
        (Some(&stale), Guard::Unchanged),
        (Some(&touched), Guard::Unchanged),
        (None, Guard::Absent),
    ] {
        let answer = lab.store.replace(stored, &next, &guard).await.expect("the store answers");
        assert_eq!(answer, Replaced::Refused(Some(Box::new(record.clone()))), "{guard:?}");
    }
    let gone = lab.record("guards-missing", Status::Running);
    let answer = lab.store.replace(Some(&gone), &gone, &Guard::Lease("mine".into())).await.expect("the store answers");
    assert_eq!(answer, Replaced::Refused(None));
    let answer = lab.store.replace(Some(&record), &next, &Guard::Lease("mine".into())).await.expect("the store answers");
    assert_eq!(answer, Replaced::Written);
}

async fn a_repeated_write_meets_itself(lab: &Lab) {
    let ledger = lab.ledger();
    let created = JobRecord { accept_token: Some("accept-1".into()), ..lab.record("repeat", Status::Accepted) };
    assert_eq!(ledger.create(&created).await.expect("an answer"), Created::New);
    assert_eq!(ledger.create(&created).await.expect("an answer"), Created::New, "the same acceptance");

    for _ in 0..2 {
        let verdict = ledger.claim(lab.claim("repeat", "mine")).await.expect("an answer").verdict;
        let Verdict::Started(record) = verdict else { panic!("a repeated claim goes on, not {verdict:?}") };
        assert_eq!(record.attempts, 1, "and counts once");
    }
    let mut record = lab.stored(&created.job_id).await.expect("a record");
    let complete = Event::Complete { token: "mine".into(), result: None, provider_ref: None, keep_for: MINUTE };
    let before = record.clone();
    for view in [&mut record, &mut before.clone()] {
        let verdict = ledger.apply_owned(view, &complete, Guard::Lease("mine".into())).await.expect("an answer");
        assert_eq!(verdict, Verdict::Done(Status::Succeeded));
    }
}

/// Every status × attempts × digest × lease × effect × due time × sent time × policy that matters.
async fn every_claim_is_decided_as_the_state_machine_says(lab: &Lab) {
    let ledger = lab.ledger();
    let window = EffectPolicy::Rerun { idempotent_for: Some(MINUTE), looks_up: false };
    let mut case = 0;
    for status in Status::ALL {
        for (attempts, lease, begun) in [
            (0, None, false),
            (1, Some(NOW + MINUTE), false),
            (1, Some(back(MINUTE)), false),
            (1, Some(back(MINUTE)), true),
            (3, Some(back(MINUTE)), false),
            (3, Some(back(MINUTE)), true),
        ] {
            for variant in [
                "plain",
                "other payload",
                "not due",
                "put back",
                "worn out",
                "window over",
                "rerun",
                "expired",
                "no payload yet",
                "no payload, data needed",
                "data needed",
                "data needed and there",
                "data needed, put back",
                "crashed before",
                "crashed before, its turn",
                "progress saved",
            ] {
                case += 1;
                let name = format!("claim-{case}");
                let mut record = JobRecord {
                    attempts,
                    lease_token: lease.map(|_| "former".to_owned()),
                    lease_until: lease,
                    effect_begun: begun,
                    died_at: Some(back(MINUTE * 5)),
                    last_error: Some(LastError::new(ErrorClass::Transient, "earlier", "an earlier failure")),
                    ..lab.record(&name, status)
                };
                let mut claim = lab.claim(&name, "mine");
                match variant {
                    "crashed before" => (record.crashes, claim.takeover) = (1, Takeover::Postpone),
                    "crashed before, its turn" => record.crashes = 1,
                    "other payload" => "sha256:other".clone_into(&mut claim.payload_digest),
                    "not due" => record.retry_at = Some(NOW + MINUTE),
                    "put back" => claim.sent_at = Some(NOW),
                    "worn out" => {
                        claim.sent_at = Some(NOW);
                        record.generation = 10;
                    }
                    "window over" => {
                        record.first_effect_at = Some(back(MINUTE * 2));
                        claim.rules.effect = window;
                    }
                    "rerun" => claim.rules.effect = window,
                    "expired" => record.expires_at = Some(back(MINUTE).to_seconds_floor()),
                    "no payload yet" => (record.payload, record.payload_digest) = (None, None),
                    "no payload, data needed" => {
                        (record.payload, record.payload_digest) = (None, None);
                        claim.rules.needs_data = true;
                    }
                    "data needed" => claim.rules.needs_data = true,
                    "data needed and there" => (record.data, claim.rules.needs_data) = (Some(json!({"a": 1})), true),
                    "data needed, put back" => (claim.rules.needs_data, claim.sent_at) = (true, Some(NOW)),
                    "progress saved" => (record.progress, record.parts) = (Some(json!({"row": 7})), 2),
                    _ => {}
                }
                // Only records that end well expire.
                if variant == "expired" && !matches!(status, Status::Succeeded | Status::Cancelled) {
                    continue;
                }
                // A death is noted on dead records only, and a lease on those that ran.
                if status != Status::Dead {
                    record.died_at = None;
                }
                lab.seed(&record).await;
                let expected = transition(Some(&record), &Event::Claim(Box::new(claim.clone())), NOW);
                let verdict = ledger.claim(claim).await.expect("the store answers").verdict;
                let context = format!("{status} with {attempts} attempts, lease {lease:?}, begun {begun}, {variant}");
                assert_eq!(verdict, expected.verdict, "verdict on {context}");
                let stored = lab.stored(&record.job_id).await.expect("a record");
                assert_eq!(stored, expected.next.map_or(record, |next| *next), "record after {context}");
            }
        }
    }
    for needs_data in [false, true] {
        let name = format!("claim-missing-{needs_data}");
        let mut claim = lab.claim(&name, "mine");
        claim.rules.needs_data = needs_data;
        let expected = transition(None, &Event::Claim(Box::new(claim.clone())), NOW);
        assert_eq!(ledger.claim(claim).await.expect("the store answers").verdict, expected.verdict);
        assert_eq!(lab.stored(&lab.job_id(&name)).await, expected.next.map(|next| *next));
    }
}

async fn every_settlement_is_decided_as_the_state_machine_says(lab: &Lab) {
    use crate::idempotency::{Certainty, Ending, Failing};
    let ledger = lab.ledger();
    let clock = ManualClock::new(NOW);
    let mut events = vec![
        Event::BeginEffect { token: "mine".into(), lease_until: NOW + MINUTE * 2 },
        Event::Renew { token: "mine".into(), lease_until: NOW + MINUTE * 2 },
        Event::SaveProgress { token: "mine".into(), progress: json!({"row": 8}) },
        Event::SaveProgress { token: "mine".into(), progress: json!({"row": 7}) },
        Event::Complete {
            token: "mine".into(),
            result: Some(json!({"ok": 1})),
            provider_ref: Some("p".into()),
            keep_for: MINUTE,
        },
    ];
    let next_part = |max_parts| Ending::Continue { at: NOW, max_parts };
    for ending in [Ending::Retry(NOW + MINUTE), Ending::Defer(NOW + MINUTE), next_part(3), next_part(2), Ending::Die] {
        for certainty in
            [Certainty::NotTried, Certainty::NotDone, Certainty::NeverDone, Certainty::Unstated, Certainty::MayBeDone]
        {
            for effect in [EffectPolicy::Hold, EffectPolicy::RERUN] {
                let error = LastError::new(ErrorClass::Transient, "provider_error", "the provider failed");
                events.push(Event::Fail(Failing {
                    token: "mine".into(),
                    ending,
                    certainty,
                    max_attempts: 3,
                    effect,
                    first_effect_noted_by_claim: false,
                    error,
                }));
            }
        }
    }
    let mut case = 0;
    for event in &events {
        for (owner, status, attempts, begun) in [
            ("mine", Status::Running, 1, false),
            ("mine", Status::Running, 3, true),
            ("other", Status::Running, 1, false),
            ("mine", Status::Succeeded, 1, false),
            ("mine", Status::Dead, 3, false),
        ] {
            case += 1;
            let mut record = JobRecord {
                attempts,
                effect_begun: begun,
                data: Some(json!({"private": true})),
                parts: 1,
                progress: Some(json!({"row": 7})),
                lease_token: Some(owner.to_owned()),
                lease_until: Some(NOW + MINUTE),
                ..lab.record(&format!("settle-{case}"), status)
            };
            lab.seed(&record).await;
            let expected = transition(Some(&record), event, clock.now());
            let after = expected.next.map_or_else(|| record.clone(), |next| *next);
            let verdict = ledger.apply_owned(&mut record, event, Guard::Lease("mine".into())).await.expect("the store answers");
            assert_eq!(verdict, expected.verdict, "{event:?} on {status} owned by {owner}");
            assert_eq!(lab.stored(&record.job_id).await, Some(after), "{event:?} on {status} owned by {owner}");
        }
    }
}
