//! Every state that a record can be in when its message lies in the dead-letter queue.

use std::time::Duration;

use dlq_redrive::protocol::{RunState, VerdictCode};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::payload_digest;
use ikkai::queue::{OutgoingMessage, Queue};
use serde_json::json;

use crate::consumer::{Consumer, Mood};
use crate::scene::{Scene, codes, envelope};

/// The verdict on one message, whether it is in its queue, and whether it is still in the dead-letter queue.
async fn outcome(change: impl FnOnce(&mut JobRecord)) -> (VerdictCode, bool, bool) {
    let scene = Scene::new();
    scene.buried("mail-1", change);
    let answer = scene.redrive(json!({})).await.unwrap();
    (codes(&answer.verdicts)[0], !scene.messages("email").is_empty(), !scene.messages("email-dlq").is_empty())
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_over_needs_no_message() {
    assert_eq!(outcome(|record| record.status = Status::Succeeded).await, (VerdictCode::AlreadyDone, false, false));
    assert_eq!(outcome(|record| record.status = Status::Cancelled).await, (VerdictCode::AlreadyDone, false, false));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_never_given_up_is_sent_as_it_is() {
    for status in [Status::Accepted, Status::RetryScheduled] {
        let scene = Scene::new();
        let job = scene.buried("mail-1", |record| record.status = status);
        let answer = scene.redrive(json!({})).await.unwrap();
        assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
        let record = scene.record(&job);
        assert_eq!(
            (record.status, record.generation, record.put_back_at),
            (status, 0, Some(scene.now())),
            "no new life, but noted"
        );
        assert_eq!(scene.store.writes(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_in_doubt_stays_until_somebody_resolves_it() {
    assert_eq!(outcome(|record| record.status = Status::InDoubt).await, (VerdictCode::InDoubt, false, true));
}

#[tokio::test(start_paused = true)]
async fn a_running_job_is_left_while_its_lease_holds() {
    let lease = |end: u64| {
        move |record: &mut JobRecord| {
            record.status = Status::Running;
            record.lease_token = Some("worker".into());
            record.lease_until = Some(crate::scene::START + Duration::from_millis(end));
        }
    };
    assert_eq!(outcome(lease(60_000)).await, (VerdictCode::Running, false, true));
    // Its worker died long ago, and took nothing with it.
    let over = |record: &mut JobRecord| {
        lease(0)(record);
        record.lease_until = Some(crate::scene::START - Duration::from_secs(60));
    };
    assert_eq!(outcome(over).await, (VerdictCode::Redriven, true, false));
    // It died while its effect was on the way: nobody knows.
    let in_effect = |record: &mut JobRecord| {
        over(record);
        record.effect_begun = true;
    };
    let scene = Scene::new();
    let job = scene.buried("mail-1", in_effect);
    assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::InDoubt]);
    assert_eq!((scene.record(&job).status, scene.messages("email").len()), (Status::InDoubt, 0));
}

#[tokio::test(start_paused = true)]
async fn a_message_without_a_record_is_sent() {
    let scene = Scene::new();
    scene.sqs.bury("email", &[OutgoingMessage::new(envelope("mail-1").to_body())]);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
    let consumer = Consumer::new(&scene, Mood::Well);
    consumer.work_off().await;
    assert_eq!(scene.records.all()[0].status, Status::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn what_was_put_back_too_often_is_quarantined_unless_it_is_overridden() {
    let scene = Scene::new();
    let job = scene.buried("mail-1", |record| record.generation = 10);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Quarantined]);
    assert_eq!((scene.messages("email-dlq").len(), scene.record(&job).generation), (1, 10), "kept");
    let mut metrics = Vec::new();
    scene.workbench.metrics.flush(scene.now(), &mut metrics).unwrap();
    assert!(String::from_utf8(metrics).unwrap().contains("RedriveQuarantined"));

    let answer = scene.redrive(json!({ "overrideQuarantine": true })).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
    assert_eq!(scene.record(&job).generation, 11);
}

/// Its last worker died at the last receive, and it was put back as often as it may be.
fn abandoned(record: &mut JobRecord) {
    record.status = Status::Running;
    record.generation = 10;
    record.died_at = None;
    record.lease_token = Some("worker".into());
    record.lease_until = Some(crate::scene::START - Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_after_its_last_put_back_ends_with_its_reason() {
    let scene = Scene::new();
    let job = scene.buried("mail-1", abandoned);
    scene.redrive(json!({ "dryRun": true })).await.unwrap();
    assert_eq!(scene.record(&job).status, Status::Running, "a dry run writes nothing");
    let answer = scene.redrive(json!({ "canary": 1 })).await.unwrap();
    assert_eq!((codes(&answer.verdicts), answer.state), (vec![VerdictCode::Quarantined], RunState::Finished));
    let ended = scene.record(&job);
    let code = ended.last_error.as_ref().map(|error| error.code.as_str());
    assert_eq!((ended.status, ended.generation, code), (Status::Dead, 10, Some("abandoned")));
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (0, 1), "kept, and not moved in circles");
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_after_its_last_put_back_and_may_have_had_its_effect_ends_in_doubt() {
    let scene = Scene::new();
    let job = scene.buried("mail-1", |record| {
        abandoned(record);
        record.first_effect_at = Some(crate::scene::START - Duration::from_secs(90));
    });
    assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::InDoubt]);
    assert_eq!((scene.record(&job).status, scene.messages("email-dlq").len()), (Status::InDoubt, 1));
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_after_its_last_put_back_runs_when_the_quarantine_is_overridden() {
    let scene = Scene::new();
    let job = scene.buried("mail-1", abandoned);
    let answer = scene.redrive(json!({ "overrideQuarantine": true })).await.unwrap();
    assert_eq!((codes(&answer.verdicts), scene.record(&job).generation), (vec![VerdictCode::Redriven], 11));
}

#[tokio::test(start_paused = true)]
async fn a_message_of_another_payload_than_the_jobs_is_left() {
    let other = |record: &mut JobRecord| record.payload_digest = Some(payload_digest(&json!({ "other": true })));
    assert_eq!(outcome(other).await, (VerdictCode::OtherContent, false, true));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_somebody_sent_into_the_dead_letter_queue_goes_to_its_queue() {
    let scene = Scene::new();
    let body = envelope("mail-1").to_body();
    scene.sqs.queue("email-dlq").send(&[OutgoingMessage::new(body.clone())]).await.unwrap();
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
    assert_eq!(scene.messages("email")[0].body, body);
}

#[tokio::test(start_paused = true)]
async fn a_message_from_a_queue_of_another_stack_is_left() {
    let scene = Scene::new();
    scene.sqs.create("strange", ikkai::testing::QueueRules::default().dead_letters("email-dlq", 3));
    scene.sqs.bury("strange", &[OutgoingMessage::new(envelope("mail-1").to_body())]);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::NoSource]);
    assert_eq!(scene.messages("email-dlq").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_goes_back_to_the_queue_it_came_from_and_not_to_the_one_that_was_asked_for() {
    let scene = Scene::new();
    scene.sqs.create("billing", ikkai::testing::QueueRules::default().dead_letters("email-dlq", 3));
    scene.sqs.bury("billing", &[OutgoingMessage::new(envelope("mail-1").to_body())]);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
    assert_eq!((scene.messages("billing").len(), scene.messages("email").len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_somebody_changed_meanwhile_is_not_touched() {
    // Between the look at the record and the put-back another operator puts the job back, and it dies once more.
    let scene = Scene::new();
    let job = scene.dead("mail-1");
    let other = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        scene.set(&job, |record| {
            record.generation = 1;
            record.updated_at = scene.now();
        });
    };
    scene.store.fail_next(ikkai::testing::StoreCall::Replace, ikkai::testing::StoreFault::Delay(Duration::from_secs(1)));
    let (answer, ()) = tokio::join!(scene.redrive(json!({})), other);
    assert_eq!(codes(&answer.unwrap().verdicts), [VerdictCode::Changed]);
    assert_eq!((scene.messages("email").len(), scene.record(&job).generation), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_whole_way_from_a_failure_to_the_mend() {
    let scene = Scene::new();
    let consumer = Consumer::new(&scene, Mood::Ill);
    scene.sqs.queue("email").send(&[OutgoingMessage::new(envelope("mail-1").to_body())]).await.unwrap();
    for _ in 0..10 {
        consumer.work_off().await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    assert_eq!((scene.messages("email-dlq").len(), scene.records.all()[0].status), (1, Status::Dead));

    *consumer.mailer.mood.lock().unwrap() = Mood::Well;
    assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::Redriven]);
    consumer.work_off().await;
    assert_eq!((scene.records.all()[0].status, consumer.most_effects()), (Status::Succeeded, 1));
    assert!(scene.sqs.all_messages().is_empty());
}
