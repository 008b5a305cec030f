//! `status`.

use std::time::Duration;

use dlq_redrive::journal::{Journal as _, conformance};
use ikkai::clock::Clock as _;
use ikkai::idempotency::Status;
use ikkai::queue::{OutgoingMessage, Queue as _, QueueName};
use serde_json::json;

use crate::scene::{START, Scene};

#[tokio::test(start_paused = true)]
async fn each_queue_is_told_with_its_depths_its_oldest_dead_letter_its_tasks_and_its_last_run() {
    let scene = Scene::new();
    scene.bury("old", |_| {});
    tokio::time::sleep(Duration::from_secs(60)).await;
    scene.bury("young", |_| {});
    let waiting: Vec<_> = (0..3).map(|number| OutgoingMessage::new(format!("{{\"n\":{number}}}"))).collect();
    scene.sqs.queue("shop-email").send(&waiting).await.unwrap();
    scene.move_tasks.add(&QueueName::new("shop-email-dlq"), "task-1", "COMPLETED");
    scene.move_tasks.add(&QueueName::new("shop-email-dlq"), "task-2", "RUNNING");
    for number in 1..=2 {
        let began_at = scene.clock.now() + Duration::from_secs(number);
        scene.journal.begin(&conformance::run(&format!("run-{number}"), &["email"], began_at)).await.unwrap();
    }

    let answer = scene.done(json!({"action": "status"})).await;
    let (email, billing) = (&answer["queues"][0], &answer["queues"][1]);
    assert_eq!((&email["name"], &email["jobType"]), (&json!("email"), &json!("email.send")));
    assert_eq!((&email["queue"], &email["deadLetterQueue"]), (&json!("shop-email"), &json!("shop-email-dlq")));
    assert_eq!(email["depth"], json!({"visible": 3, "inFlight": 0, "delayed": 0}));
    assert_eq!(email["deadLetters"], json!({"visible": 2, "inFlight": 0, "delayed": 0}));
    assert_eq!(email["oldestDeadLetterAt"], START.rfc3339().to_string());
    assert_eq!(email["lastRun"]["runId"], "run-2");
    let active: Vec<_> = email["moveTasks"].as_array().unwrap().iter().map(|task| task["taskHandle"].as_str().unwrap()).collect();
    assert_eq!(active, ["task-2"]);
    assert_eq!((&billing["name"], billing.get("oldestDeadLetterAt"), billing.get("lastRun")), (&json!("billing"), None, None));
    assert_eq!(answer.get("stuck"), None);
    assert_eq!(scene.visible("shop-email-dlq"), 2, "the sample is released");
}

#[tokio::test(start_paused = true)]
async fn jobs_that_do_not_go_on_by_themselves_are_found_and_those_with_a_time_of_their_own_are_not() {
    let scene = Scene::new();
    let now = scene.clock.now();
    let hours = |count: u64| Duration::from_secs(count * 3_600);
    for (key, status, retry_at, lease_until) in [
        ("accepted", Status::Accepted, None, None),
        ("waiting", Status::RetryScheduled, Some(now + hours(1)), None),
        ("crashed", Status::Running, None, Some(now + hours(1))),
        ("later", Status::Accepted, Some(now + hours(20)), None),
        ("long", Status::Running, Some(now), Some(now + hours(20))),
        ("dead", Status::Dead, None, None),
        ("done", Status::Succeeded, None, None),
    ] {
        scene.record(key, |record| {
            (record.status, record.retry_at, record.lease_until) = (status, retry_at, lease_until);
        });
    }
    tokio::time::sleep(hours(10)).await;
    scene.record("young", |record| record.status = Status::Accepted);
    let answer = scene.done(json!({"action": "status", "queue": "email", "stuckAfterSeconds": 3_600})).await;
    let mut found: Vec<_> = answer["stuck"].as_array().unwrap().iter().map(|job| job["status"].as_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, ["accepted", "retry_scheduled", "running"]);
    let billing = scene.done(json!({"action": "status", "queue": "billing", "stuckAfterSeconds": 3_600})).await;
    assert_eq!(billing["stuck"], json!([]), "jobs of other queues are not told");
    assert_eq!(scene.refused(json!({"action": "status", "stuckAfterSeconds": 5})).await.0, "invalid_request");
}
