//! The consumer on the bench, with ended jobs, a secret and names of the test's choice.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ikkai::callback::Reach;
use ikkai::clock::{Clock, EpochMillis, ManualClock};
use ikkai::consumer::ConsumerSettings;
use ikkai::idempotency::{ErrorClass, JobRecord, LastError, MemoryStore, Status};
use ikkai::job::{IdempotencyKey, JobId, JobType};
use ikkai::testing::{self, BatchRun, Bench, MessageBuilder};
use serde_json::json;
use webhook_consumer::{Courier, Keyring, Lookup, SecretError, SecretSource, SigningSecret, SystemLookup, WebhookHandler};

pub(crate) const CALLER: &str = "arn:aws:sts::123456789012:assumed-role/order-service";
pub(crate) const SECRET: &str = "correct horse battery staple";
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// Twelve attempts, and an invocation that errs when everything failed.
pub(crate) fn settings() -> ConsumerSettings {
    let settings = testing::settings();
    ConsumerSettings { max_attempts: 12, max_receive_count: 20, circuit_failures: 1, error_when_all_fail: true, ..settings }
}

pub(crate) struct Scene {
    pub(crate) jobs: Arc<MemoryStore>,
    pub(crate) secret: Arc<Secret>,
    pub(crate) clock: ManualClock,
    pub(crate) bench: Bench<WebhookHandler>,
}

impl Scene {
    /// A consumer that may call this machine.
    pub(crate) fn new() -> Self {
        Self::with(Arc::new(SystemLookup), Reach::Loopback)
    }

    pub(crate) fn with(lookup: Arc<dyn Lookup>, reach: Reach) -> Self {
        let (jobs, secret) = (Arc::new(MemoryStore::new()), Arc::new(Secret::default()));
        let clock = ManualClock::new(Bench::<WebhookHandler>::START);
        let handler = handler(&jobs, &secret, Arc::new(clock.clone()), lookup, reach);
        Self { jobs, secret, clock, bench: Bench::with(handler, settings()) }
    }

    /// Puts a job there that has ended well and names a URL.
    pub(crate) fn ended(&self, url: &str) -> JobRecord {
        let record = ended(url);
        self.jobs.put(record.clone());
        record
    }

    pub(crate) async fn deliver(&self, message: &MessageBuilder) -> BatchRun {
        self.bench.run_batch([message.build()]).await.expect("the failure of a receiver is no failure of the invocation")
    }

    pub(crate) fn record(&self, message: &MessageBuilder) -> JobRecord {
        self.bench.record_of(message).expect("a record")
    }

    /// The job's status and the code of its last error.
    pub(crate) fn ending(&self, message: &MessageBuilder) -> (Status, Option<String>) {
        let record = self.record(message);
        (record.status, record.last_error.map(|error| error.code))
    }
}

pub(crate) fn handler(
    jobs: &Arc<MemoryStore>,
    secret: &Arc<Secret>,
    clock: Arc<dyn Clock>,
    lookup: Arc<dyn Lookup>,
    reach: Reach,
) -> WebhookHandler {
    let keyring = Keyring::new(secret.clone(), clock.clone());
    let courier = Courier::new(lookup, reach, TIMEOUT).expect("certificates");
    WebhookHandler::new(jobs.clone(), keyring, courier, clock, settings().backoff)
}

/// When [`ended`] ended.
pub(crate) const ENDED_AT: EpochMillis = EpochMillis::from_i64(1_769_903_999_042);

pub(crate) fn ended(url: &str) -> JobRecord {
    let job_type = JobType::parse("email.send").unwrap();
    let job_id = JobId::derive(CALLER, &job_type, &IdempotencyKey::parse("k").unwrap());
    JobRecord {
        business_id: Some("order-1001".to_owned()),
        callback_url: Some(url.to_owned()),
        payload: Some(json!({"userId": "user-42"})),
        data: Some(json!({"variables": {"private": "yes"}})),
        result: Some(json!({"messageId": "m-1"})),
        updated_at: ENDED_AT,
        ..JobRecord::new(job_id, job_type, 1, CALLER, Status::Succeeded, ENDED_AT)
    }
}

pub(crate) fn dead(url: &str) -> JobRecord {
    JobRecord {
        status: Status::Dead,
        result: None,
        last_error: Some(LastError::new(ErrorClass::Permanent, "unknown_user", "no contact has this id")),
        generation: 2,
        ..ended(url)
    }
}

/// The message that a consumer sends about `record`.
pub(crate) fn event_of(record: &JobRecord) -> MessageBuilder {
    event(record.job_id.as_str(), record.status.as_str(), record.generation)
}

pub(crate) fn event(job_id: &str, status: &str, generation: u32) -> MessageBuilder {
    let payload = json!({"jobId": job_id, "status": status, "generation": generation});
    MessageBuilder::job("event-1", "webhook.deliver", &format!("{job_id}:{generation}:{status}"), payload)
}

/// The secret's document, or why it cannot be read.
pub(crate) struct Secret(Mutex<Result<String, SecretError>>);

impl Default for Secret {
    fn default() -> Self {
        Self(Mutex::new(Ok(json!({"current": SECRET}).to_string())))
    }
}

impl Secret {
    pub(crate) fn set(&self, document: Result<String, SecretError>) {
        *self.0.lock().unwrap() = document;
    }
}

#[async_trait]
impl SecretSource for Secret {
    async fn fetch(&self) -> Result<SigningSecret, SecretError> {
        let document = self.0.lock().unwrap().clone();
        SigningSecret::parse(&document?)
    }
}

/// Names that answer by a script, the last answer for ever, and how often they were asked.
#[derive(Default)]
pub(crate) struct Names {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn answering<const N: usize>(answers: [&[&str]; N]) -> Arc<Self> {
        let parsed = answers.map(|answer| answer.iter().map(|address| address.parse().unwrap()).collect());
        Arc::new(Self { answers: Mutex::new(parsed.into()), asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Lookup for Names {
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        next.ok_or_else(|| std::io::Error::other("no such host"))
    }
}
