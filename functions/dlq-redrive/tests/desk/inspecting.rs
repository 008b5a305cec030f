//! `inspect`.

use dlq_redrive::journal::{Journal as _, Run, conformance};
use dlq_redrive::protocol::{Filter, MessageVerdict, VerdictCode};
use ikkai::clock::Clock as _;
use ikkai::idempotency::{ErrorClass, Status};
use ikkai::queue::OutgoingMessage;
use ikkai::testing::SqsOperation;
use serde_json::{Value, json};

use crate::scene::{Scene, failed, mail};

fn inspect(job_id: &str) -> Value {
    json!({"action": "inspect", "jobId": job_id})
}

#[tokio::test(start_paused = true)]
async fn a_dead_job_is_shown_with_its_message_its_payload_and_what_to_do() {
    let scene = Scene::new();
    for number in 0..15 {
        scene.bury(&format!("other-{number}"), |_| {});
    }
    let job_id = scene.bury("mail", |record| record.business_id = Some("order-1001".to_owned()));
    let answer = scene.done(inspect(job_id.as_str())).await;
    assert_eq!(answer["record"]["jobId"], job_id.as_str());
    assert_eq!((&answer["record"]["status"], &answer["record"]["businessId"]), (&json!("dead"), &json!("order-1001")));
    assert_eq!(answer["message"]["jobIds"], json!([job_id.as_str()]));
    assert_eq!(answer["payload"], mail("mail").payload);
    assert_eq!(answer["verdict"], "redriven");
    assert!(answer["advice"].as_str().unwrap().contains("mend what it refers to"));
    assert_eq!(scene.visible("shop-email-dlq"), 16, "everything is released");
}

#[tokio::test(start_paused = true)]
async fn the_dead_letter_queue_is_left_alone_where_only_the_record_is_wanted() {
    let scene = Scene::new();
    let job_id = scene.bury("mail", |_| {});
    let answer = scene.done(json!({"action": "inspect", "jobId": job_id.as_str(), "message": false})).await;
    assert_eq!((answer.get("message"), &answer["seen"]), (None, &json!(0)));
    assert_eq!(scene.sqs.count("shop-email-dlq", SqsOperation::Receive), 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_without_a_message_says_what_a_redrive_by_its_id_does() {
    let scene = Scene::new();
    for (key, expected) in [
        ("dead", "redriven"),
        ("accepted", "redriven"),
        ("young", "changed"),
        ("succeeded", "already_done"),
        ("in_doubt", "in_doubt"),
        ("running", "running"),
        ("quarantined", "quarantined"),
        ("abandoned", "redriven"),
        ("unreadable", "not_rebuildable"),
    ] {
        let job_id = scene.record(key, |record| {
            record.status = Status::from_name(key).unwrap_or(Status::Dead);
            match key {
                "running" => record.lease_until = Some(scene.clock.now() + std::time::Duration::from_secs(60)),
                "quarantined" => record.generation = 3,
                // Its end is what a redrive comes to.
                "abandoned" => (record.status, record.generation) = (Status::Running, 3),
                "unreadable" => record.payload = None,
                "young" => record.status = Status::Accepted,
                "accepted" => record.updated_at = scene.clock.now() - std::time::Duration::from_secs(600),
                _ => {}
            }
        });
        let answer = scene.done(inspect(job_id.as_str())).await;
        assert_eq!(answer["verdict"], expected, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_without_a_record_is_found_by_its_job_id() {
    let scene = Scene::new();
    scene.sqs.bury("shop-email", &[OutgoingMessage::new(mail("mail").to_body())]);
    let answer = scene.done(inspect(mail("mail").job_id.unwrap().as_str())).await;
    assert_eq!((answer.get("record"), &answer["verdict"]), (None, &json!("redriven")));
    assert!(answer["advice"].as_str().unwrap().contains("no record"));
}

#[tokio::test(start_paused = true)]
async fn what_is_neither_recorded_nor_in_the_queue_is_unknown() {
    let scene = Scene::new();
    scene.bury("other", |_| {});
    let (code, message) = scene.refused(inspect(mail("mail").job_id.unwrap().as_str())).await;
    assert_eq!(code, "unknown_job");
    assert!(message.contains("1 that were looked at"), "{message}");
    assert_eq!(scene.refused(inspect("email.send")).await.0, "invalid_request");
}

#[tokio::test(start_paused = true)]
async fn a_payload_with_what_must_not_be_in_one_is_not_shown() {
    let scene = Scene::new();
    let job_id = scene.record("mail", |record| record.payload = Some(json!({"to": "ada@example.com"})));
    let answer = scene.done(inspect(job_id.as_str())).await;
    assert_eq!(answer.get("payload"), None);
}

#[tokio::test(start_paused = true)]
async fn the_runs_that_touched_the_job_are_told() {
    let scene = Scene::new();
    let job_id = scene.record("mail", |record| record.last_error = failed(ErrorClass::Transient, "provider_error"));
    let runs = ["touched", "named", "neither"];
    for (number, run_id) in runs.into_iter().enumerate() {
        let began_at = scene.clock.now() + std::time::Duration::from_secs(number as u64);
        let mut run: Run = conformance::run(run_id, &["email"], began_at);
        if run_id == "named" {
            run.summary.filter = Some(Filter { job_ids: vec![job_id.to_string()], ..Filter::default() });
        }
        scene.journal.begin(&run).await.unwrap();
    }
    let verdict =
        MessageVerdict { message_id: None, job_ids: vec![job_id.to_string()], verdict: VerdictCode::Redriven, detail: None };
    scene.journal.add_verdicts("touched", 1, &[verdict]).await.unwrap();
    let answer = scene.done(inspect(job_id.as_str())).await;
    let told: Vec<_> = answer["runs"].as_array().unwrap().iter().map(|run| run["runId"].as_str().unwrap()).collect();
    assert_eq!(told, ["named", "touched"]);
}
