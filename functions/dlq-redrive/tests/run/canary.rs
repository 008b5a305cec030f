//! The first messages of a run, which the others wait for.

use std::time::Duration;

use dlq_redrive::protocol::{RunState, Stopped, VerdictCode};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::JobId;
use ikkai::queue::OutgoingMessage;
use serde_json::{Value, json};

use crate::consumer::{Consumer, Mood};
use crate::scene::{Scene, check_sums};

#[tokio::test(start_paused = true)]
async fn a_canary_that_is_well_lets_the_others_go() {
    let scene = Scene::new();
    let jobs = scene.many_dead(25);
    let consumer = Consumer::new(&scene, Mood::Well);
    let answer = tokio::select! {
        answer = scene.redrive(json!({ "canary": 1 })) => answer.unwrap(),
        () = consumer.work() => unreachable!(),
    };
    assert_eq!((answer.state, answer.tally.redriven), (RunState::Finished, 25));
    assert!(answer.tally.succeeded_again >= 1);
    check_sums(&answer);
    consumer.work_off().await;
    assert!(jobs.iter().all(|job| scene.record(job).status == Status::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn nothing_follows_before_the_canary_is_over() {
    let scene = Scene::new();
    scene.many_dead(25);
    let watching = async {
        tokio::time::sleep(Duration::from_secs(100)).await;
        scene.messages("email").len()
    };
    let sent = tokio::select! {
        answer = scene.redrive(json!({ "canary": 3 })) => panic!("nobody works on the canary: {answer:?}"),
        sent = watching => sent,
    };
    assert_eq!((sent, scene.messages("email-dlq").len()), (3, 22));
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_fails_again_stops_the_run() {
    let scene = Scene::new();
    scene.many_dead(25);
    let consumer = Consumer::new(&scene, Mood::Ill);
    let answer = tokio::select! {
        answer = scene.redrive(json!({ "canary": 1 })) => answer.unwrap(),
        () = consumer.work() => unreachable!(),
    };
    assert_eq!((answer.state, answer.stopped), (RunState::Stopped, Some(Stopped::CanaryFailed)));
    assert_eq!((answer.tally.redriven, answer.tally.failed_again), (1, 1));
    assert!(scene.messages("email-dlq").len() >= 24);
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now), "nothing stays hidden");
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_takes_too_long_stops_the_run() {
    let scene = Scene::new();
    scene.many_dead(5);
    let began = scene.now();
    let answer = scene.redrive(json!({ "canary": 2, "canaryTimeoutSeconds": 90 })).await.unwrap();
    assert_eq!((answer.state, answer.stopped), (RunState::Stopped, Some(Stopped::CanaryTimedOut)));
    assert_eq!((answer.tally.redriven, scene.messages("email-dlq").len()), (2, 3));
    assert!(scene.now().since(began) < Duration::from_secs(100));
}

#[tokio::test(start_paused = true)]
async fn a_slow_canary_is_waited_for_over_several_parts() {
    let scene = Scene::new();
    let jobs = scene.many_dead(15);
    let consumer = Consumer::new(&scene, Mood::Well);
    let late = async {
        tokio::time::sleep(Duration::from_secs(200)).await;
        consumer.work().await;
    };
    let answers = tokio::select! {
        answers = scene.redrive_to_the_end(Duration::from_secs(60), json!({ "canary": 1 })) => answers,
        () = late => unreachable!(),
    };
    assert!(answers.len() > 3);
    assert_eq!(answers[0].tally.redriven, 1);
    assert!(answers[0].continue_after_seconds.is_some_and(|seconds| seconds > 0), "{:?}", answers[0]);
    let last = answers.last().unwrap();
    assert_eq!((last.state, last.tally.redriven), (RunState::Finished, 15));
    consumer.work_off().await;
    assert!(jobs.iter().all(|job| scene.record(job).status == Status::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_canary_counts_over_all_parts() {
    let scene = Scene::new();
    scene.many_dead(5);
    let answers = scene.redrive_to_the_end(Duration::from_secs(60), json!({ "canary": 1, "canaryTimeoutSeconds": 120 })).await;
    assert!((3..=5).contains(&answers.len()), "{} parts", answers.len());
    assert_eq!(answers.last().unwrap().stopped, Some(Stopped::CanaryTimedOut));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_job_cannot_be_a_canary_and_follows_one() {
    let scene = Scene::new();
    scene.sqs.bury("email", &[OutgoingMessage::new("no job"), OutgoingMessage::new("neither")]);
    scene.many_dead(3);
    let consumer = Consumer::new(&scene, Mood::Well);
    let answer = tokio::select! {
        answer = scene.redrive(json!({ "canary": 1 })) => answer.unwrap(),
        () = consumer.work() => unreachable!(),
    };
    assert_eq!((answer.state, answer.tally.redriven), (RunState::Finished, 5), "{answer:?}");

    let scene = Scene::new();
    scene.sqs.bury("email", &[OutgoingMessage::new("no job"), OutgoingMessage::new("neither")]);
    let answer = scene.redrive(json!({ "canary": 1 })).await.unwrap();
    assert_eq!((answer.tally.redriven, scene.messages("email-dlq").len()), (0, 2));
    assert!(answer.detail.is_some());
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_done_already_is_no_canary() {
    let scene = Scene::new();
    let jobs = scene.many_dead(4);
    scene.set(&jobs[0], |record| record.status = Status::Succeeded);
    let answer = scene.redrive(json!({ "canary": 1, "canaryTimeoutSeconds": 5 })).await.unwrap();
    assert_eq!(answer.stopped, Some(Stopped::CanaryTimedOut));
    assert_eq!(answer.tally.by_verdict[&VerdictCode::AlreadyDone], 1);
    assert_eq!(answer.tally.redriven, 1);
}

#[tokio::test(start_paused = true)]
async fn a_part_that_dies_while_the_canary_is_waited_for_sends_no_second_one() {
    let scene = Scene::new();
    scene.many_dead(25);
    let request = json!({ "canary": 3, "canaryTimeoutSeconds": 5_000, "runId": "run-1" });
    tokio::select! {
        answer = scene.redrive(request.clone()) => panic!("nobody works on the canary: {answer:?}"),
        () = tokio::time::sleep(Duration::from_secs(10)) => {}
    }
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let answer = scene.redrive_within(Duration::from_secs(60), request).await.unwrap();
    assert_eq!((answer.state, answer.tally.redriven, scene.messages("email").len()), (RunState::Continues, 3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_message_none_of_whose_jobs_runs_is_no_canary() {
    let scene = Scene::new();
    let place = |object: Value| {
        json!({"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventName": "ObjectCreated:Put",
            "s3": {"bucket": {"name": "uploads"}, "object": object}})
    };
    let done = json!({"key": "a.png", "size": 3, "eTag": "d41d8cd98f00b204e9800998ecf8427e", "sequencer": "0A1B2C3D4E5F678901"});
    let body = json!({ "Records": [place(done), place(json!({"key": "b.png"}))] }).to_string();
    scene.sqs.bury("email", &[OutgoingMessage::new(body)]);
    let seen = scene.redrive(json!({ "dryRun": true })).await.unwrap();
    let job_id = JobId::parse_stored(&seen.verdicts[0].job_ids[0]).unwrap();
    let job_type = job_id.job_type();
    scene.records.put(JobRecord::new(job_id, job_type, 1, "test-caller", Status::Succeeded, scene.now()));
    scene.many_dead(3);
    let answer = scene.redrive(json!({ "canary": 1, "canaryTimeoutSeconds": 5 })).await.unwrap();
    assert_eq!((answer.stopped, answer.tally.redriven), (Some(Stopped::CanaryTimedOut), 1), "{answer:?}");
}
