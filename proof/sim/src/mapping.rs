//! The event source mapping: polls a queue, invokes workers, and deletes what they do not report as failed.

mod answer;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::sqs::SqsMessage;
use ikkai::queue::{Inbox, ReceivedMessage};
use tokio::time::Instant;

use self::answer::Report;
use crate::actor::Actor;
use crate::fault::Fault;
use crate::interrupted::{Fate, Interrupted};
use crate::laws::{self, Deletes};
use crate::mutant::Mutant;
use crate::mutated;
use crate::sandbox::{Answer, Sandbox};
use crate::stage::{self, Line};
use crate::troubled_queue::TroubledQueue;
use crate::world::World;

/// One of a mapping's pollers, with the sandbox that its invocations go to. There are as many as the maximum concurrency allows.
pub(crate) struct Poller {
    world: Arc<World>,
    line: Line,
    name: String,
    inbox: TroubledQueue,
    sandbox: Option<Sandbox>,
    started: u32,
}

/// What the mapping sees of an invocation.
enum Seen {
    Answered(Answer),
    /// The sandbox died, or its answer did not come in time.
    Failed,
}

impl Poller {
    pub(crate) fn new(world: &Arc<World>, line: Line, number: u32) -> Self {
        let name = format!("{}-{number}", line.name());
        let actor = Actor::new(format!("mapping {name}"));
        let inbox = TroubledQueue::new(world, &actor, line.queue(), Deletes::Acknowledged);
        Self { world: world.clone(), line, name, inbox, sandbox: None, started: 0 }
    }

    /// Polls for ever.
    pub(crate) async fn run(mut self) {
        loop {
            let received = self.inbox.receive(self.world.plan.batch_size, stage::visibility(&self.world), Duration::ZERO).await;
            match received {
                Ok(received) if !received.is_empty() => self.deliver(received).await,
                _ => self.wait().await,
            }
        }
    }

    /// Long polling: until something can be received.
    async fn wait(&self) {
        let world = &self.world;
        match world.sqs.next_due(self.line.queue()) {
            None => world.arrival(self.line).await,
            Some(due) => {
                let time = due.since(world.now()).max(Duration::from_millis(50));
                drop(tokio::time::timeout(time, world.arrival(self.line)).await);
            }
        }
    }

    async fn deliver(&mut self, received: Vec<ReceivedMessage>) {
        let world = self.world.clone();
        if world.sqs.next_due(self.line.queue()).is_some_and(|due| due <= world.now()) {
            // Another poller may take the rest.
            world.arrived(self.line);
        }
        let batch = self.disturb(received);
        let seen = self.invoke(&batch).await;
        let done = self.done(&batch, seen);
        if done.is_empty() {
            return;
        }
        if world.strikes(Fault::AcknowledgementLost, 3) {
            return;
        }
        // What fails here comes out once more.
        let handles: Vec<String> = done.into_iter().map(|message| message.receipt_handle.clone()).collect();
        drop(self.inbox.delete(&handles).await);
    }

    /// A standard queue keeps no order, and may hand a message out twice.
    fn disturb(&self, mut batch: Vec<ReceivedMessage>) -> Vec<ReceivedMessage> {
        let world = &self.world;
        if batch.len() > 1 && world.strikes(Fault::Reordered, 50) {
            world.roll(|dice| dice.shuffle(&mut batch));
        }
        if batch.len() < 10 && world.strikes(Fault::TwiceInABatch, 2) {
            batch.push(batch[0].clone());
        }
        batch
    }

