//! The table of what becomes of a message.

use dlq_redrive::protocol::VerdictCode;
use dlq_redrive::{DeadLetter, Place, Plan, Rules, plan};
use ikkai::consumer::MessageContent;
use ikkai::idempotency::{ErrorClass, Event, JobRecord, LastError, PutBack, Status, Verdict, transition};
use ikkai::job::{IdempotencyKey, JobId, JobType};
use ikkai::queue::ReceivedMessage;
use proptest::prelude::*;
use std::time::Duration;

use crate::NOW;

const RULES: Rules = Rules { max_generations: 10, override_quarantine: false };
const MINUTE: Duration = Duration::from_secs(60);

fn job_id(name: &str) -> JobId {
    JobId::derive("caller", &job_type(), &IdempotencyKey::parse(name).unwrap())
}

fn job_type() -> JobType {
    JobType::parse("email.send").unwrap()
}

fn record(status: Status) -> JobRecord {
    JobRecord {
        payload_digest: Some("sha256:present".into()),
        generation: 2,
        ..JobRecord::new(job_id("a"), job_type(), 1, "caller", status, NOW - MINUTE)
    }
}

fn running(lease_until: ikkai::clock::EpochMillis) -> JobRecord {
    JobRecord { lease_until: Some(lease_until), ..record(Status::Running) }
}

fn abandoned() -> JobRecord {
    running(NOW - MINUTE)
}

fn with_digest(digest: Option<&str>, record: Option<JobRecord>) -> Place {
    let job_id = record.as_ref().map_or_else(|| job_id("a"), |record| record.job_id.clone());
    Place { content: MessageContent::Job { job_id, schema_version: 1, payload_digest: digest.map(str::to_owned) }, record }
}

fn job(record: JobRecord) -> Place {
    with_digest(Some("sha256:present"), Some(record))
}

fn unreadable(record: Option<JobRecord>) -> Place {
    let reason = LastError::new(ErrorClass::Poison, "not_json", "the body is no JSON");
    Place { content: MessageContent::Unreadable { job_id: JobId::for_message(&job_type(), "m"), reason }, record }
}

fn nothing() -> Place {
    Place { content: MessageContent::Nothing("s3_test_event"), record: None }
}

fn letter(places: Vec<Place>) -> DeadLetter {
    let message = ReceivedMessage {
        message_id: "m".into(),
        receipt_handle: "r".into(),
        body: "{}".into(),
        attributes: Vec::new(),
        trace_header: None,
        group_id: None,
        deduplication_id: None,
        sent_at: None,
        receive_count: 1,
        source: None,
    };
    DeadLetter { message, places }
}

fn planned(places: Vec<Place>, rules: Rules) -> Plan {
    plan(&letter(places), rules, NOW)
}

fn send() -> Plan {
    Plan::Send { resets: Vec::new(), rebuilt_from: None }
}

fn reset(generation: u32) -> Plan {
    Plan::Send { resets: vec![(job_id("a"), generation)], rebuilt_from: None }
}

#[test]
fn every_status_has_its_plan() {
    let worn = |record: JobRecord| JobRecord { generation: 10, ..record };
    let begun = JobRecord { effect_begun: true, ..abandoned() };
    let later = JobRecord { retry_at: Some(NOW + MINUTE), ..record(Status::RetryScheduled) };
    for (stored, expected) in [
        (record(Status::Accepted), reset(2)),
        (record(Status::RetryScheduled), reset(2)),
        (later, reset(2)),
        (worn(record(Status::Accepted)), reset(10)),
        (record(Status::Dead), reset(2)),
        (JobRecord { generation: 9, ..record(Status::Dead) }, reset(9)),
        (worn(record(Status::Dead)), Plan::Leave(VerdictCode::Quarantined)),
        (running(NOW + MINUTE), Plan::Leave(VerdictCode::Running)),
        (running(NOW), Plan::Leave(VerdictCode::Running)),
        (abandoned(), reset(2)),
        (worn(abandoned()), reset(10)),
        (begun.clone(), reset(2)),
        (worn(begun), reset(10)),
        (record(Status::InDoubt), Plan::Leave(VerdictCode::InDoubt)),
        (record(Status::Succeeded), Plan::Delete),
        (record(Status::Cancelled), Plan::Delete),
    ] {
        let name = format!("{} at {}", stored.status, stored.generation);
        assert_eq!(planned(vec![job(stored)], RULES), expected, "{name}");
    }
}

#[test]
fn a_quarantine_is_overridden_on_demand_and_nothing_else_is() {
    let rules = Rules { override_quarantine: true, ..RULES };
    let worn = |record: JobRecord| JobRecord { generation: 10, ..record };
    assert_eq!(planned(vec![job(worn(record(Status::Dead)))], rules), reset(10));
    assert_eq!(planned(vec![job(worn(record(Status::InDoubt)))], rules), Plan::Leave(VerdictCode::InDoubt));
    assert_eq!(planned(vec![job(worn(running(NOW)))], rules), Plan::Leave(VerdictCode::Running));
}

#[test]
fn a_message_without_a_record_or_without_a_job_is_sent_and_one_with_nothing_to_do_is_deleted() {
    assert_eq!(planned(vec![with_digest(Some("sha256:any"), None)], RULES), send());
    let expired = JobRecord { expires_at: Some((NOW - MINUTE).to_seconds_floor()), ..record(Status::Succeeded) };
    assert_eq!(planned(vec![job(expired)], RULES), send(), "an expired record is none");
    let poison = JobRecord { generation: 10, ..record(Status::Dead) };
    assert_eq!(planned(vec![unreadable(Some(poison))], RULES), send(), "a newer consumer may read it, under another message id");
    assert_eq!(planned(vec![unreadable(None)], RULES), send());
    assert_eq!(planned(vec![nothing()], RULES), Plan::Delete);
}

