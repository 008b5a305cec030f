//! A stack in memory with an operators' workbench in front of it.

use std::sync::Arc;
use std::time::Duration;

use dlq_redrive::archive::MemoryArchive;
use dlq_redrive::journal::MemoryJournal;
use dlq_redrive::move_tasks::ScriptedMoveTasks;
use dlq_redrive::protocol::{Discard, DiscardAnswer, MessageVerdict, Redrive, RedriveAnswer, Refusal, RunState, VerdictCode};
use dlq_redrive::{Invocation, Limits, StackQueue, StackQueues, SweepRules, Workbench, run};
use ikkai::clock::{Clock, EpochMillis};
use ikkai::idempotency::{ErrorClass, JobRecord, JobStore, LastError, Ledger, Status};
use ikkai::job::{Envelope, IdempotencyKey, JobId, JobType, find, payload_digest};
use ikkai::observability::Metrics;
use ikkai::queue::{OutgoingMessage, QueueName};
use ikkai::testing::{MemorySqs, MemoryStore, StoredMessage, TokioClock, WatchedStore};
use serde_json::{Value, json};

pub(crate) const START: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

/// How long an invocation may take in these tests.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(900);

pub(crate) struct Scene {
    pub(crate) sqs: MemorySqs,
    pub(crate) records: Arc<MemoryStore>,
    pub(crate) store: Arc<WatchedStore>,
    pub(crate) journal: Arc<MemoryJournal>,
    pub(crate) archive: Arc<MemoryArchive>,
    pub(crate) move_tasks: Arc<ScriptedMoveTasks>,
    pub(crate) clock: TokioClock,
    pub(crate) workbench: Workbench,
}

impl Scene {
    /// Queues `email` and `billing`, each with a dead-letter queue.
    pub(crate) fn new() -> Self {
        Self::with([("email", "email.send", "email"), ("billing", "billing.charge", "billing")])
    }

    /// A stack whose one queue keeps order.
    pub(crate) fn fifo() -> Self {
        Self::with([("email", "email.send", "email.fifo")])
    }

    fn with<const N: usize>(queues: [(&str, &str, &str); N]) -> Self {
        let clock = TokioClock::new(START);
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let sqs = MemorySqs::new(shared.clone());
        let queues = queues.map(|(name, job_type, queue)| {
            let (source, dead_letters) = sqs.create_pair(queue, 6);
            StackQueue {
                name: name.to_owned(),
                kind: find(job_type).unwrap(),
                queue_name: QueueName::new(source.name()),
                dead_letter_queue_name: QueueName::new(dead_letters.name()),
                queue: source,
                dead_letters,
            }
        });
        let records = Arc::new(MemoryStore::new());
        let store = Arc::new(WatchedStore::new(records.clone()));
        let (journal, archive) = (Arc::new(MemoryJournal::new()), Arc::new(MemoryArchive::new()));
        let move_tasks = Arc::new(ScriptedMoveTasks::none());
        let table: Arc<dyn JobStore> = store.clone();
        let workbench = Workbench {
            queues: StackQueues::new(queues.to_vec()),
            records: table.clone(),
            ledger: Ledger::new(table, shared.clone()),
            journal: journal.clone(),
            archive: archive.clone(),
            stuck: records.clone(),
            move_tasks: move_tasks.clone(),
            clock: shared,
            metrics: Metrics::new("Ikkai", "dlq-redrive"),
            limits: Limits {
                max_generations: 10,
                record_retention: Duration::from_secs(86_400),
                sweep: SweepRules { hidden_for: Duration::from_secs(960), wait: Duration::from_secs(1), empties: 3 },
                reserve: Duration::from_secs(20),
                lock_between_parts: Duration::from_secs(120),
            },
        };
        Self { sqs, records, store, journal, archive, move_tasks, clock, workbench }
    }

    pub(crate) fn now(&self) -> EpochMillis {
        self.clock.now()
    }

    /// A dead `email.send` job with its message in the dead-letter queue.
    pub(crate) fn dead(&self, name: &str) -> JobId {
        let (record, body) = email(name, Status::Dead, self.now());
        let job_id = record.job_id.clone();
        self.records.put(record);
        self.sqs.bury(self.email_queue(), &[OutgoingMessage::new(body)]);
        job_id
    }

    /// Many of them.
    pub(crate) fn many_dead(&self, count: usize) -> Vec<JobId> {
        self.bury_many(count, |_, _| {});
        (0..count).map(|index| envelope(&format!("mail-{index:05}")).job_id.unwrap()).collect()
    }

    /// A job whose record is in any state, with its message in the dead-letter queue.
    pub(crate) fn buried(&self, name: &str, change: impl FnOnce(&mut JobRecord)) -> JobId {
        let (mut record, body) = email(name, Status::Dead, self.now());
        change(&mut record);
        let job_id = record.job_id.clone();
        self.records.put(record);
        self.sqs.bury(self.email_queue(), &[OutgoingMessage::new(body)]);
        job_id
    }

