//! What is logged of a request. By itself: a captured log takes the lines of a whole process.

#[path = "desk/scene.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod scene;

use ikkai::observability::logs::capture::Captured;
use ikkai::observability::logs::{LevelSetting, LogSetup};
use serde_json::{Value, json};

use crate::scene::Scene;

#[tokio::test(start_paused = true)]
async fn one_line_a_request_is_logged_and_neither_the_reason_nor_the_name_is() {
    let scene = Scene::new();
    let logs = Captured::start(LogSetup::new(LevelSetting::Debug).own_crate("dlq_redrive"));
    scene
        .done(json!({"action": "moveTask", "operation": "start", "queue": "email", "reason": "Ada's mail", "claimedBy": "Ada"}))
        .await;
    scene.ask(json!({"action": "list", "queue": "ada@example.com"})).await;
    scene.ask(json!({"action": "list", "ada@example.com": 1})).await;
    let lines: Vec<Value> = logs.parsed().into_iter().filter(|line| line["message"] == "request answered").collect();
    assert_eq!(lines.len(), 3);
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        ["action", "queue", "outcome", "request_id"].map(|name| text(&lines[0], name)),
        ["moveTask", "email", "done", "request-1"]
    );
    assert!(lines[0]["duration_ms"].is_u64());
    assert_eq!(["action", "outcome", "error_code"].map(|name| text(&lines[1], name)), ["list", "refused", "unknown_queue"]);
    assert_eq!(["action", "outcome", "error_code"].map(|name| text(&lines[2], name)), ["list", "refused", "invalid_request"]);
    for private in ["Ada", "ada@example.com"] {
        assert!(!logs.lines().iter().any(|line| line.contains(private)), "{private}");
    }
}
