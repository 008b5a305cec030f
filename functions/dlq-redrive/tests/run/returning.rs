//! Jobs that come straight back.

use std::time::Duration;

use dlq_redrive::protocol::{RunState, Stopped, VerdictCode};
use ikkai::idempotency::Status;
use serde_json::json;

use crate::consumer::{Consumer, Mood};
use crate::scene::{Scene, check_sums};

#[tokio::test(start_paused = true)]
async fn a_run_stops_by_itself_when_its_jobs_come_straight_back() {
    let scene = Scene::new();
    scene.many_dead(500);
    let consumer = Consumer::new(&scene, Mood::Ill);
    let answer = tokio::select! {
        answer = scene.redrive(json!({ "ratePerSecond": 10 })) => answer.unwrap(),
        () = consumer.work() => unreachable!(),
    };
    assert_eq!((answer.state, answer.stopped), (RunState::Stopped, Some(Stopped::ComingBack)), "{:?}", answer.tally);
    assert!(answer.tally.redriven < 100, "{:?}", answer.tally);
    assert!(answer.tally.failed_again >= 5);
    check_sums(&answer);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_limit_goes_on_and_puts_each_job_back_once() {
    let scene = Scene::new();
    let jobs = scene.many_dead(200);
    scene.sqs.set_latency(Duration::from_millis(20));
    let consumer = Consumer::new(&scene, Mood::Ill);
    let request = json!({ "ratePerSecond": 4, "stopAtReturnedPercent": 100 });
    let answers = tokio::select! {
        answers = scene.redrive_to_the_end(Duration::from_secs(40), request) => answers,
        () = consumer.work() => unreachable!(),
    };
    let last = answers.last().unwrap();
    assert!(answers.len() > 1);
    assert_eq!((last.state, last.tally.redriven), (RunState::Finished, 200), "{:?}", last.tally);
    assert!(jobs.iter().all(|job| scene.record(job).generation == 1), "no job was put back twice by one run");
    check_sums(last);
}

#[tokio::test(start_paused = true)]
async fn few_failures_among_many_successes_do_not_stop_a_run() {
    let scene = Scene::new();
    scene.many_dead(200);
    let consumer = Consumer::new(&scene, Mood::Well);
    let moody = async {
        tokio::time::sleep(Duration::from_millis(5_500)).await;
        *consumer.mailer.mood.lock().unwrap() = Mood::Ill;
        // Long enough for two polls of the consumer: one of them finds messages, whoever comes first in a second.
        tokio::time::sleep(Duration::from_secs(2)).await;
        *consumer.mailer.mood.lock().unwrap() = Mood::Well;
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = scene.redrive(json!({ "ratePerSecond": 10 })) => answer.unwrap(),
        () = consumer.work() => unreachable!(),
        () = moody => unreachable!(),
    };
    assert_eq!((answer.state, answer.tally.redriven), (RunState::Finished, 200), "{answer:?}");
    assert!(answer.tally.succeeded_again > 50 && answer.tally.failed_again > 0, "{:?}", answer.tally);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_dead_again_under_an_old_message_has_come_back() {
    // Two messages of one job: the first puts it back, it fails at once, and the second lies further down.
    let scene = Scene::new();
    let twice = scene.dead("mail-twice");
    scene.many_dead(20);
    scene.dead("mail-twice");
    let failing = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        scene.set(&twice, |record| record.status = Status::Dead);
    };
    let (answer, ()) = tokio::join!(scene.redrive(json!({ "ratePerSecond": 5 })), failing);
    let answer = answer.unwrap();
    assert_eq!(answer.tally.by_verdict.get(&VerdictCode::CameBack), Some(&1), "{:?}", answer.tally);
    assert_eq!(answer.tally.redriven, 21);
}
