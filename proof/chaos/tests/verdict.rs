//! Each way in which a run can fail is seen, and a run that counted nothing does not pass.

use ikkai::idempotency::Status;
use ikkai_chaos::book::{Heard, Kind};
use ikkai_chaos::fault::Fault;
use ikkai_chaos::verdict::{Broken, DeadLetter, Delivery, Evidence, Job, Limits, Recorded, Verdict, judge};

const LIMITS: Limits = Limits { mail: 3, charge: 5, delivery: 10 };

fn recorded(status: Status) -> Recorded {
    Recorded { status, attempts: 1, crashes: 0, generation: 0, reason: None }
}

fn job(id: &str, kind: Kind) -> Job {
    let record = Some(recorded(Status::Succeeded));
    Job { id: id.to_owned(), kind, heard: Heard::Accepted, record, effects: 1, told: None }
}

/// A run in which everything was kept: a mail whose caller was told, a charge whose first worker died, one fault of each kind.
fn well() -> Evidence {
    let crashed = Recorded { attempts: 2, crashes: 1, ..recorded(Status::Succeeded) };
    let charge = Job { record: Some(crashed), ..job("charge-1", Kind::Charge) };
    Evidence {
        jobs: vec![Job { told: Some(1), ..job("mail-1", Kind::Mail) }, charge],
        deliveries: vec![Delivery { id: "delivery-1".to_owned(), record: recorded(Status::Succeeded), told: 1 }],
        mails: 1,
        payments: 1,
        faults: Fault::ALL.into_iter().map(|fault| (fault, 1)).collect(),
        ..Evidence::default()
    }
}

fn judged(change: impl FnOnce(&mut Evidence)) -> Verdict {
    let mut evidence = well();
    change(&mut evidence);
    judge(&evidence, LIMITS)
}

/// What is broken, and by which job.
fn broken(change: impl FnOnce(&mut Evidence)) -> Vec<(Broken, Option<String>)> {
    judged(change).violations.into_iter().map(|violation| (violation.broken, violation.job)).collect()
}

fn by(broken: Broken, job: &str) -> Vec<(Broken, Option<String>)> {
    vec![(broken, Some(job.to_owned()))]
}

fn record(evidence: &mut Evidence, place: usize) -> &mut Recorded {
    evidence.jobs[place].record.as_mut().unwrap()
}

#[test]
fn a_run_in_which_everything_was_kept_passes() {
    assert_eq!(judge(&well(), LIMITS), Verdict::default());
    assert!(judge(&well(), LIMITS).is_well());
}

#[test]
fn an_accepted_job_without_a_record_is_lost() {
    let lost = |evidence: &mut Evidence| {
        evidence.jobs.push(Job { record: None, effects: 0, ..job("mail-2", Kind::Mail) });
    };
    assert_eq!(broken(lost), by(Broken::Vanished, "mail-2"));
}

#[test]
fn an_accepted_job_that_has_not_ended_is_lost() {
    for status in [Status::Accepted, Status::Running, Status::RetryScheduled] {
        let stuck = |evidence: &mut Evidence| {
            let record = Some(recorded(status));
            evidence.jobs.push(Job { record, effects: 0, ..job("charge-2", Kind::Charge) });
        };
        assert_eq!(broken(stuck), by(Broken::NeverEnded, "charge-2"), "{status}");
    }
}

#[test]
fn a_job_that_is_done_by_its_record_alone_is_lost() {
    let undone = |evidence: &mut Evidence| evidence.jobs.push(Job { effects: 0, ..job("mail-2", Kind::Mail) });
    assert_eq!(broken(undone), by(Broken::NotDone, "mail-2"));
}

#[test]
fn a_job_that_can_be_done_and_stays_dead_is_told_with_its_reason() {
    let verdict = judged(|evidence| {
        let record = Recorded { reason: Some("attempts_used_up".to_owned()), ..recorded(Status::Dead) };
        evidence.jobs.push(Job { record: Some(record), effects: 0, ..job("mail-2", Kind::Mail) });
    });
    let [violation] = &verdict.violations[..] else { panic!("{verdict:?}") };
    assert_eq!((violation.broken, violation.found.as_str()), (Broken::StaysDead, "attempts_used_up"));
}

