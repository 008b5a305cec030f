//! What is logged of a run. By itself: a captured log takes the lines of a whole process.

#[path = "run/scene.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod scene;

use ikkai::idempotency::Status;
use ikkai::observability::logs::capture::Captured;
use ikkai::observability::logs::{LevelSetting, LogSetup};
use ikkai::queue::OutgoingMessage;
use serde_json::json;

use crate::scene::Scene;

#[tokio::test(start_paused = true)]
async fn each_message_has_one_log_line_and_none_of_its_content() {
    let scene = Scene::new();
    let job = scene.dead("mail-secret-name");
    scene.sqs.bury("email", &[OutgoingMessage::new("a secret body")]);
    scene.buried("mail-doubt", |record| record.status = Status::InDoubt);
    let captured = Captured::start(LogSetup::new(LevelSetting::Trace).own_crate("dlq_redrive"));
    scene.redrive(json!({ "runId": "run-1", "reason": "a private reason" })).await.unwrap();
    let lines = captured.lines();
    let told: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let handled: Vec<_> = told.iter().filter(|line| line["message"] == "dead letter handled").collect();
    assert_eq!(handled.len(), 3);
    assert!(handled.iter().all(|line| line["run_id"] == "run-1"));
    assert!(handled.iter().any(|line| line["job_id"] == job.as_str() && line["verdict"] == "redriven"));
    assert!(handled.iter().any(|line| line["verdict"] == "in_doubt"));
    let all = lines.concat();
    assert!(!all.contains("secret") && !all.contains("private reason"), "{all}");
}
