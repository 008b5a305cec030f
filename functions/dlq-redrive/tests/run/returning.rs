//! Jobs that come straight back.

use std::time::Duration;

use dlq_redrive::protocol::{RunState, Stopped, VerdictCode};
use ikkai::idempotency::Status;
use ikkai::queue::{Inbox, OutgoingMessage};
use serde_json::json;

use crate::consumer::{Consumer, Mood, Statements};
use crate::scene::{Scene, check_sums, envelope};

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
async fn a_job_that_lacks_its_private_data_dies_of_it_again_however_it_is_put_back() {
    let scene = Scene::new();
    let consumer = Consumer::of(&scene, Statements);
    let job = envelope("mail-1");
    let job_id = job.job_id.clone().unwrap();
    scene.sqs.bury("email", &[OutgoingMessage::new(job.to_body())]);
    for round in 0..3 {
        scene.redrive(json!({})).await.unwrap();
        for _ in 0..6 {
            consumer.work_off().await;
            tokio::time::sleep(Duration::from_secs(200)).await;
        }
        let record = scene.record(&job_id);
        let code = record.last_error.as_ref().map(|error| error.code.as_str());
        assert_eq!((record.status, code, record.generation), (Status::Dead, Some("record_missing"), round), "never run");
        assert_eq!(scene.messages("email-dlq").len(), 1);
        let advice = dlq_redrive::protocol::Request::read(json!({"action": "inspect", "jobId": job_id.as_str()})).unwrap();
        let inspected = scene.workbench.answer(advice.to_json(), &scene.invocation()).await.to_json();
        assert!(inspected["advice"].as_str().unwrap().contains("post it through the API"), "{inspected}");
    }
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

/// A second after a second, what was put back at least `after` ago is dead again.
async fn dying(scene: &Scene, after: Duration, dies: impl Fn(usize) -> bool, buries: bool) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = scene.now();
        for (index, mut record) in scene.records.all().into_iter().enumerate() {
            let index = record.idempotency_key.as_deref().and_then(|name| name[5..].parse().ok()).unwrap_or(index);
            if record.status != Status::Accepted || record.updated_at + after > now || !dies(index) {
                continue;
            }
            (record.status, record.died_at, record.updated_at) = (Status::Dead, Some(now), now);
            let name = record.idempotency_key.clone().unwrap();
            scene.records.put(record);
            if buries {
                scene.sqs.bury("email", &[OutgoingMessage::new(envelope(&name).to_body())]);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_that_take_long_to_fail_again_stop_a_run_too() {
    let scene = Scene::new();
    scene.many_dead(1_000);
    let answer = tokio::select! {
        answer = scene.redrive(json!({ "ratePerSecond": 10 })) => answer.unwrap(),
        () = dying(&scene, Duration::from_secs(30), |_| true, false) => unreachable!(),
    };
    assert_eq!((answer.state, answer.stopped), (RunState::Stopped, Some(Stopped::ComingBack)), "{:?}", answer.tally);
    assert!(answer.tally.redriven < 500, "{:?}", answer.tally);
    check_sums(&answer);
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_counts_also_when_it_was_not_watched() {
    let scene = Scene::new();
    scene.many_dead(150);
    // Somebody else has some, so that the run looks on when it has met the others.
    let taken = scene.sqs.queue("email-dlq").receive(10, Duration::from_secs(600), Duration::ZERO).await.unwrap();
    let answer = tokio::select! {
        answer = scene.redrive(json!({ "ratePerSecond": 10 })) => answer.unwrap(),
        () = dying(&scene, Duration::from_secs(2), |index| index >= 60, true) => unreachable!(),
    };
    assert_eq!((taken.len(), answer.stopped), (10, Some(Stopped::ComingBack)), "{:?}", answer.tally);
    assert!(answer.tally.failed_again >= 5, "{:?}", answer.tally);
    check_sums(&answer);
}
