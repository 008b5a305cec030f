//! Messages that are put back without anything in the way.

use dlq_redrive::protocol::{RunState, VerdictCode};
use ikkai::idempotency::Status;
use ikkai::testing::SqsOperation;
use serde_json::json;

use crate::consumer::{Consumer, Mood};
use crate::scene::{Scene, check_sums, codes};

#[tokio::test(start_paused = true)]
async fn dead_jobs_are_put_back_and_run_once() {
    let scene = Scene::new();
    let jobs = scene.many_dead(3);
    let answer = scene.redrive(json!({})).await.unwrap();

    assert_eq!((answer.state, answer.tally.redriven), (RunState::Finished, 3), "{answer:?}");
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven; 3]);
    check_sums(&answer);
    assert_eq!((scene.messages("email-dlq").len(), scene.messages("email").len()), (0, 3));
    for job in &jobs {
        let record = scene.record(job);
        assert_eq!((record.status, record.generation, record.attempts), (Status::Accepted, 1, 0));
    }

    let consumer = Consumer::new(&scene, Mood::Well);
    consumer.work_off().await;
    assert!(jobs.iter().all(|job| scene.record(job).status == Status::Succeeded));
    assert_eq!((consumer.most_effects(), scene.messages("email").len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let scene = Scene::new();
    let jobs = scene.many_dead(12);
    scene.set(&jobs[3], |record| record.status = Status::Succeeded);
    let before = scene.records.all().len();
    let answer = scene.redrive(json!({ "dryRun": true })).await.unwrap();

    assert_eq!((answer.state, answer.dry_run, answer.tally.matched), (RunState::Finished, true, 12));
    assert_eq!(answer.tally.by_verdict[&VerdictCode::Redriven], 11);
    assert_eq!(answer.tally.by_verdict[&VerdictCode::AlreadyDone], 1);
    check_sums(&answer);
    assert_eq!((scene.store.writes(), scene.records.all().len()), (0, before));
    assert_eq!((scene.messages("email-dlq").len(), scene.messages("email").len()), (12, 0));
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now), "nothing stays hidden");
    assert_eq!(scene.sqs.count("email-dlq", SqsOperation::Delete), 0);
    assert_eq!(scene.journal.lock_of("email"), None);
}

#[tokio::test(start_paused = true)]
async fn a_message_costs_a_read_a_write_and_a_tenth_of_each_call() {
    let scene = Scene::new();
    scene.many_dead(40);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(answer.tally.redriven, 40);
    assert_eq!((scene.store.reads(), scene.store.writes()), (40, 40));
    assert_eq!(scene.sqs.count("email", SqsOperation::Send), 4);
    assert_eq!(scene.sqs.count("email-dlq", SqsOperation::Delete), 4);
    // The snapshot says that there are no more.
    assert_eq!(scene.sqs.count("email-dlq", SqsOperation::Receive), 4);
    assert_eq!(scene.sqs.count("email-dlq", SqsOperation::ChangeVisibility), 0);
}
