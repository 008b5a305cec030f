//! SQS's own move tasks, which the engine does not have: on the SQS of LocalStack, with the engine's tables.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};
use dlq_redrive::move_tasks::SqsMoveTasks;
use dlq_redrive::{Invocation, StackQueue, StackQueues, Workbench};
use ikkai::clock::{Clock, SystemClock};
use ikkai::queue::{QueueName, SqsQueue};
use ikkai_cli::local::aws::sdk_config;
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::progress::Progress;
use ikkai_tests::localstack::LocalStackSqs;
use serde_json::{Value, json};

use crate::harness::Lab;
use crate::operator::with_idle_queue;

const RECEIVES: &str = "2";

/// The stack's operators' code, at work on the mails' queues of another SQS.
struct Elsewhere<'a> {
    lab: &'a Lab,
    bench: Workbench,
    sqs: aws_sdk_sqs::Client,
    _process: LocalStackSqs,
    queue: String,
    dead: String,
}

impl<'a> Elsewhere<'a> {
    async fn start(lab: &'a Lab, bench: Workbench) -> Self {
        let checkout = Checkout::find().expect("a checkout");
        let process = LocalStackSqs::start(&checkout, &checkout.state().join("tests-localstack"), &Progress::silent()).await;
        let process = process.unwrap_or_else(|problem| panic!("{problem}"));
        let sqs = aws_sdk_sqs::Client::new(&sdk_config(process.address()));
        let (name, dead_name) = (QueueName::new(lab.stack.email_queue()), QueueName::new(lab.stack.email_dead_letter_queue()));
        let dead = sqs.create_queue().queue_name(dead_name.as_str()).send().await.expect("a queue");
        let dead = dead.queue_url.expect("a URL");
        let arn = sqs.get_queue_attributes().queue_url(&dead).attribute_names(QueueAttributeName::QueueArn).send().await;
        let arn = arn.expect("attributes").attributes.expect("attributes")[&QueueAttributeName::QueueArn].clone();
        let policy = json!({"deadLetterTargetArn": arn, "maxReceiveCount": RECEIVES}).to_string();
        let queue = sqs.create_queue().queue_name(name.as_str()).attributes(QueueAttributeName::RedrivePolicy, policy);
        let queue = queue.send().await.expect("a queue").queue_url.expect("a URL");
        let mails = StackQueue {
            name: "email".to_owned(),
            kind: ikkai::job::find("email.send").expect("registered"),
            queue: Arc::new(SqsQueue::new(sqs.clone(), name.clone())),
            dead_letters: Arc::new(SqsQueue::new(sqs.clone(), dead_name.clone())),
            queue_name: name,
            dead_letter_queue_name: dead_name,
        };
        let move_tasks = Arc::new(SqsMoveTasks::new(sqs.clone()));
        let bench = Workbench { queues: StackQueues::new(vec![mails]), move_tasks, ..bench };
        Self { lab, bench, sqs, _process: process, queue, dead }
    }

    async fn ask(&self, request: &Value) -> Value {
        let deadline = SystemClock.now() + Duration::from_secs(60);
        let invocation = Invocation { deadline, caller: None, request_id: "elsewhere".to_owned() };
        self.bench.answer(request.clone(), &invocation).await.to_json()
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

    /// Takes everything out of the queue: how often each body is there.
    async fn drain(&self) -> BTreeMap<String, usize> {
        let mut bodies = BTreeMap::new();
        loop {
            let received = self.sqs.receive_message().queue_url(&self.queue).max_number_of_messages(10).wait_time_seconds(1);
            let received = received.message_system_attribute_names(MessageSystemAttributeName::All).send().await;
            let messages = received.expect("the queue answers").messages.unwrap_or_default();
            if messages.is_empty() {
                return bodies;
            }
            for message in messages {
                *bodies.entry(message.body.expect("a body")).or_default() += 1;
                let delete = self.sqs.delete_message().queue_url(&self.queue);
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
#[ignore = "needs Python 3.13, and installs LocalStack (180 MB)"]
fn a_task_of_sqs_moves_is_seen_excludes_runs_and_is_cancelled_and_nothing_is_lost() {
    with_idle_queue(async |operator| {
        let there = Elsewhere::start(operator.lab, operator.workbench().await).await;
        let keys = there.bury(12).await;
        let listed = there.ask(&json!({"action": "list", "queue": "email", "messages": true})).await;
        assert_eq!((&listed["matched"], &listed["groups"][0]["status"]), (&json!(12), &json!("none")), "{listed}");
        assert_eq!(listed["messages"][0]["source"], operator.lab.stack.email_queue(), "SQS tells where it came from");
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
        operator
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
        let bodies = there.drain().await;
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
#[ignore = "needs Python 3.13, and installs LocalStack (180 MB)"]
fn a_finished_task_has_moved_everything_back_to_its_source() {
    with_idle_queue(async |operator| {
        let there = Elsewhere::start(operator.lab, operator.workbench().await).await;
        let keys = there.bury(3).await;
        let started = there.ask(&move_task("start")).await;
        assert_eq!(started["ok"], true, "{started}");
        let ended = operator
            .lab
            .eventually("a completed task", async || {
                let tasks = there.ask(&move_task("list")).await;
                (tasks["tasks"][0]["status"] == "COMPLETED").then_some(tasks)
            })
            .await;
        assert_eq!((&ended["tasks"][0]["moved"], &ended["tasks"][0]["toMove"]), (&json!(3), &json!(3)), "{ended}");
        let bodies = there.drain().await;
        assert_eq!(bodies.len(), keys.len());
        assert!(keys.iter().all(|key| bodies.keys().any(|body| body.contains(key))), "{keys:?}");
        let status = there.ask(&json!({"action": "status", "queue": "email"})).await;
        assert_eq!(status["queues"][0]["deadLetters"]["visible"], 0, "{status}");
    });
}
