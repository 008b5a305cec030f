//! What operators do, decided the same by every store.

use serde_json::{Value, json};

use super::{Lab, MINUTE, NOW, back};
use crate::idempotency::{ErrorClass, Event, JobRecord, LastError, Outcome, PutBack, Resolution, Status, Verdict, transition};
use crate::job::payload_digest;

/// Every status × what may be known of it × what an operator may want.
pub(super) async fn every_wish_of_an_operator_is_decided_as_the_state_machine_says(lab: &Lab) {
    let ledger = lab.ledger();
    let patch = json!({"n": 2});
    let put_back = |generation, max_generations, payload: Option<&Value>| {
        let payload = payload.map(|payload| (payload.clone(), payload_digest(payload)));
        Event::PutBack(PutBack { generation, max_generations, payload })
    };
    let resolve = |generation, outcome| Event::Resolve(Resolution { generation, outcome });
    let wishes = [
        put_back(1, 10, None),
        put_back(1, 10, Some(&patch)),
        put_back(1, 1, None),
        put_back(0, 10, None),
        resolve(1, Outcome::Done { provider_ref: Some("ref".into()), keep_for: MINUTE }),
        resolve(1, Outcome::RunAgain),
        resolve(0, Outcome::RunAgain),
    ];
    let ambiguous = LastError::new(ErrorClass::Ambiguous, "no_answer", "the provider did not answer");
    let mut case = 0;
    for status in Status::ALL {
        for variant in [
            "plain",
            "lease held",
            "effect begun",
            "effect tried",
            "doubtful",
            "patched before",
            "resolved before",
            "just put back",
        ] {
            for wish in &wishes {
                case += 1;
                let mut record = JobRecord {
                    generation: 1,
                    attempts: 3,
                    progress: Some(json!({"row": 7})),
                    lease_token: Some("former".into()),
                    last_error: Some(LastError::new(ErrorClass::Transient, "earlier", "an earlier failure")),
                    ..lab.record(&format!("operator-{case}"), status)
                };
                match status {
                    Status::Dead => record.died_at = Some(back(MINUTE * 5)),
                    Status::Running => record.lease_until = Some(back(MINUTE)),
                    Status::RetryScheduled => record.retry_at = Some(NOW + MINUTE),
                    _ => {}
                }
                match variant {
                    "lease held" if status == Status::Running => record.lease_until = Some(NOW + MINUTE),
                    "effect begun" => (record.effect_begun, record.first_effect_at) = (true, Some(back(MINUTE))),
                    "effect tried" => record.first_effect_at = Some(back(MINUTE)),
                    "doubtful" => record.last_error = Some(ambiguous.clone()),
                    "patched before" => {
                        record.original_payload = Some(json!({"n": 0}));
                        record.original_payload_digest = Some("sha256:first".into());
                    }
                    "just put back" => record.put_back_at = Some(back(MINUTE / 60)),
                    "resolved before" => record.last_error = Some(LastError::resolved_to_run_again()),
                    _ => {}
                }
                lab.seed(&record).await;
                let expected = transition(Some(&record), wish, NOW);
                let decision = ledger.apply(&record.job_id, wish).await.expect("the store answers");
                let context = format!("{wish:?} on {status}, {variant}");
                assert_eq!(decision.verdict, expected.verdict, "verdict on {context}");
                let after = expected.next.map_or(record, |next| *next);
                assert_eq!(lab.stored(&after.job_id).await, Some(after), "record after {context}");
            }
        }
    }
    let missing = ledger.apply(&lab.job_id("operator-missing"), &wishes[0]).await.expect("the store answers");
    assert_eq!((missing.verdict, missing.record), (Verdict::Missing, None));
}

/// Operators who want the same at the same time do it once.
pub(super) async fn one_of_many_wishes_wins(lab: &Lab) {
    let dead = JobRecord { died_at: Some(back(MINUTE * 5)), attempts: 3, ..lab.record("many-wishes", Status::Dead) };
    lab.seed(&dead).await;
    let wish = Event::PutBack(PutBack { generation: 0, max_generations: 10, payload: None });
    let ledger = lab.ledger();
    let decisions = futures::future::join_all((0..8).map(|_| ledger.apply(&dead.job_id, &wish))).await;
    let verdicts: Vec<_> = decisions.into_iter().map(|decision| decision.expect("the store answers").verdict).collect();
    let done = verdicts.iter().filter(|verdict| **verdict == Verdict::Done(Status::Accepted)).count();
    assert_eq!(done, 1, "one of eight puts the job back: {verdicts:?}");
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Done(_) | Verdict::Waiting(Status::Accepted))));
    assert_eq!(lab.stored(&dead.job_id).await.expect("a record").generation, 1);
}
