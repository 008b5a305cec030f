//! The producer API with everything behind it in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use ikkai::clock::{EpochMillis, ManualClock};
use ikkai::config::Reader;
use ikkai::idempotency::{JobRecord, MemoryStore};
use ikkai::job::{Envelope, Parsed, find, registry};
use ikkai::observability::Metrics;
use ikkai::queue::{MAX_MESSAGE_BYTES, OutgoingMessage, QueueName};
use ikkai::testing::MemoryQueue;
use producer_api::{Api, Call, Catalog, EventError, Response, Served, Settings};
use serde_json::{Value, json};

use crate::waiting;

const START: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

/// The principal that signs requests.
pub(crate) const CALLER: &str = "arn:aws:sts::123456789012:assumed-role/order-service/i-0example";

/// An API that serves every job type; charges go to a FIFO queue.
pub(crate) struct Door {
    api: Api,
    records: Arc<MemoryStore>,
    queue: Arc<MemoryQueue>,
}

impl Door {
    pub(crate) fn new() -> Self {
        let mut reader = Reader::from_pairs([
            ("IKKAI_JOBS_TABLE", "jobs"),
            ("IKKAI_QUEUES", r#"{"email.send":"email"}"#),
            ("IKKAI_CALLER_POLICY", r#"[{"callers":["*"],"types":["*"],"accounts":["*"]}]"#),
            ("IKKAI_CALLBACKS", "on"),
        ]);
        let settings = Settings::read(&mut reader);
        let settings = reader.finish(settings).expect("valid settings");
        let (records, queue) = (Arc::new(MemoryStore::new()), Arc::new(MemoryQueue::new()));
        let served = registry().iter().map(|kind| {
            let name = if kind.job_type == "billing.charge" { "billing.fifo" } else { kind.job_type };
            Served::new(*kind, QueueName::new(name), queue.clone(), settings.max_queue_depth)
        });
        let (catalog, clock) = (Catalog::new(served), Arc::new(ManualClock::new(START)));
        let metrics = Metrics::new("Ikkai", "producer-api");
        Self { api: Api::new(settings, catalog, records.clone(), clock, metrics), records, queue }
    }

    /// Answers an event.
    pub(crate) fn handle(&self, event: &Value) -> Result<Response, EventError> {
        waiting::outcome(self.api.handle(event, &Call::default()))
    }

    /// Answers the post of one job.
    pub(crate) fn post(&self, job: &Value) -> Response {
        self.handle(&post(&job.to_string())).expect("an HTTP request")
    }

    pub(crate) fn records(&self) -> Vec<JobRecord> {
        self.records.all()
    }

    pub(crate) fn sent(&self) -> Vec<OutgoingMessage> {
        self.queue.sent()
    }

    /// What must hold whatever was asked: each record has one message, SQS takes it, and the consumer of its type reads the recorded job in it. The
    /// envelopes that were sent, by job id.
    pub(crate) fn check_sent(&self) -> BTreeMap<String, Envelope> {
        let (records, sent) = (self.records(), self.sent());
        assert_eq!(records.len(), sent.len(), "what is recorded is sent once, and nothing else is");
        let mut envelopes = BTreeMap::new();
        for message in sent {
            assert_eq!(message.check(MAX_MESSAGE_BYTES), Ok(()), "SQS would refuse the message");
            let envelope = read(&message.body);
            let job_id = envelope.job_id.clone().expect("the API derives it");
            let record = records.iter().find(|record| record.job_id == job_id).expect("the message's job is recorded");
            assert_eq!(record.payload.as_ref(), Some(&envelope.payload), "the record holds the payload of the message");
            assert_eq!(record.idempotency_key.as_deref(), Some(envelope.idempotency_key.as_str()));
            assert_eq!(envelope.to_body(), message.body, "the body is written in one way");
            envelopes.insert(job_id.as_str().to_owned(), envelope);
        }
        envelopes
    }
}

/// A message as the consumer of its type reads it.
fn read(body: &str) -> Envelope {
    let value: Value = serde_json::from_str(body).expect("the API sends JSON");
    let job_type = value["type"].as_str().expect("the API sends the type");
    let kind = find(job_type).expect("the API sends registered types");
    match Envelope::parse(body, kind) {
        Ok(Parsed::Job(envelope)) => envelope,
        other => panic!("the API sent what its consumer refuses: {other:?}"),
    }
}

/// A function URL's event that posts `body`.
fn post(body: &str) -> Value {
    json!({
        "version": "2.0",
        "rawPath": "/v1/jobs",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": "POST", "path": "/v1/jobs"}, "authorizer": {"iam": {"userArn": CALLER}}},
        "body": body,
        "isBase64Encoded": false
    })
}