#[test]
fn a_message_of_a_mended_job_is_made_again_and_one_of_other_content_stays() {
    let mended = |status| JobRecord {
        original_payload_digest: Some("sha256:first".into()),
        patched_payload_digests: vec!["sha256:second".into()],
        ..record(status)
    };
    for former in ["sha256:first", "sha256:second"] {
        let rebuilt = |resets| Plan::Send { resets, rebuilt_from: Some(job_id("a")) };
        let place = |status| vec![with_digest(Some(former), Some(mended(status)))];
        assert_eq!(planned(place(Status::Dead), RULES), rebuilt(vec![(job_id("a"), 2)]));
        assert_eq!(planned(place(Status::Accepted), RULES), rebuilt(vec![(job_id("a"), 2)]));
        assert_eq!(planned(place(Status::Succeeded), RULES), Plan::Delete);
        assert_eq!(planned(place(Status::InDoubt), RULES), Plan::Leave(VerdictCode::InDoubt));
    }
    assert_eq!(planned(vec![job(mended(Status::Dead))], RULES), reset(2), "the mended message itself");
    let back = JobRecord { original_payload_digest: Some("sha256:present".into()), ..record(Status::Dead) };
    assert_eq!(planned(vec![job(back)], RULES), reset(2), "mended back to the first payload");
    for status in Status::ALL {
        let stranger = with_digest(Some("sha256:stranger"), Some(mended(status)));
        assert_eq!(planned(vec![stranger], RULES), Plan::Leave(VerdictCode::OtherContent), "{status}");
    }
}

#[test]
fn a_job_whose_payload_is_not_in_its_message_is_nobody_elses() {
    assert_eq!(planned(vec![with_digest(None, Some(record(Status::Dead)))], RULES), reset(2));
    let held = JobRecord { payload_digest: None, ..record(Status::Dead) };
    assert_eq!(planned(vec![with_digest(Some("sha256:any"), Some(held))], RULES), reset(2));
}

#[test]
fn of_several_jobs_those_that_shall_run_send_the_message() {
    let other = |name: &str, status| JobRecord { job_id: job_id(name), ..record(status) };
    let (dead, done) = (other("a", Status::Dead), other("b", Status::Succeeded));
    let (doubtful, also_dead) = (other("c", Status::InDoubt), other("d", Status::Dead));
    let both = Plan::Send { resets: vec![(job_id("a"), 2), (job_id("d"), 2)], rebuilt_from: None };
    let all = vec![job(done.clone()), job(dead), nothing(), job(doubtful.clone()), job(also_dead)];
    assert_eq!(planned(all, RULES), both);
    assert_eq!(planned(vec![job(done.clone()), job(doubtful), nothing()], RULES), Plan::Leave(VerdictCode::InDoubt));
    assert_eq!(planned(vec![job(done.clone()), nothing(), job(done.clone())], RULES), Plan::Delete);
    assert_eq!(planned(vec![job(done), unreadable(None)], RULES), send());
}

fn any_record() -> impl Strategy<Value = JobRecord> {
    let status = proptest::sample::select(Status::ALL.to_vec());
    (status, 0u32..12, any::<bool>(), proptest::option::of(-2i64..3), any::<bool>()).prop_map(
        |(status, generation, effect_begun, lease, tried)| JobRecord {
            generation,
            effect_begun: effect_begun && matches!(status, Status::Running | Status::InDoubt),
            lease_until: lease.map(|ms| ikkai::clock::EpochMillis::from_i64(NOW.as_i64() + ms)),
            first_effect_at: tried.then_some(NOW - MINUTE),
            ..record(status)
        },
    )
}

proptest! {
    #[test]
    fn the_plan_foresees_what_the_record_answers(stored in any_record(), override_quarantine in any::<bool>()) {
        let max_generations = if override_quarantine { u32::MAX } else { RULES.max_generations };
        let wish = PutBack { generation: stored.generation, max_generations, payload: None };
        let decided = transition(Some(&stored), &Event::PutBack(wish), NOW);
        let (is_written, answer) = (decided.next.is_some(), decided.verdict);
        let plan = planned(vec![job(stored.clone())], Rules { override_quarantine, ..RULES });
        let foreseen = match (&plan, &answer) {
            (Plan::Send { resets, .. }, Verdict::Done(Status::Accepted) | Verdict::InDoubt(_) | Verdict::Waiting(_)) => {
                resets.len() == 1
            }
            // Its worker died, and the reset is its end.
            (Plan::Send { resets, .. }, Verdict::Quarantined) => resets.len() == 1 && is_written,
            (Plan::Delete, Verdict::AlreadySucceeded(_) | Verdict::Cancelled) => true,
            (Plan::Leave(VerdictCode::Running), Verdict::RunningElsewhere(_)) => true,
            (Plan::Leave(VerdictCode::InDoubt), Verdict::WasInDoubt(_)) => true,
            (Plan::Leave(VerdictCode::Quarantined), Verdict::Quarantined) => !is_written,
            _ => false,
        };
        prop_assert!(foreseen, "{:?} for {:?} of {:?}", plan, answer, stored);
    }
}
