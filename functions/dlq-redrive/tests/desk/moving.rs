//! `moveTask`.

use std::time::Duration;

use dlq_redrive::journal::{Journal as _, JournalError, JournalFault, Locked};
use dlq_redrive::move_tasks::MoveTasks as _;
use dlq_redrive::protocol::{Refusal, RefusalCode, RunState};
use ikkai::clock::Clock as _;
use ikkai::queue::QueueName;
use serde_json::{Value, json};

use crate::scene::Scene;

fn start() -> Value {
    json!({"action": "moveTask", "operation": "start", "queue": "email", "ratePerSecond": 50, "reason": "the provider is back", "claimedBy": "Ada"})
}

fn dead_letters() -> QueueName {
    QueueName::new("shop-email-dlq")
}

#[tokio::test(start_paused = true)]
async fn a_started_task_is_answered_listed_and_written_down_with_who_and_why() {
    let scene = Scene::new();
    let answer = scene.done(start()).await;
    assert_eq!(answer["tasks"][0]["status"], "RUNNING");
    assert_eq!((&answer["operation"], &answer["tasks"][0]["ratePerSecond"]), (&json!("start"), &json!(50)));
    let listed = scene.done(json!({"action": "moveTask", "operation": "list", "queue": "email"})).await;
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1);

    let [run] = &scene.journal.runs()[..] else { panic!("one entry") };
    assert!(run.summary.run_id.starts_with("move-task-start-"), "{}", run.summary.run_id);
    assert_eq!((run.summary.state, run.summary.claimed_by.as_deref()), (RunState::Finished, Some("Ada")));
    assert_eq!((run.summary.reason.as_str(), run.summary.queues.as_slice()), ("the provider is back", &["email".to_owned()][..]));
    assert_eq!(scene.journal.lock_of("email"), None);
}

#[tokio::test(start_paused = true)]
async fn one_task_a_queue() {
    let scene = Scene::new();
    for status in ["RUNNING", "CANCELLING", "SCHEDULED"] {
        let scene = Scene::new();
        scene.move_tasks.add(&dead_letters(), "task-0", status);
        assert_eq!(scene.refused(start()).await.0, "move_task_in_progress", "{status}");
        assert!(scene.journal.runs().is_empty(), "what was not tried leaves no entry");
        assert_eq!(scene.move_tasks.list(&dead_letters()).await.unwrap().len(), 1);
    }
    scene.move_tasks.add(&dead_letters(), "task-0", "COMPLETED");
    scene.done(start()).await;
}

#[tokio::test(start_paused = true)]
async fn no_task_starts_while_a_run_works_on_the_queue() {
    let scene = Scene::new();
    let now = scene.clock.now();
    let until = now + Duration::from_secs(90);
    assert_eq!(scene.journal.lock("email", "run-1", until, now).await, Ok(Locked::Yes));
    let answer = scene.ask(start()).await;
    assert_eq!(answer["error"]["code"], "run_in_progress");
    assert_eq!(answer["error"]["retryAfterSeconds"], 90);
    assert_eq!(scene.move_tasks.list(&dead_letters()).await, Ok(Vec::new()));
    assert_eq!(scene.journal.runs()[0].summary.state, RunState::Stopped);
    assert_eq!(scene.journal.lock_of("email").map(|(holder, _)| holder).as_deref(), Some("run-1"));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_sqs_refuses_leaves_the_queue_free_and_an_entry_that_says_so() {
    let scene = Scene::new();
    let refusal = Refusal::new(RefusalCode::AccessDenied, "not allowed");
    scene.move_tasks.refuse(Some(refusal));
    assert_eq!(scene.refused(start()).await.0, "access_denied");
    scene.move_tasks.refuse(None);
    scene.done(start()).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_that_cannot_be_written_down() {
    let scene = Scene::new();
    let denied = JournalError::Denied { operation: "PutItem" };
    scene.journal.fail_next(JournalFault::Refuse(denied));
    assert_eq!(scene.refused(start()).await.0, "access_denied");
    assert_eq!(scene.move_tasks.list(&dead_letters()).await, Ok(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_by_its_handle() {
    let scene = Scene::new();
    let handle = scene.done(start()).await["tasks"][0]["taskHandle"].as_str().unwrap().to_owned();
    let cancel = |handle: &str| json!({"action": "moveTask", "operation": "cancel", "queue": "email", "taskHandle": handle, "reason": "wrong queue"});
    let answer = scene.done(cancel(&handle)).await;
    assert_eq!(answer["tasks"][0]["status"], "CANCELLING");
    assert_eq!(scene.refused(cancel("task-9")).await.0, "wrong_state");
    let deeds: Vec<_> = scene.journal.runs().into_iter().map(|run| (run.summary.run_id, run.summary.state)).collect();
    let cancelled: Vec<_> = deeds.iter().filter(|(id, _)| id.starts_with("move-task-cancel-")).map(|(_, state)| *state).collect();
    assert_eq!(cancelled, [RunState::Finished], "a task of nobody, or of another queue, is not touched and leaves no entry");
}

#[tokio::test(start_paused = true)]
async fn an_engine_without_move_tasks_says_so() {
    let scene = Scene::new();
    scene.move_tasks.refuse(Some(Refusal::new(RefusalCode::Unsupported, "this engine has no move tasks; use redrive")));
    assert_eq!(scene.refused(start()).await.0, "unsupported");
    let status = scene.done(json!({"action": "status", "queue": "email"})).await;
    assert_eq!(status["queues"][0].get("moveTasks"), None);
}

#[tokio::test(start_paused = true)]
async fn members_that_do_not_belong_to_the_operation_are_refused_all_at_once() {
    let scene = Scene::new();
    let request = json!({"action": "moveTask", "operation": "start", "queue": "email", "taskHandle": "x", "ratePerSecond": 501});
    let answer = scene.ask(request).await;
    let pointers: Vec<_> =
        answer["error"]["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert_eq!(pointers, ["/reason", "/ratePerSecond", "/taskHandle"]);
    for request in [
        json!({"action": "moveTask", "operation": "cancel", "queue": "email", "reason": "why"}),
        json!({"action": "moveTask", "operation": "list", "queue": "email", "ratePerSecond": 5}),
        json!({"action": "moveTask", "operation": "start", "queue": "email", "reason": " "}),
    ] {
        assert_eq!(scene.refused(request.clone()).await.0, "invalid_request", "{request}");
    }
    let all = json!({"action": "moveTask", "operation": "list", "queue": "all"});
    assert_eq!(scene.refused(all).await.0, "unknown_queue");
}