    async fn invoke(&mut self, batch: &[ReceivedMessage]) -> Seen {
        let world = self.world.clone();
        let fate = Fate::of_worker(&world);
        if self.sandbox.as_ref().is_some_and(|sandbox| sandbox.is_old) && !world.is_troubled() {
            // By now everybody has the new program.
            self.sandbox = None;
        }
        let (world_, name, line) = (&self.world, &self.name, self.line);
        let started = &mut self.started;
        let sandbox = self.sandbox.get_or_insert_with(|| {
            *started += 1;
            Sandbox::start(world_, line, format!("{name}.{started}"))
        });
        let actor = sandbox.actor.clone();
        world.tell(&actor.name, || {
            format!(
                "invoked with {}",
                batch
                    .iter()
                    .map(|message| message.message_id[..8].to_owned() + "#" + &message.receive_count.to_string())
                    .collect::<Vec<_>>()
                    .join(" ")
            )
        });
        let records: Vec<SqsMessage> = batch.iter().map(|message| record(&world, message, line)).collect();
        let invocation = sandbox.invoke(&world, records);
        let (answer, answered) = tokio::sync::oneshot::channel();
        let life = Interrupted::new(&world, &actor, fate, invocation);
        let sandbox_life = tokio::spawn(async move { drop(answer.send(life.await)) });
        let cut_off = Instant::now() + world.plan.timeout;
        if world.strikes(Fault::VisibilityRanOut, 2) {
            let (world, handles) = (world.clone(), batch.iter().map(|message| message.receipt_handle.clone()).collect());
            tokio::spawn(reveal(world, line, handles));
        }
        match tokio::time::timeout_at(cut_off, answered).await {
            Ok(Ok(Some(answer))) if !world.strikes(Fault::InvocationAnswerLost, 2) => Seen::Answered(answer),
            Ok(Ok(Some(_))) => Seen::Failed,
            Ok(_) => {
                self.sandbox = None;
                Seen::Failed
            }
            Err(_) => {
                world.happened(Fault::InvocationCutOff);
                self.sandbox = None;
                // A sandbox that stands still is not reached by Lambda's end: it wakes up later, and does not know.
                if fate.freezes_at.is_none() {
                    sandbox_life.abort();
                }
                Seen::Failed
            }
        }
    }

    /// The messages that are deleted.
    fn done<'b>(&self, batch: &'b [ReceivedMessage], seen: Seen) -> Vec<&'b ReceivedMessage> {
        let world = &self.world;
        let Seen::Answered(answer) = seen else { return Vec::new() };
        let answer = mutated::answer(world, answer, batch);
        let Ok(response) = answer else {
            world.tell(&self.inbox.actor.name, || "the invocation failed: everything comes back".to_owned());
            batch.iter().for_each(|message| self.look_at_failed(message));
            return Vec::new();
        };
        if world.is_mutant(Mutant::PartialFailuresIgnored) {
            return batch.iter().collect();
        }
        let text = serde_json::to_string(&response).unwrap_or_default();
        let ids: BTreeSet<&str> = batch.iter().map(|message| message.message_id.as_str()).collect();
        match answer::read(&text, &ids) {
            Report::AllFailed(why) => {
                world.broken(format!("an answer failed its whole batch: {why}"));
                Vec::new()
            }
            Report::Failed(failed) => {
                world.tell(&self.inbox.actor.name, || format!("{} of {} failed", failed.len(), ids.len()));
                let (failed, done): (Vec<_>, Vec<_>) = batch.iter().partition(|message| failed.contains(&message.message_id));
                failed.into_iter().for_each(|message| self.look_at_failed(message));
                done
            }
        }
    }

    /// Where every call of the worker went well, what it has reported comes back in time.
    fn look_at_failed(&self, message: &ReceivedMessage) {
        if let Some(sandbox) = &self.sandbox
            && !sandbox.actor.met_trouble()
        {
            laws::comes_back_in_time(&self.world, &sandbox.actor, message, self.line);
        }
    }
}

/// Makes messages visible while a worker has them.
async fn reveal(world: Arc<World>, line: Line, handles: Vec<String>) {
    use ikkai::queue::{Queue, VisibilityChange};
    tokio::time::sleep(world.some_time(Duration::from_millis(10), Duration::from_secs(10))).await;
    let change = |receipt_handle| VisibilityChange { receipt_handle, visible_in: Duration::ZERO };
    let changes: Vec<_> = handles.into_iter().map(change).collect();
    drop(world.sqs.queue(line.queue()).change_visibility(&changes).await);
    world.arrived(line);
}

/// The message as the function gets it.
fn record(world: &World, received: &ReceivedMessage, line: Line) -> SqsMessage {
    let mut message = SqsMessage::default();
    message.message_id = Some(received.message_id.clone());
    message.receipt_handle = Some(received.receipt_handle.clone());
    message.body = Some(mutated::body(world, received));
    message.attributes.insert("ApproximateReceiveCount".to_owned(), received.receive_count.to_string());
    if let Some(sent_at) = received.sent_at {
        message.attributes.insert("SentTimestamp".to_owned(), sent_at.as_i64().to_string());
    }
    message.event_source = Some("aws:sqs".to_owned());
    message.event_source_arn = Some(match line {
        Line::Mail => "arn:aws:sqs:us-east-1:000000000000:email".to_owned(),
        Line::Charge => "arn:aws:sqs:us-east-1:000000000000:billing".to_owned(),
    });
    message
}
