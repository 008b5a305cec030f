//! A whole event through the batch processor: from its bytes to the bytes of the answer. Table and queue are in memory, the handler does nothing,
//! log lines and metrics are made as in a function and go nowhere.

use std::sync::Arc;
use std::time::Duration;

use ikkai::clock::ManualClock;
use ikkai::consumer::{BatchProcessor, Done, Failure, Handler, IncomingEvent, Invocation, JobContext};
use ikkai::idempotency::MemoryStore;
use ikkai::job::{EmailSend, Job};
use ikkai::testing::{Bench, MemoryQueue, MessageBuilder, settings};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::measured::count_each;

/// Jobs in the event.
pub(super) const JOBS: u32 = 10;

/// Templates whose mails fail.
const FAILING: &str = "failing";

/// Ten jobs that nobody has seen before.
pub(super) fn new(repetitions: u32) -> Duration {
    let runtime = runtime();
    counted(&runtime, repetitions, 0, |_| {})
}

/// Ten jobs that are done already.
pub(super) fn duplicates(repetitions: u32) -> Duration {
    let runtime = runtime();
    counted(&runtime, repetitions, 0, |worker| {
        worker.work(&runtime);
    })
}

/// Ten jobs of which two fail.
pub(super) fn two_fail(repetitions: u32) -> Duration {
    let runtime = runtime();
    counted(&runtime, repetitions, 2, |_| {})
}

/// Each repetition has a processor, a table and a queue of its own, so that none of them is fuller than the one before.
fn counted(runtime: &Runtime, repetitions: u32, failing: usize, prepare: impl Fn(&mut Worker)) -> Duration {
    let event = event(failing);
    let workers = (0..repetitions).map(|_| {
        let mut worker = Worker::new(event.clone());
        prepare(&mut worker);
        worker
    });
    let (took, worked) = count_each(workers.collect(), |mut worker| {
        let answer = worker.work(runtime);
        (worker, answer)
    });
    for (_, answer) in worked {
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("an answer is JSON");
        assert_eq!(answer["batchItemFailures"].as_array().map(Vec::len), Some(failing), "{answer}");
    }
    took
}

/// The event as Lambda sends it.
fn event(failing: usize) -> Vec<u8> {
    let records: Vec<_> = (0..JOBS as usize)
        .map(|index| {
            let key = format!("email:welcome:user-{index:04}");
            let template = if index < failing { FAILING } else { "welcome" };
            let payload = json!({"deliveryId": format!("mail-{index:04}"), "templateId": template, "userId": "user-42"});
            let message_id = format!("059f36b4-87a3-44ab-83d2-66197583{index:04}");
            MessageBuilder::job(&message_id, "email.send", &key, payload).to_json()
        })
        .collect();
    json!({ "Records": records }).to_string().into_bytes()
}

/// A function that has an event.
struct Worker {
    processor: BatchProcessor<Mailer>,
    event: Vec<u8>,
}

impl Worker {
    fn new(event: Vec<u8>) -> Self {
        let (store, queue, clock) = (MemoryStore::new(), MemoryQueue::new(), ManualClock::new(Bench::<Mailer>::START));
        let processor = BatchProcessor::new(Mailer, settings(), Arc::new(store), Arc::new(queue), Arc::new(clock));
        Self { processor, event }
    }

    fn work(&mut self, runtime: &Runtime) -> Vec<u8> {
        let event: IncomingEvent = serde_json::from_slice(&self.event).expect("an event is JSON");
        let invocation = Invocation {
            request_id: "8f507cfc-0000-4697-b07a-ac58fc914c95".to_owned(),
            deadline: Some(Bench::<Mailer>::START + Duration::from_secs(30)),
        };
        let answer = runtime.block_on(self.processor.process(event, &invocation, &mut std::io::sink()));
        serde_json::to_vec(&answer.expect("the batch is answered")).expect("an answer is JSON")
    }
}

struct Mailer;

impl Handler for Mailer {
    type Payload = EmailSend;

    async fn handle(&self, job: &Job<EmailSend>, _: &JobContext) -> Result<Done, Failure> {
        if job.payload.template_id.as_str() == FAILING {
            return Err(Failure::retry("provider_busy", "the provider did not take the mail"));
        }
        Ok(Done::new())
    }
}

/// Its time stands still: what waits for nothing takes as many polls every time.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}
