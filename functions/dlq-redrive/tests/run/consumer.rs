//! A real consumer on the queue in memory: the batch processor, driven as an event source mapping drives it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ikkai::consumer::{BatchProcessor, Done, Failure, Handler, IncomingEvent, Invocation, JobContext};
use ikkai::idempotency::EffectPolicy;
use ikkai::job::{DataUse, EmailSend, Job, JobPayload};
use ikkai::queue::{Inbox, Queue, ReceivedMessage};
use ikkai::testing::{MemorySqsQueue, settings};
use serde_json::{Value, json};

use crate::scene::Scene;

/// What the consumer's provider does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Every mail goes out.
    Well,
    /// No mail goes out, for a reason that stays.
    Ill,
}

/// Sends mails, and remembers which.
#[derive(Debug, Clone)]
pub(crate) struct Mailer {
    pub(crate) mood: Arc<Mutex<Mood>>,
    pub(crate) sent: Arc<Mutex<HashMap<String, u32>>>,
}

impl Handler for Mailer {
    type Payload = EmailSend;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::Hold
    }

    async fn handle(&self, job: &Job<EmailSend>, context: &JobContext) -> Result<Done, Failure> {
        if *self.mood.lock().unwrap() == Mood::Ill {
            return Err(Failure::permanent("still_broken", "the cause was not mended"));
        }
        context.begin_effect(Duration::from_secs(5)).await?;
        *self.sent.lock().unwrap().entry(job.id.as_str().to_owned()).or_default() += 1;
        Ok(Done::new())
    }
}

/// Works on jobs that are nothing without the private data of their records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statements;

/// The payload of a mail, of a type whose jobs need private data.
#[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Statement {
    delivery_id: String,
    template_id: String,
    user_id: String,
}

impl JobPayload for Statement {
    const TYPE: &'static str = "email.send";
    const SCHEMA_VERSION: u32 = 1;
    const DATA: DataUse = DataUse::Required;
}

impl Handler for Statements {
    type Payload = Statement;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::Hold
    }

    async fn handle(&self, job: &Job<Statement>, _context: &JobContext) -> Result<Done, Failure> {
        unreachable!("{} was run without its data", job.id)
    }
}

/// A consumer of the queue `email`.
pub(crate) struct Consumer<H: Handler = Mailer> {
    pub(crate) mailer: H,
    processor: BatchProcessor<H>,
    queue: Arc<MemorySqsQueue>,
    clock: ikkai::testing::TokioClock,
}

impl Consumer {
    pub(crate) fn new(scene: &Scene, mood: Mood) -> Self {
        Self::of(scene, Mailer { mood: Arc::new(Mutex::new(mood)), sent: Arc::default() })
    }

    /// The most often that a job had its effect.
    pub(crate) fn most_effects(&self) -> u32 {
        self.mailer.sent.lock().unwrap().values().copied().max().unwrap_or(0)
    }
}

impl<H: Handler + Clone> Consumer<H> {
    pub(crate) fn of(scene: &Scene, mailer: H) -> Self {
        let queue = scene.sqs.queue("email");
        let processor = BatchProcessor::new(
            mailer.clone(),
            settings(),
            scene.records.clone(),
            queue.clone() as Arc<dyn Queue>,
            Arc::new(scene.clock.clone()),
        );
        Self { mailer, processor, queue, clock: scene.clock.clone() }
    }

    /// Polls for ever; to be spawned or selected on.
    pub(crate) async fn work(&self) {
        loop {
            if self.one_batch().await == 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }

    /// Works until nothing that could be received is left.
    pub(crate) async fn work_off(&self) {
        while self.one_batch().await > 0 {}
    }

    async fn one_batch(&self) -> usize {
        // What the mapping meets is not the consumer's trouble.
        let Ok(received) = self.queue.receive(10, Duration::from_secs(180), Duration::ZERO).await else { return 0 };
        if received.is_empty() {
            return 0;
        }
        let records: Vec<_> = received.iter().map(|message| record(message, self.queue.name())).collect();
        let event: IncomingEvent = serde_json::from_value(json!({ "Records": records })).unwrap();
        use ikkai::clock::Clock;
        let invocation =
            Invocation { request_id: "request-c".into(), deadline: Some(self.clock.now() + Duration::from_secs(30)) };
        let failed: Vec<String> = match self.processor.process(event, &invocation, &mut Vec::new()).await {
            Ok(answer) => answer.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect(),
            Err(_) => received.iter().map(|message| message.message_id.clone()).collect(),
        };
        let done = received.iter().filter(|message| !failed.contains(&message.message_id));
        let handles: Vec<_> = done.map(|message| message.receipt_handle.clone()).collect();
        let _ = self.queue.delete(&handles).await;
        received.len()
    }
}

fn record(message: &ReceivedMessage, queue: &str) -> Value {
    let mut attributes = json!({
        "ApproximateReceiveCount": message.receive_count.to_string(),
        "SentTimestamp": message.sent_at.unwrap().as_i64().to_string(),
    });
    if let Some(group) = &message.group_id {
        attributes["MessageGroupId"] = group.clone().into();
    }
    json!({
        "messageId": message.message_id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": attributes,
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": format!("arn:aws:sqs:us-east-1:000000000000:{queue}"),
        "awsRegion": "us-east-1",
    })
}
