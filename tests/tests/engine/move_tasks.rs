//! SQS's own move tasks, asked for through the operators' function.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};
use ikkai_cli::local::engine::Capability;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::harness::{Lab, engine_can, on_stack};
use crate::operator::Operator;

/// A queue has one task at a time, and these tests look at whole queues.
static TURN: Mutex<()> = Mutex::const_new(());

/// The mails' queues of a stack in which nobody works on mails; both are empty.
fn with_empty_queues(test: impl AsyncFnOnce(&Moves<'_>)) {
    if !engine_can(Capability::MoveTasks) {
        return;
    }
    on_stack("moves", &[("EmailConsumerEnabled", "false")], async |lab| {
        let _turn = TURN.lock().await;
        let moves = Moves::of(lab).await;
        moves.drain(&moves.queue).await;
        moves.drain(&moves.dead).await;
        test(&moves).await;
    });
}

struct Moves<'a> {
    lab: &'a Lab,
    operator: Operator<'a>,
    sqs: aws_sdk_sqs::Client,
    queue: String,
    dead: String,
}

impl<'a> Moves<'a> {
    async fn of(lab: &'a Lab) -> Self {
        let sqs = aws_sdk_sqs::Client::new(&lab.aws.sdk_config());
        let url = async |name: &str| {
            let found = sqs.get_queue_url().queue_name(name).send().await.expect("a queue");
            found.queue_url.expect("a URL")
        };
        let (queue, dead) = (url(lab.stack.email_queue()).await, url(lab.stack.email_dead_letter_queue()).await);
        Self { lab, operator: Operator { lab }, sqs, queue, dead }
    }

    async fn ask(&self, request: &Value) -> Value {
        self.operator.ask(request).await
    }

    /// Sends jobs that nobody ever heard of, and receives them until SQS moves them away.
    async fn bury(&self, count: usize) -> Vec<String> {
        let mut keys = Vec::new();
        for _ in 0..count {
            let key = self.lab.key("moved");
            let body = json!({
                "type": "email.send", "schemaVersion": 1, "idempotencyKey": key,
                "payload": {"deliveryId": key, "templateId": "welcome", "userId": "user-1"},
            });
            self.sqs.send_message().queue_url(&self.queue).message_body(body.to_string()).send().await.expect("a message");
            keys.push(key);
        }
        self.lab
            .eventually("dead letters", async || {
                let received = self.sqs.receive_message().queue_url(&self.queue).max_number_of_messages(10).visibility_timeout(0);
                received.send().await.expect("the queue answers");
                (self.depth(&self.dead).await == count).then_some(())
            })
            .await;
        keys
    }

    async fn depth(&self, url: &str) -> usize {
        let visible = QueueAttributeName::ApproximateNumberOfMessages;
        let asked = self.sqs.get_queue_attributes().queue_url(url).attribute_names(visible.clone()).send().await;
        let attributes = asked.expect("the queue answers").attributes.expect("attributes");
        attributes[&visible].parse().expect("a number")
    }

    /// Takes everything out of a queue: how often each body is there.
    async fn drain(&self, queue: &str) -> BTreeMap<String, usize> {
        let mut bodies = BTreeMap::new();
        loop {
            let received = self.sqs.receive_message().queue_url(queue).max_number_of_messages(10).wait_time_seconds(1);
            let received = received.message_system_attribute_names(MessageSystemAttributeName::All).send().await;
            let messages = received.expect("the queue answers").messages.unwrap_or_default();
            if messages.is_empty() {
                return bodies;
            }
            for message in messages {
                *bodies.entry(message.body.expect("a body")).or_default() += 1;
                let delete = self.sqs.delete_message().queue_url(queue);
                delete.set_receipt_handle(message.receipt_handle).send().await.expect("the queue lets go");
            }
        }
    }
}

fn move_task(operation: &str) -> Value {
    match operation {
        "list" => json!({"action": "moveTask", "operation": "list", "queue": "email"}),
        _ => json!({"action": "moveTask", "operation": operation, "queue": "email", "reason": "all of them"}),
    }
}

