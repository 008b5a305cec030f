//! A consumer between the queues: jobs die, are put back by an operator or by SQS, and are done once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use ikkai::clock::Clock;
use ikkai::consumer::{BatchProcessor, Done, Failure, Handler, IncomingEvent, Invocation, JobContext};
use ikkai::idempotency::{Event, JobStore, Ledger, PutBack, Status, Verdict};
use ikkai::job::{EmailSend, Job};
use ikkai::queue::{AttributeData, AttributeValue, Inbox, OutgoingMessage, Queue, ReceivedMessage, VisibilityChange, copy_of};
use ikkai::testing::{MemorySqs, MemorySqsQueue, MemoryStore, MessageBuilder, TokioClock, settings};

use super::{HALF_A_MINUTE, body, receive, sqs};

#[derive(Clone, Default)]
struct Mailer {
    is_mended: Arc<AtomicBool>,
    mails: Arc<AtomicU32>,
}

impl Handler for Mailer {
    type Payload = EmailSend;

    async fn handle(&self, _job: &Job<EmailSend>, _context: &JobContext) -> Result<Done, Failure> {
        if !self.is_mended.load(Ordering::SeqCst) {
            return Err(Failure::permanent("template_unknown", "there is no such template"));
        }
        self.mails.fetch_add(1, Ordering::SeqCst);
        Ok(Done::new())
    }
}

struct Stage {
    sqs: MemorySqs,
    clock: TokioClock,
    email: Arc<MemorySqsQueue>,
    dead_letters: Arc<MemorySqsQueue>,
    records: Arc<MemoryStore>,
    ledger: Ledger,
    mailer: Mailer,
    processor: BatchProcessor<Mailer>,
}

impl Stage {
    fn new() -> Self {
        let (sqs, clock) = sqs();
        let (email, dead_letters) = sqs.create_pair("email", 6);
        let (records, mailer) = (Arc::new(MemoryStore::new()), Mailer::default());
        let ledger = Ledger::new(records.clone(), Arc::new(clock.clone()));
        let processor = BatchProcessor::new(mailer.clone(), settings(), records.clone(), email.clone(), Arc::new(clock.clone()));
        Self { sqs, clock, email, dead_letters, records, ledger, mailer, processor }
    }

    /// What a mapping does until its queue is empty: receives, invokes, deletes what was not reported.
    async fn run_mapping(&self) {
        for _ in 0..40 {
            let received = self.email.receive(10, Duration::from_secs(180), Duration::ZERO).await.unwrap();
            if received.is_empty() && self.sqs.messages("email").is_empty() {
                return;
            }
            let records = received.iter().map(|message| self.email.record(message)).collect();
            let invocation =
                Invocation { request_id: "request-1".into(), deadline: Some(self.clock.now() + Duration::from_secs(30)) };
            let event = IncomingEvent { records: Some(records) };
            let response = self.processor.process(event, &invocation, &mut Vec::new()).await.unwrap();
            let failed: Vec<_> = response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect();
            let is_done = |message: &&ReceivedMessage| !failed.contains(&message.message_id);
            let done: Vec<_> = received.iter().filter(is_done).map(|message| message.receipt_handle.clone()).collect();
            self.email.delete(&done).await.unwrap();
            tokio::time::advance(Duration::from_secs(200)).await;
        }
        panic!("the queue is not empty: {:?}", self.sqs.messages("email").len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_job_that_an_operator_puts_back_is_done_once_whatever_else_is_sent() {
    let stage = Stage::new();
    let message = MessageBuilder::email("a");
    let job_id = message.job_id().unwrap();
    let sent = OutgoingMessage {
        attributes: vec![("b".into(), AttributeValue { data_type: "Binary".into(), value: AttributeData::Bytes(vec![0, 255]) })],
        ..OutgoingMessage::new(message.build().body.unwrap())
    };
    stage.email.send(std::slice::from_ref(&sent)).await.unwrap();
    stage.run_mapping().await;
    let dead = stage.records.get(&job_id).await.unwrap().unwrap();
    assert_eq!((dead.status, stage.sqs.messages("email-dlq").len()), (Status::Dead, 1));
    stage.mailer.is_mended.store(true, Ordering::SeqCst);

    let letter = receive(&stage.dead_letters).await.remove(0);
    assert_eq!(letter.copy(), sent, "byte for byte");
    let wish = Event::PutBack(PutBack { generation: dead.generation, max_generations: 10, payload: None });
    assert_eq!(stage.ledger.apply(&job_id, &wish).await.unwrap().verdict, Verdict::Done(Status::Accepted));
    // The operator's copy, another one after a crash before the delete, and SQS's own redrive at the same time.
    stage.email.send(&[letter.copy(), letter.copy()]).await.unwrap();
    stage.run_mapping().await;
    let done = stage.records.get(&job_id).await.unwrap().unwrap();
    assert_eq!((done.status, done.generation, done.attempts), (Status::Succeeded, 1, 1));
    assert_eq!(stage.mailer.mails.load(Ordering::SeqCst), 1);
    let release = VisibilityChange { receipt_handle: letter.receipt_handle, visible_in: Duration::ZERO };
    assert_eq!(stage.dead_letters.change_visibility(&[release]).await.unwrap().len(), 1);
    assert_eq!(stage.sqs.messages("email-dlq").len(), 1, "nobody has deleted it");
}

#[tokio::test(start_paused = true)]
async fn a_record_of_a_received_message_says_all_that_was_received() {
    let (sqs, _) = sqs();
    let (_, dead_letters) = sqs.create_pair("email", 1);
    let sent = OutgoingMessage {
        attributes: vec![
            ("b".into(), AttributeValue { data_type: "Binary".into(), value: AttributeData::Bytes(vec![0, 255]) }),
            ("n".into(), AttributeValue { data_type: "Number".into(), value: AttributeData::Text("5".into()) }),
        ],
        trace_header: Some("Root=1".into()),
        group_id: Some("tenant".into()),
        ..body("text")
    };
    sqs.bury("email", std::slice::from_ref(&sent));
    let received = dead_letters.receive(1, HALF_A_MINUTE, Duration::ZERO).await.unwrap().remove(0);
    let record = dead_letters.record(&received);
    assert_eq!(copy_of(&record, Duration::ZERO), sent);
    assert_eq!(record.message_id.as_ref(), Some(&received.message_id));
    let attribute = |name: &str| record.attributes[name].clone();
    assert_eq!(attribute("DeadLetterQueueSourceArn"), "arn:aws:sqs:us-east-1:000000000000:email");
    assert_eq!(attribute("ApproximateReceiveCount"), "1");
}
