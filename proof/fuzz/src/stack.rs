//! A stack in memory with dead letters of every kind, and the operators' workbench in front of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dlq_redrive::archive::MemoryArchive;
use dlq_redrive::journal::MemoryJournal;
use dlq_redrive::move_tasks::ScriptedMoveTasks;
use dlq_redrive::protocol::Answer;
use dlq_redrive::{Invocation, Limits, StackQueue, StackQueues, SweepRules, Workbench};
use ikkai::clock::{Clock, EpochMillis};
use ikkai::idempotency::{ErrorClass, JobRecord, LastError, Ledger, MemoryStore, Status};
use ikkai::job::{Envelope, IdempotencyKey, JobId, JobType, find, payload_digest};
use ikkai::observability::Metrics;
use ikkai::queue::{OutgoingMessage, QueueName};
use ikkai::testing::{MemorySqs, TokioClock};
use serde_json::{Value, json};

use crate::waiting;

const START: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);
const INVOCATION: Duration = Duration::from_secs(900);

/// The queues that jobs are put back into.
const QUEUES: [&str; 2] = ["email", "billing.fifo"];
/// Where their dead letters lie.
const DEAD_LETTERS: [&str; 2] = ["email-dlq", "billing-dlq.fifo"];

/// A dead letter that is no job.
pub(crate) const NO_JOB: &str = "no job";

/// The stack.
pub(crate) struct Stack {
    sqs: MemorySqs,
    records: Arc<MemoryStore>,
    clock: TokioClock,
    workbench: Workbench,
}

impl Stack {
    /// Queues `email` and `billing`, the latter in order. In the first one's dead-letter queue: dead jobs, one in doubt, one that is done, one that runs,
    /// one without a record, and what is no job.
    pub(crate) fn new() -> Self {
        let clock = TokioClock::new(START);
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let sqs = MemorySqs::new(shared.clone());
        let queue = |name: &str, job_type: &str, queue: &str| {
            let (source, dead_letters) = sqs.create_pair(queue, 6);
            StackQueue {
                name: name.to_owned(),
                kind: find(job_type).expect("a job type"),
                queue_name: QueueName::new(source.name()),
                dead_letter_queue_name: QueueName::new(dead_letters.name()),
                queue: source,
                dead_letters,
            }
        };
        let queues = vec![queue("email", "email.send", QUEUES[0]), queue("billing", "billing.charge", QUEUES[1])];
        let records = Arc::new(MemoryStore::new());
        let workbench = Workbench {
            queues: StackQueues::new(queues),
            records: records.clone(),
            ledger: Ledger::new(records.clone(), shared.clone()),
            journal: Arc::new(MemoryJournal::new()),
            archive: Arc::new(MemoryArchive::new()),
            stuck: records.clone(),
            move_tasks: Arc::new(ScriptedMoveTasks::none()),
            clock: shared,
            metrics: Metrics::new("Ikkai", "dlq-redrive"),
            limits: Limits {
                max_generations: 3,
                record_retention: Duration::from_secs(86_400),
                sweep: SweepRules { hidden_for: Duration::from_secs(960), wait: Duration::from_secs(1), empties: 3 },
                reserve: Duration::from_secs(20),
                lock_between_parts: Duration::from_secs(120),
            },
        };
        let stack = Self { sqs, records, clock, workbench };
        stack.fill();
        stack
    }

    fn fill(&self) {
        let in_doubt = LastError::new(ErrorClass::Ambiguous, "answer_lost", "the provider's answer was lost");
        let now = self.clock.now();
        self.bury("mail-1", |_| {});
        self.bury("mail-2", |_| {});
        self.bury("mail-quarantined", |record| record.generation = 3);
        self.bury("mail-in-doubt", |record| (record.status, record.last_error) = (Status::InDoubt, Some(in_doubt)));
        self.bury("mail-done", |record| (record.status, record.died_at) = (Status::Succeeded, None));
        self.bury("mail-running", |record| (record.status, record.lease_until) = (Status::Running, Some(now + INVOCATION)));
        self.records.put(record("mail-waiting", Status::Accepted, now));
        let strays = [mail("mail-unrecorded").to_body(), NO_JOB.to_owned()];
        self.sqs.bury(QUEUES[0], &strays.map(OutgoingMessage::new));
    }

    fn bury(&self, key: &str, change: impl FnOnce(&mut JobRecord)) {
        let mut record = record(key, Status::Dead, self.clock.now());
        change(&mut record);
        self.records.put(record);
        self.sqs.bury(QUEUES[0], &[OutgoingMessage::new(mail(key).to_body())]);
    }

    /// The answer to a request, as one invocation gives it.
    pub(crate) fn ask(&self, request: Value) -> Answer {
        let caller = Some("cognito:eu-west-1:pool:operator".to_owned());
        let deadline = self.clock.now() + INVOCATION;
        let invocation = Invocation { deadline, caller, request_id: "request-1".to_owned() };
        waiting::outcome(self.workbench.answer(request, &invocation))
    }

    /// The records by their ids.
    pub(crate) fn records(&self) -> BTreeMap<String, JobRecord> {
        self.records.all().into_iter().map(|record| (record.job_id.as_str().to_owned(), record)).collect()
    }

    /// Names of the messages in the dead-letter queues, hidden ones included.
    pub(crate) fn dead_letters(&self) -> BTreeSet<String> {
        DEAD_LETTERS.iter().flat_map(|queue| self.sqs.messages(queue)).map(|message| message.message_id).collect()
    }

    /// Bodies of the messages that were put back.
    pub(crate) fn put_back(&self) -> Vec<String> {
        QUEUES.iter().flat_map(|queue| self.sqs.messages(queue)).map(|message| message.body).collect()
    }
}

/// The record of a mail that is over without success.
fn record(key: &str, status: Status, now: EpochMillis) -> JobRecord {
    let envelope = mail(key);
    let job_id = envelope.job_id.clone().expect("an id");
    let last_error =
        (status == Status::Dead).then(|| LastError::new(ErrorClass::Permanent, "unknown_user", "there is no such user"));
    JobRecord {
        idempotency_key: Some(key.to_owned()),
        payload_digest: Some(payload_digest(&envelope.payload)),
        payload: Some(envelope.payload),
        data: Some(json!({"variables": {"total": "qzxv"}})),
        died_at: (status == Status::Dead).then_some(now),
        last_error,
        ..JobRecord::new(job_id, envelope.job_type, 1, "shop", status, now)
    }
}

fn mail(key: &str) -> Envelope {
    let job_type = JobType::parse("email.send").expect("a job type");
    let key = IdempotencyKey::parse(key).expect("a key");
    Envelope {
        job_id: Some(JobId::derive("shop", &job_type, &key)),
        job_type,
        schema_version: 1,
        business_id: None,
        payload: json!({"deliveryId": key.as_str(), "templateId": "welcome", "userId": "user-42"}),
        idempotency_key: key,
    }
}
