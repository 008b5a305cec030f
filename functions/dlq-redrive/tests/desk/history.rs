//! `history`.

use std::time::Duration;

use dlq_redrive::journal::{Journal as _, conformance};
use dlq_redrive::protocol::{MessageVerdict, VerdictCode};
use ikkai::clock::Clock as _;
use serde_json::{Value, json};

use crate::scene::Scene;

async fn with_runs() -> Scene {
    let scene = Scene::new();
    for (number, queues) in [(1, vec!["email"]), (2, vec!["email", "billing"]), (3, vec!["billing"])] {
        let began_at = scene.clock.now() + Duration::from_secs(number);
        scene.journal.begin(&conformance::run(&format!("run-{number}"), &queues, began_at)).await.unwrap();
    }
    scene
}

fn told(answer: &Value) -> Vec<&str> {
    answer["runs"].as_array().unwrap().iter().map(|run| run["runId"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_last_run_comes_first_and_a_run_on_two_queues_is_told_once() {
    let scene = with_runs().await;
    let answer = scene.done(json!({"action": "history"})).await;
    assert_eq!(told(&answer), ["run-3", "run-2", "run-1"]);
    assert_eq!((answer["runs"][0].get("by"), &answer["runs"][0]["claimedBy"]), (None, &json!("Ada")));
    assert_eq!(answer.get("verdicts"), None);
    let email = scene.done(json!({"action": "history", "queue": "email", "max": 1})).await;
    assert_eq!(told(&email), ["run-2"]);
}

#[tokio::test(start_paused = true)]
async fn one_run_is_told_with_the_verdict_of_every_message() {
    let scene = with_runs().await;
    let verdict = |number: u32| MessageVerdict {
        message_id: Some(format!("message-{number}")),
        job_ids: Vec::new(),
        verdict: VerdictCode::NoSource,
        detail: Some("nobody knows".to_owned()),
    };
    scene.journal.add_verdicts("run-2", 1, &[verdict(1), verdict(2)]).await.unwrap();
    let answer = scene.done(json!({"action": "history", "runId": "run-2"})).await;
    assert_eq!(told(&answer), ["run-2"]);
    assert_eq!(answer["verdicts"].as_array().unwrap().len(), 2);
    assert_eq!(answer["verdicts"][1], json!({"messageId": "message-2", "verdict": "no_source", "detail": "nobody knows"}));
}

#[tokio::test(start_paused = true)]
async fn unknown_runs_and_queues_are_refused() {
    let scene = with_runs().await;
    assert_eq!(scene.refused(json!({"action": "history", "runId": "run-9"})).await.0, "unknown_run");
    assert_eq!(scene.refused(json!({"action": "history", "runId": "run-3", "queue": "email"})).await.0, "unknown_run");
    let (code, message) = scene.refused(json!({"action": "history", "queue": "mail"})).await;
    assert_eq!(code, "unknown_queue");
    assert!(message.contains("email, billing"), "{message}");
    assert_eq!(scene.refused(json!({"action": "history", "max": 0})).await.0, "invalid_request");
}
