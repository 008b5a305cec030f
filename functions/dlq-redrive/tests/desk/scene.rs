//! A stack with two queues, everything in memory.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use dlq_redrive::archive::MemoryArchive;
use dlq_redrive::journal::MemoryJournal;
use dlq_redrive::move_tasks::ScriptedMoveTasks;
use dlq_redrive::protocol::{answer_schema, request_schema};
use dlq_redrive::{Invocation, Limits, StackQueue, StackQueues, SweepRules, Workbench};
use ikkai::clock::{Clock as _, EpochMillis};
use ikkai::idempotency::{ErrorClass, JobRecord, LastError, Ledger, MemoryStore, Status};
use ikkai::job::{Envelope, IdempotencyKey, JobId, JobType, find, payload_digest};
use ikkai::observability::Metrics;
use ikkai::queue::{OutgoingMessage, QueueName};
use ikkai::testing::{MemorySqs, TokioClock, WatchedStore};
use serde_json::{Value, json};

pub(crate) const START: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

static REQUESTS: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&request_schema()).expect("a schema"));
static ANSWERS: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&answer_schema()).expect("a schema"));

pub(crate) struct Scene {
    pub(crate) sqs: MemorySqs,
    pub(crate) jobs: Arc<MemoryStore>,
    pub(crate) store: Arc<WatchedStore>,
    pub(crate) journal: Arc<MemoryJournal>,
    pub(crate) archive: Arc<MemoryArchive>,
    pub(crate) move_tasks: Arc<ScriptedMoveTasks>,
    pub(crate) clock: TokioClock,
    pub(crate) bench: Workbench,
}

impl Scene {
    /// Queues `email` and `billing`; those of billing are FIFO queues.
    pub(crate) fn new() -> Self {
        let clock = TokioClock::new(START);
        let sqs = MemorySqs::new(Arc::new(clock.clone()));
        let queue = |name: &str, job_type: &str, source: &str, dead_letters: &str| {
            let (queue, dead) = sqs.create_pair(source, 5);
            StackQueue {
                name: name.to_owned(),
                kind: find(job_type).expect("a job type"),
                queue_name: QueueName::new(source),
                dead_letter_queue_name: QueueName::new(dead_letters),
                queue,
                dead_letters: dead,
            }
        };
        let queues = StackQueues::new(vec![
            queue("email", "email.send", "shop-email", "shop-email-dlq"),
            queue("billing", "billing.charge", "shop-billing.fifo", "shop-billing-dlq.fifo"),
        ]);
        let jobs = Arc::new(MemoryStore::new());
        let store = Arc::new(WatchedStore::new(jobs.clone()));
        let (journal, move_tasks) = (Arc::new(MemoryJournal::new()), Arc::new(ScriptedMoveTasks::none()));
        let archive = Arc::new(MemoryArchive::new());
        let bench = Workbench {
            queues,
            records: store.clone(),
            ledger: Ledger::new(store.clone(), Arc::new(clock.clone())),
            journal: journal.clone(),
            archive: archive.clone(),
            stuck: jobs.clone(),
            move_tasks: move_tasks.clone(),
            clock: Arc::new(clock.clone()),
            metrics: Metrics::new("Ikkai", "dlq-redrive"),
            limits: Limits {
                max_generations: 3,
                record_retention: Duration::from_secs(86_400),
                sweep: SweepRules { hidden_for: Duration::from_secs(960), wait: Duration::from_secs(1), empties: 3 },
                reserve: Duration::from_secs(20),
                lock_between_parts: Duration::from_secs(120),
            },
        };
        Self { sqs, jobs, store, journal, archive, move_tasks, clock, bench }
    }

    pub(crate) fn invocation(&self) -> Invocation {
        Invocation { deadline: self.clock.now() + Duration::from_secs(900), caller: None, request_id: "request-1".to_owned() }
    }

    /// The answer as it goes over the wire. What is asked and answered is what the schemas say.
    pub(crate) async fn ask(&self, request: Value) -> Value {
        let is_request = REQUESTS.is_valid(&request);
        let answer = self.bench.answer(request.clone(), &self.invocation()).await.to_json();
        ANSWERS.validate(&answer).unwrap_or_else(|error| panic!("{error} at {}: {answer}", error.instance_path()));
        let refused = answer["error"]["code"] == "invalid_request";
        assert!(is_request || refused, "the schema refuses what is answered: {request}");
        answer
    }

    /// An answer that must be one: what was refused fails the test.
    pub(crate) async fn done(&self, request: Value) -> Value {
        let answer = self.ask(request).await;
        assert_eq!(answer["ok"], true, "{answer}");
        answer
    }

    /// A refusal's code and message.
    pub(crate) async fn refused(&self, request: Value) -> (String, String) {
        let answer = self.ask(request).await;
        assert_eq!(answer["ok"], false, "{answer}");
        let text = |name: &str| answer["error"][name].as_str().expect("a text").to_owned();
        (text("code"), text("message"))
    }

    /// A job with its record and its message in the dead-letter queue.
    pub(crate) fn bury(&self, key: &str, change: impl FnOnce(&mut JobRecord)) -> JobId {
        let job_id = self.record(key, change);
        self.sqs.bury("shop-email", &[OutgoingMessage::new(mail(key).to_body())]);
        job_id
    }

    /// The record of a dead mail, changed as wanted.
    pub(crate) fn record(&self, key: &str, change: impl FnOnce(&mut JobRecord)) -> JobId {
        let envelope = mail(key);
        let job_id = envelope.job_id.clone().expect("an id");
        let mut record = JobRecord::new(job_id.clone(), envelope.job_type.clone(), 1, "shop", Status::Dead, self.clock.now());
        record.idempotency_key = Some(key.to_owned());
        record.payload_digest = Some(payload_digest(&envelope.payload));
        record.payload = Some(envelope.payload);
        record.data = Some(json!({"password": "hunter2-of-the-caller"}));
        record.callback_url = Some("https://shop.example/hook?token=hidden".to_owned());
        record.died_at = Some(self.clock.now());
        record.last_error = Some(LastError::new(ErrorClass::Permanent, "unknown_user", "there is no such user"));
        change(&mut record);
        self.jobs.put(record);
        job_id
    }

    pub(crate) fn stored(&self, job_id: &JobId) -> JobRecord {
        self.jobs.all().into_iter().find(|record| record.job_id == *job_id).expect("a record")
    }

    /// How many messages of a queue can be received right now, and the highest count of receives.
    pub(crate) fn visible(&self, queue: &str) -> usize {
        let now = self.clock.now();
        self.sqs.messages(queue).iter().filter(|message| message.visible_at <= now).count()
    }
}

/// A welcome mail.
pub(crate) fn mail(key: &str) -> Envelope {
    let job_type = JobType::parse("email.send").expect("a job type");
    let key = IdempotencyKey::parse(key).expect("a key");
    Envelope {
        job_id: Some(JobId::derive("shop", &job_type, &key)),
        job_type,
        schema_version: 1,
        business_id: Some("order-1001".to_owned()),
        payload: json!({"deliveryId": key.as_str(), "templateId": "welcome", "userId": "user-42"}),
        idempotency_key: key,
    }
}

pub(crate) fn failed(class: ErrorClass, code: &str) -> Option<LastError> {
    Some(LastError::new(class, code, "it failed"))
}