#[test]
fn a_second_mail_is_seen() {
    let twice = |evidence: &mut Evidence| {
        evidence.jobs[0].effects = 2;
        evidence.mails = 2;
    };
    assert_eq!(broken(twice), by(Broken::Doubled, "mail-1"));
}

#[test]
fn a_second_charge_is_seen() {
    let twice = |evidence: &mut Evidence| {
        evidence.jobs[1].effects = 2;
        evidence.payments = 2;
    };
    assert_eq!(broken(twice), by(Broken::Doubled, "charge-1"));
}

#[test]
fn a_second_effect_is_seen_whatever_its_client_heard_and_however_its_job_ended() {
    for (heard, status) in [(Heard::Nothing, Status::Succeeded), (Heard::Accepted, Status::InDoubt)] {
        let twice = |evidence: &mut Evidence| {
            evidence.jobs[0] = Job { heard, effects: 2, ..evidence.jobs[0].clone() };
            record(evidence, 0).status = status;
            evidence.mails = 2;
        };
        assert_eq!(broken(twice).first(), by(Broken::Doubled, "mail-1").first(), "{heard:?} {status}");
    }
}

#[test]
fn a_job_in_doubt_is_listed_with_what_its_provider_knows_and_breaks_no_promise() {
    for effects in [0, 1] {
        let verdict = judged(|evidence| {
            let record = Recorded { reason: Some("provider_answer_lost".to_owned()), ..recorded(Status::InDoubt) };
            evidence.jobs.push(Job { record: Some(record), effects, ..job("mail-2", Kind::Mail) });
            evidence.mails += effects;
            evidence.dead_letters.push(DeadLetter { queue: "email-dlq".to_owned(), job: Some("mail-2".to_owned()) });
        });
        assert_eq!(verdict.violations, []);
        let [doubt] = &verdict.doubts[..] else { panic!("{verdict:?}") };
        let told = (doubt.job.as_str(), doubt.effects, doubt.reason.as_deref());
        assert_eq!(told, ("mail-2", effects, Some("provider_answer_lost")));
    }
}

#[test]
fn a_doubt_that_is_left_where_all_were_settled_is_told_with_its_reason() {
    assert!(judge(&well(), LIMITS).without_doubt().is_well());
    let verdict = judged(|evidence| {
        record(evidence, 0).status = Status::InDoubt;
        record(evidence, 0).reason = Some("provider_timeout".to_owned());
    });
    let verdict = verdict.without_doubt();
    let [violation] = &verdict.violations[..] else { panic!("{verdict:?}") };
    assert_eq!((violation.broken, violation.found.as_str()), (Broken::StaysInDoubt, "provider_timeout"));
    assert_eq!(verdict.doubts, []);
}

#[test]
fn more_attempts_than_allowed_are_seen() {
    assert_eq!(broken(|evidence| record(evidence, 0).attempts = 3), []);
    assert_eq!(broken(|evidence| record(evidence, 0).attempts = 4), by(Broken::TooManyAttempts, "mail-1"));
    assert_eq!(broken(|evidence| record(evidence, 1).attempts = 6), by(Broken::TooManyAttempts, "charge-1"));
    assert_eq!(broken(|evidence| evidence.deliveries[0].record.attempts = 11), by(Broken::TooManyAttempts, "delivery-1"));
}

#[test]
fn a_caller_who_was_not_told_is_seen() {
    let untold = |evidence: &mut Evidence| {
        evidence.jobs.push(Job { told: Some(0), ..job("charge-2", Kind::Charge) });
        evidence.payments += 1;
    };
    assert_eq!(broken(untold), by(Broken::Untold, "charge-2"));
}

#[test]
fn a_delivery_that_never_ends_stays_dead_or_told_nobody_is_seen() {
    for (status, what) in [(Status::Running, Broken::NeverEnded), (Status::Dead, Broken::StaysDead)] {
        assert_eq!(broken(|evidence| evidence.deliveries[0].record.status = status), by(what, "delivery-1"), "{status}");
    }
    assert_eq!(broken(|evidence| evidence.deliveries[0].told = 0), by(Broken::NotDone, "delivery-1"));
    assert_eq!(broken(|evidence| evidence.deliveries[0].told = 2), [], "deliveries are at least once");
}

