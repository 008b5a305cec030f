//! Requests that cannot be read, and requests that break what answers them.

use std::sync::Arc;

use async_trait::async_trait;
use dlq_redrive::journal::{Journal as _, JournalError, JournalFault};
use dlq_redrive::move_tasks::MoveTasks;
use dlq_redrive::protocol::{Action, Answer, MoveTask, Refusal};
use ikkai::queue::QueueName;
use serde_json::json;

use crate::scene::Scene;

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_request_is_named_with_its_place_and_the_mend() {
    let scene = Scene::new();
    for (request, pointer, code, told) in [
        (json!({}), "/action", "missing_member", "status, list"),
        (json!({"action": "lst"}), "/action", "invalid_value", "`list`"),
        (json!({"action": 1}), "/action", "wrong_type", ""),
        (json!({"action": "list", "queu": "email"}), "/queu", "unknown_member", "did you mean `queue`?"),
        (json!({"action": "list", "filter": {"job_ids": []}}), "/filter/job_ids", "unknown_member", "did you mean `jobIds`?"),
        (json!({"action": "redrive", "queue": "email", "reason": "x", "dryrun": true}), "/dryrun", "unknown_member", "`dryRun`"),
        (json!({"action": "redrive", "queue": "email", "reason": "x", "max": "10"}), "/max", "wrong_type", "integer"),
        (json!({"action": "redrive", "queue": "email"}), "/reason", "missing_member", "missing"),
        (json!({"action": "list", "max": 0}), "/max", "out_of_range", "from 1 to 10000"),
        (json!({"action": "list", "version": 2}), "/version", "invalid_value", "version 1"),
        (json!({"action": "list", "filter": {"classes": ["transiet"]}}), "/filter/classes/0", "invalid_value", "transient"),
        (json!(["list"]), "", "wrong_type", "JSON object"),
        (json!(null), "", "wrong_type", "JSON object"),
    ] {
        let answer = scene.ask(request.clone()).await;
        assert_eq!((&answer["ok"], &answer["version"]), (&json!(false), &json!(1)), "{request}");
        let error = &answer["error"]["errors"][0];
        assert_eq!(
            (&answer["error"]["code"], &error["pointer"], &error["code"]),
            (&json!("invalid_request"), &json!(pointer), &json!(code)),
            "{request}"
        );
        assert!(error["message"].as_str().unwrap().contains(told), "{request}: {error}");
    }
    assert!(scene.sqs.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_answer_names_the_action_also_where_the_rest_of_the_request_is_wrong() {
    let scene = Scene::new();
    let answer = scene.ask(json!({"action": "resolve"})).await;
    assert_eq!(answer["action"], "resolve");
    assert_eq!(scene.ask(json!({"action": "nothing"})).await.get("action"), None);
}

#[tokio::test(start_paused = true)]
async fn the_queue_has_to_be_one_of_the_stack() {
    let scene = Scene::new();
    for request in [
        json!({"action": "status", "queue": "mail"}),
        json!({"action": "list", "queue": "mail"}),
        json!({"action": "redrive", "queue": "mail", "reason": "x"}),
        json!({"action": "discard", "deadLetterQueue": "email", "reason": "x"}),
        json!({"action": "moveTask", "queue": "mail", "operation": "list"}),
        json!({"action": "history", "queue": "mail"}),
    ] {
        let (code, message) = scene.refused(request.clone()).await;
        assert_eq!(code, "unknown_queue", "{request}");
        assert!(message.contains("email") && message.contains("billing"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_does_not_answer_is_told_as_what_it_is() {
    let scene = Scene::new();
    let busy = JournalError::Unavailable { operation: "Query", code: "ThrottlingException".to_owned() };
    scene.journal.fail_next(JournalFault::Refuse(busy));
    let answer = scene.ask(json!({"action": "history"})).await;
    assert_eq!(answer["error"]["code"], "unavailable");
    assert!(answer["error"]["retryAfterSeconds"].is_u64());
    assert_eq!(scene.journal.history("email", 1).await, Ok(Vec::new()));
}

struct Broken;

#[async_trait]
impl MoveTasks for Broken {
    async fn start(&self, _: &QueueName, _: Option<u32>) -> Result<MoveTask, Refusal> {
        panic!("with a secret in it")
    }

    async fn list(&self, _: &QueueName) -> Result<Vec<MoveTask>, Refusal> {
        panic!("with a secret in it")
    }

    async fn cancel(&self, _: &str) -> Result<MoveTask, Refusal> {
        panic!("with a secret in it")
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_answered_and_its_text_is_not() {
    let mut scene = Scene::new();
    scene.bench.move_tasks = Arc::new(Broken);
    let answer = scene.bench.answer(json!({"action": "status"}), &scene.invocation()).await;
    let Answer::Refused(Some(Action::Status), refusal) = &answer else { panic!("{answer:?}") };
    assert!(refusal.message.contains("its log says where"));
    assert_eq!(answer.to_json()["error"]["code"], "internal");
    assert!(!answer.to_json().to_string().contains("secret"));
}