#[test]
fn a_task_of_sqs_moves_is_seen_excludes_runs_and_is_cancelled_and_nothing_is_lost() {
    with_empty_queues(async |there| {
        let keys = there.bury(12).await;
        let listed = there.ask(&json!({"action": "list", "queue": "email", "messages": true})).await;
        assert_eq!((&listed["matched"], &listed["groups"][0]["status"]), (&json!(12), &json!("none")), "{listed}");
        assert_eq!(listed["messages"][0]["source"], there.lab.stack.email_queue(), "SQS tells where it came from");
        assert_eq!(there.depth(&there.dead).await, 12, "a look takes nothing away");

        let mut start = move_task("start");
        start["ratePerSecond"] = json!(1);
        let started = there.ask(&start).await;
        assert_eq!((&started["ok"], &started["tasks"][0]["status"]), (&json!(true), &json!("RUNNING")), "{started}");
        let again = there.ask(&start).await;
        assert_eq!(again["error"]["code"], "move_task_in_progress", "{again}");
        let redrive = json!({"action": "redrive", "queue": "email", "reason": "the rest of them"});
        let refused = there.ask(&redrive).await;
        assert_eq!(refused["error"]["code"], "move_task_in_progress", "{refused}");

        let running = there.ask(&move_task("list")).await;
        let mut cancel = move_task("cancel");
        cancel["taskHandle"] = running["tasks"][0]["taskHandle"].clone();
        assert!(cancel["taskHandle"].is_string(), "{running}");
        let cancelled = there.ask(&cancel).await;
        assert_eq!((&cancelled["ok"], &cancelled["tasks"][0]["status"]), (&json!(true), &json!("CANCELLING")), "{cancelled}");
        there
            .lab
            .eventually("a cancelled task", async || {
                let tasks = there.ask(&move_task("list")).await;
                (tasks["tasks"][0]["status"] == "CANCELLED").then_some(())
            })
            .await;
        let left = there.depth(&there.dead).await;
        assert!((1..12).contains(&left), "some are moved and some are left: {left}");

        let run = there.ask(&redrive).await;
        assert_eq!((&run["state"], &run["tally"]["redriven"]), (&json!("finished"), &json!(left)), "{run}");
        assert_eq!(there.depth(&there.dead).await, 0);
        let bodies = there.drain(&there.queue).await;
        for key in &keys {
            let copies: usize = bodies.iter().filter(|(body, _)| body.contains(key)).map(|(_, copies)| copies).sum();
            assert_eq!(copies, 1, "{key}");
        }
        let history = there.ask(&json!({"action": "history", "queue": "email"})).await;
        let actions: Vec<&Value> = history["runs"].as_array().expect("runs").iter().map(|run| &run["action"]).collect();
        assert!(actions.starts_with(&[&json!("redrive"), &json!("moveTask")]), "{actions:?}");
    });
}

#[test]
fn a_finished_task_has_moved_everything_back_to_its_source() {
    with_empty_queues(async |there| {
        let keys = there.bury(3).await;
        let started = there.ask(&move_task("start")).await;
        assert_eq!(started["ok"], true, "{started}");
        let ended = there
            .lab
            .eventually("a completed task", async || {
                let tasks = there.ask(&move_task("list")).await;
                (tasks["tasks"][0]["status"] == "COMPLETED").then_some(tasks)
            })
            .await;
        assert_eq!((&ended["tasks"][0]["moved"], &ended["tasks"][0]["toMove"]), (&json!(3), &json!(3)), "{ended}");
        let bodies = there.drain(&there.queue).await;
        assert_eq!(bodies.len(), keys.len());
        assert!(keys.iter().all(|key| bodies.keys().any(|body| body.contains(key))), "{keys:?}");
        let status = there.ask(&json!({"action": "status", "queue": "email"})).await;
        assert_eq!(status["queues"][0]["deadLetters"]["visible"], 0, "{status}");
    });
}