#[test]
fn a_delivery_in_doubt_is_listed_with_what_its_receiver_was_told() {
    let verdict = judged(|evidence| evidence.deliveries[0].record.status = Status::InDoubt);
    assert_eq!(verdict.violations, []);
    assert_eq!(verdict.doubts.iter().map(|doubt| (doubt.job.as_str(), doubt.effects)).collect::<Vec<_>>(), [("delivery-1", 1)]);
}

#[test]
fn a_dead_letter_of_a_job_that_is_not_in_doubt_is_unexplained() {
    let letter = |job: Option<&str>| DeadLetter { queue: "email-dlq".to_owned(), job: job.map(str::to_owned) };
    let done = |evidence: &mut Evidence| evidence.dead_letters.push(letter(Some("mail-1")));
    assert_eq!(broken(done), by(Broken::UnexplainedDeadLetter, "mail-1"));
    let of_nobody = |evidence: &mut Evidence| evidence.dead_letters.push(letter(None));
    assert_eq!(broken(of_nobody), [(Broken::UnexplainedDeadLetter, None)]);
}

#[test]
fn a_queue_that_still_holds_messages_is_seen() {
    assert_eq!(broken(|evidence| _ = evidence.waiting.insert("email".to_owned(), 0)), []);
    assert_eq!(broken(|evidence| _ = evidence.waiting.insert("email".to_owned(), 2)), [(Broken::QueueNotEmpty, None)]);
}

#[test]
fn effects_that_belong_to_no_job_are_seen() {
    assert_eq!(broken(|evidence| evidence.mails = 2), [(Broken::StrayEffects, None)]);
    assert_eq!(broken(|evidence| evidence.payments = 2), [(Broken::StrayEffects, None)]);
    let unrecorded = |evidence: &mut Evidence| {
        evidence.jobs.push(Job { record: None, heard: Heard::Nothing, ..job("mail-2", Kind::Mail) });
        evidence.mails += 1;
    };
    assert_eq!(broken(unrecorded), by(Broken::StrayEffects, "mail-2"));
}

#[test]
fn a_job_that_no_client_heard_of_may_be_missing_or_wait_for_its_message_but_not_hang_half_done() {
    let unheard = |status: Option<Status>| {
        move |evidence: &mut Evidence| {
            let record = status.map(recorded);
            evidence.jobs.push(Job { record, heard: Heard::Nothing, effects: 0, ..job("mail-2", Kind::Mail) });
        }
    };
    assert_eq!(broken(unheard(None)), []);
    assert_eq!(broken(unheard(Some(Status::Accepted))), []);
    assert_eq!(broken(unheard(Some(Status::Running))), by(Broken::NeverEnded, "mail-2"));
}

#[test]
fn a_run_that_counted_nothing_does_not_pass() {
    let verdict = judge(&Evidence::default(), LIMITS);
    let found: Vec<_> = verdict.violations.iter().map(|violation| violation.found.as_str()).collect();
    let missing =
        ["no accepted jobs", "no jobs that succeeded", "no mails", "no payments", "no deliveries", "no kinds of faults"];
    assert_eq!(found, missing);
}

#[test]
fn a_kind_of_fault_that_was_wanted_and_never_happened_does_not_pass() {
    for fault in Fault::ALL {
        let verdict = judged(|evidence| _ = evidence.faults.insert(fault, 0));
        let [violation] = &verdict.violations[..] else { panic!("{verdict:?}") };
        assert_eq!((violation.broken, violation.found.clone()), (Broken::NothingCounted, format!("no {}", fault.name())));
    }
}

#[test]
fn workers_that_died_with_nothing_in_hand_prove_nothing() {
    let idle = |evidence: &mut Evidence| record(evidence, 1).crashes = 0;
    assert_eq!(broken(idle), [(Broken::NothingCounted, None)]);
    let without_kills = |evidence: &mut Evidence| {
        idle(evidence);
        evidence.faults.retain(|fault, _| !matches!(fault, Fault::Kill | Fault::Freeze));
    };
    assert_eq!(broken(without_kills), []);
}
