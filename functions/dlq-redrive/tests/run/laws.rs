//! Laws of a run, whatever goes wrong in it.

use std::collections::HashMap;
use std::time::Duration;

use dlq_redrive::protocol::{RedriveAnswer, VerdictCode};
use dlq_redrive::run;
use ikkai::idempotency::Status;
use ikkai::queue::{AttributeData, AttributeValue, OutgoingMessage, QueueError};
use ikkai::testing::{Moment, SqsFault, SqsOperation, StoredMessage};
use proptest::prelude::*;
use serde_json::json;

use crate::scene::{Scene, check_sums, email, redrive};

/// What lies in the dead-letter queue.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Job(Status),
    NoRecord,
    NoJob,
}

#[derive(Debug, Clone)]
struct Trouble {
    faults: Vec<(SqsOperation, SqsFault)>,
    crash: Option<(u64, Moment)>,
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => Just(Kind::Job(Status::Dead)),
        1 => Just(Kind::Job(Status::Accepted)),
        1 => Just(Kind::Job(Status::RetryScheduled)),
        1 => Just(Kind::Job(Status::InDoubt)),
        1 => Just(Kind::Job(Status::Succeeded)),
        1 => Just(Kind::Job(Status::Cancelled)),
        1 => Just(Kind::NoRecord),
        1 => Just(Kind::NoJob),
    ]
}

fn fault() -> impl Strategy<Value = (SqsOperation, SqsFault)> {
    let operation = prop_oneof![Just(SqsOperation::Send), Just(SqsOperation::Delete)];
    let error = prop_oneof![
        Just(QueueError::Unavailable { operation: "a test", code: "ThrottlingException".into() }),
        Just(QueueError::Refused { operation: "a test", code: "InternalFailure".into() }),
    ];
    let fault = (0..5_u8, error, 0..10_usize).prop_map(|(kind, error, entry)| match kind {
        0 => SqsFault::Refuse(error),
        1 => SqsFault::LoseAnswer,
        2 => SqsFault::FailEntries(vec![(entry, error)]),
        3 => SqsFault::Unmentioned { entries: vec![entry], done: true },
        _ => SqsFault::Unmentioned { entries: vec![entry], done: false },
    });
    (operation, fault)
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let moment = prop_oneof![Just(Moment::Before), Just(Moment::After)];
    (proptest::collection::vec(fault(), 0..4), proptest::option::of((1..12_u64, moment)))
        .prop_map(|(faults, crash)| Trouble { faults, crash })
}

/// Buries the messages, each with attributes of its own. Which of them run again, by body.
fn bury(scene: &Scene, kinds: &[Kind]) -> HashMap<String, bool> {
    let mut runs = HashMap::new();
    for (index, kind) in kinds.iter().enumerate() {
        let name = format!("mail-{index}");
        let status = if let Kind::Job(status) = kind { *status } else { Status::Dead };
        let (record, body) = email(&name, status, scene.now());
        let body = if matches!(kind, Kind::NoJob) { format!("no job {index}") } else { body };
        if matches!(kind, Kind::Job(_)) {
            scene.records.put(record);
        }
        let value = AttributeValue { data_type: "Binary".into(), value: AttributeData::Bytes(name.into_bytes()) };
        let message = OutgoingMessage { attributes: vec![("name".into(), value)], ..OutgoingMessage::new(body.clone()) };
        scene.sqs.bury("email", &[message]);
        runs.insert(body, !matches!(status, Status::Succeeded | Status::Cancelled));
    }
    runs
}

async fn play(kinds: &[Kind], trouble: &Trouble) -> Result<(), TestCaseError> {
    let scene = Scene::new();
    let runs = bury(&scene, kinds);
    let before: HashMap<String, StoredMessage> =
        scene.messages("email-dlq").into_iter().map(|message| (message.body.clone(), message)).collect();
    for (operation, fault) in &trouble.faults {
        let queue = if *operation == SqsOperation::Send { "email" } else { "email-dlq" };
        scene.sqs.fail_next(queue, *operation, fault.clone());
    }
    if let Some((call, moment)) = trouble.crash {
        scene.sqs.crash_at(call, moment);
    }
    let (request, invocation) = (redrive(json!({ "runId": "run-1" })), scene.invocation());
    let answer = tokio::select! {
        answer = run::redrive(&scene.workbench, &request, &invocation) => Some(answer.unwrap()),
        () = scene.sqs.crashed() => None,
    };
    scene.sqs.heal();
    check(&scene, &before, &runs, trouble, answer.as_ref())?;

    // Whatever happened, another run brings the rest home.
    tokio::time::sleep(Duration::from_secs(1_500)).await;
    scene.redrive(json!({ "runId": "run-2" })).await.unwrap();
    let left: Vec<_> = scene.messages("email-dlq").into_iter().map(|message| message.body).collect();
    let doubtful = kinds.iter().filter(|kind| matches!(kind, Kind::Job(Status::InDoubt))).count();
    prop_assert_eq!(left.len(), doubtful);
    Ok(())
}

fn check(
    scene: &Scene,
    before: &HashMap<String, StoredMessage>,
    runs: &HashMap<String, bool>,
    trouble: &Trouble,
    answer: Option<&RedriveAnswer>,
) -> Result<(), TestCaseError> {
    let mut copies: HashMap<String, usize> = HashMap::new();
    for (_, message) in scene.sqs.all_messages() {
        let Some(original) = before.get(&message.body) else {
            return Err(TestCaseError::fail(format!("a body that was never sent: {}", message.body)));
        };
        prop_assert_eq!(&message.attributes, &original.attributes, "attributes are kept");
        *copies.entry(message.body).or_default() += 1;
    }
    let most = 1 + trouble.faults.len() + usize::from(trouble.crash.is_some());
    for (body, runs_again) in runs {
        let found = copies.get(body).copied().unwrap_or(0);
        prop_assert!(found >= 1 || !runs_again, "a message is lost: {}", body);
        prop_assert!(found <= most, "{} copies of {}", found, body);
    }
    let Some(answer) = answer else { return Ok(()) };
    check_sums(answer);
    prop_assert_eq!(answer.tally.snapshot, before.len() as u64);
    prop_assert!(answer.tally.matched <= answer.tally.seen);
    let of = |code| answer.tally.by_verdict.get(&code).copied().unwrap_or(0);
    let gone = of(VerdictCode::Redriven) + of(VerdictCode::AlreadyDone);
    let left = scene.messages("email-dlq").len() as u64;
    // One whose delete was done and not confirmed may be gone too.
    prop_assert!(gone + left <= answer.tally.snapshot, "{} gone, {} left: {:?}", gone, left, answer.tally);
    prop_assert!(gone + left + of(VerdictCode::SentNotDeleted) + of(VerdictCode::NotDeleted) >= answer.tally.snapshot);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_a_fault_adds_at_most_a_copy_contents_are_kept_and_counts_add_up(
        kinds in proptest::collection::vec(kind(), 0..25),
        trouble in trouble(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(&kinds, &trouble))?;
    }
}