    /// Many dead jobs at once, each changed by its number.
    pub(crate) fn bury_many(&self, count: usize, change: impl Fn(usize, &mut JobRecord)) {
        let bodies = (0..count).map(|index| {
            let (mut record, body) = email(&format!("mail-{index:05}"), Status::Dead, self.now());
            change(index, &mut record);
            self.records.put(record);
            OutgoingMessage::new(body)
        });
        self.sqs.bury(self.email_queue(), &bodies.collect::<Vec<_>>());
    }

    fn email_queue(&self) -> &str {
        self.workbench.queues.all()[0].queue_name.as_str()
    }

    pub(crate) fn record(&self, job_id: &JobId) -> JobRecord {
        self.records.all().into_iter().find(|record| record.job_id == *job_id).expect("a record")
    }

    pub(crate) fn set(&self, job_id: &JobId, change: impl FnOnce(&mut JobRecord)) {
        let mut record = self.record(job_id);
        change(&mut record);
        self.records.put(record);
    }

    pub(crate) fn messages(&self, queue: &str) -> Vec<StoredMessage> {
        self.sqs.messages(queue)
    }

    pub(crate) fn invocation(&self) -> Invocation {
        self.until(TIMEOUT)
    }

    pub(crate) fn until(&self, time: Duration) -> Invocation {
        Invocation {
            deadline: self.now() + time,
            caller: Some("arn:aws:sts::000000000000:assumed-role/operator".into()),
            request_id: "request-1".into(),
        }
    }

    pub(crate) async fn redrive(&self, request: Value) -> Result<RedriveAnswer, Refusal> {
        run::redrive(&self.workbench, &redrive(request), &self.invocation()).await
    }

    pub(crate) async fn redrive_within(&self, time: Duration, request: Value) -> Result<RedriveAnswer, Refusal> {
        run::redrive(&self.workbench, &redrive(request), &self.until(time)).await
    }

    /// Goes on until the run is over, each part in an invocation of this length. Returns the answers of all parts.
    pub(crate) async fn redrive_to_the_end(&self, time: Duration, mut request: Value) -> Vec<RedriveAnswer> {
        let mut answers: Vec<RedriveAnswer> = Vec::new();
        loop {
            let answer = self.redrive_within(time, request.clone()).await.unwrap();
            if let Some(wait) = answer.continue_after_seconds {
                tokio::time::sleep(Duration::from_secs(wait)).await;
            }
            request["runId"] = answer.run_id.clone().into();
            request["cursor"] = answer.cursor.clone().into();
            answers.push(answer);
            if answers.last().unwrap().state != RunState::Continues {
                return answers;
            }
            assert!(answers.len() < 1_000, "the run does not end");
        }
    }

    pub(crate) async fn discard(&self, request: Value) -> Result<DiscardAnswer, Refusal> {
        let mut members = json!({ "deadLetterQueue": "email-dlq", "reason": "a test" });
        members.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        run::discard(&self.workbench, &serde_json::from_value::<Discard>(members).unwrap(), &self.invocation()).await
    }
}

/// A request with what every request needs.
pub(crate) fn redrive(request: Value) -> Redrive {
    let mut members = json!({ "queue": "email", "reason": "a test", "max": 100_000, "ratePerSecond": 500 });
    members.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
    serde_json::from_value(members).unwrap()
}

/// The envelope of an `email.send` job.
pub(crate) fn envelope(name: &str) -> Envelope {
    let job_type = JobType::parse("email.send").unwrap();
    let key = IdempotencyKey::parse(name).unwrap();
    Envelope {
        job_id: Some(JobId::derive("test-caller", &job_type, &key)),
        job_type,
        schema_version: 1,
        business_id: None,
        idempotency_key: key,
        payload: json!({"deliveryId": name, "templateId": "welcome", "userId": "user-42"}),
    }
}

/// The record and the body of an `email.send` job.
pub(crate) fn email(name: &str, status: Status, now: EpochMillis) -> (JobRecord, String) {
    let job = envelope(name);
    let (job_id, job_type) = (job.job_id.clone().unwrap(), job.job_type.clone());
    let mut record = JobRecord::new(job_id, job_type, 1, "test-caller", status, now);
    record.idempotency_key = Some(name.to_owned());
    record.payload_digest = Some(payload_digest(&job.payload));
    record.payload = Some(job.payload.clone());
    if status == Status::Dead {
        record.attempts = 3;
        record.died_at = Some(now);
        record.last_error = Some(LastError::new(ErrorClass::Permanent, "unknown_user", "there is no such user"));
    }
    (record, job.to_body())
}

/// The verdicts' codes.
pub(crate) fn codes(verdicts: &[MessageVerdict]) -> Vec<VerdictCode> {
    verdicts.iter().map(|verdict| verdict.verdict).collect()
}

/// What the numbers of an answer have to add up to.
pub(crate) fn check_sums(answer: &RedriveAnswer) {
    let tally = &answer.tally;
    assert_eq!(tally.by_verdict.values().sum::<u64>(), tally.matched, "{tally:?}");
    let of = |code| tally.by_verdict.get(&code).copied().unwrap_or(0);
    assert_eq!(of(VerdictCode::Redriven) + of(VerdictCode::SentNotDeleted), tally.redriven, "{tally:?}");
    assert!(tally.succeeded_again + tally.failed_again <= tally.redriven, "{tally:?}");
}
