//! An API with everything around it in memory, and requests for it.

use std::sync::Arc;
use std::time::Duration;

use ikkai::clock::{Clock, EpochMillis, ManualClock};
use ikkai::config::Reader;
use ikkai::idempotency::{JobRecord, MemoryStore};
use ikkai::job::{BillingCharge, DataUse, EmailSend, JobKind, ReportGenerate};
use ikkai::observability::Metrics;
use ikkai::queue::{OutgoingMessage, QueueError, QueueName};
use ikkai::testing::{MemoryQueue, QueueCall, QueueFault, WatchedStore};
use producer_api::{Api, Call, Catalog, Response, Served, Settings};
use serde_json::{Value, json};

/// The moment every bench starts at.
pub(crate) const START: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

pub(crate) const ANN: &str = "arn:aws:sts::123456789012:assumed-role/ann/host-1";
pub(crate) const BOB: &str = "arn:aws:sts::123456789012:assumed-role/bob/host-1";
pub(crate) const EVERYBODY: &str = r#"[{"callers":["*"],"types":["*"],"accounts":["*"]}]"#;

/// An API with the queues `email` (of `email.send`) and `reports.fifo` (of `report.generate`, a type that needs data).
pub(crate) struct Bench {
    variables: Vec<(&'static str, String)>,
    pub(crate) api: Api,
    pub(crate) records: Arc<MemoryStore>,
    pub(crate) store: Arc<WatchedStore>,
    pub(crate) queue: Arc<MemoryQueue>,
    pub(crate) reports: Arc<MemoryQueue>,
    pub(crate) clock: ManualClock,
    pub(crate) metrics: Metrics,
}

/// An answer, read.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    pub(crate) status: u16,
    pub(crate) body: Value,
    response: Response,
}

impl Read {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers.get(name).map(String::as_str)
    }

    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    pub(crate) fn job_id(&self) -> &str {
        self.body["jobId"].as_str().unwrap_or_default()
    }

    /// Pointers of the listed errors.
    pub(crate) fn pointers(&self) -> Vec<&str> {
        self.body["errors"].as_array().into_iter().flatten().filter_map(|error| error["pointer"].as_str()).collect()
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with([])
    }

    /// A bench with settings beside the required ones.
    pub(crate) fn with<const N: usize>(pairs: [(&'static str, &str); N]) -> Self {
        let required = [
            ("IKKAI_SERVICE", "producer-api"),
            ("IKKAI_JOBS_TABLE", "jobs"),
            ("IKKAI_QUEUES", r#"{"email.send":"email"}"#),
            ("IKKAI_CALLER_POLICY", EVERYBODY),
        ];
        let given = required.into_iter().filter(|(name, _)| !pairs.iter().any(|(other, _)| other == name)).chain(pairs);
        let variables: Vec<_> = given.map(|(name, value)| (name, value.to_owned())).collect();
        let records = Arc::new(MemoryStore::new());
        Self::over(variables, records, Arc::default(), Arc::default(), ManualClock::new(START))
    }

    /// The same function in another sandbox: what is stored, queued and timed is shared.
    pub(crate) fn another_sandbox(&self) -> Self {
        let queues = (self.queue.clone(), self.reports.clone());
        Self::over(self.variables.clone(), self.records.clone(), queues.0, queues.1, self.clock.clone())
    }

    /// Another sandbox after a change of settings.
    pub(crate) fn another_sandbox_with<const N: usize>(&self, pairs: [(&'static str, &str); N]) -> Self {
        let kept = self.variables.iter().filter(|(name, _)| !pairs.iter().any(|(other, _)| other == name)).cloned();
        let variables = kept.chain(pairs.map(|(name, value)| (name, value.to_owned()))).collect();
        let queues = (self.queue.clone(), self.reports.clone());
        Self::over(variables, self.records.clone(), queues.0, queues.1, self.clock.clone())
    }

    fn over(
        variables: Vec<(&'static str, String)>,
        records: Arc<MemoryStore>,
        queue: Arc<MemoryQueue>,
        reports: Arc<MemoryQueue>,
        clock: ManualClock,
    ) -> Self {
        let mut reader = Reader::from_pairs(variables.clone());
        let settings = Settings::read(&mut reader);
        let settings = reader.finish(settings).expect("valid settings");
        let store = Arc::new(WatchedStore::new(records.clone()));
        let metrics = Metrics::new("Ikkai", "producer-api");
        let report = JobKind { job_type: "report.generate", data: DataUse::Required, ..JobKind::of::<EmailSend>() };
        let of_account = JobKind { job_type: "account.report", ..JobKind::of::<ReportGenerate>() };
        let picture = JobKind { job_type: "image.resize", data: DataUse::None, ..JobKind::of::<EmailSend>() };
        let catalog = Catalog::new([
            Served::new(JobKind::of::<EmailSend>(), QueueName::new("email"), queue.clone(), settings.max_queue_depth),
            Served::new(picture, QueueName::new("pictures"), queue.clone(), settings.max_queue_depth),
            Served::new(of_account, QueueName::new("accounts"), queue.clone(), settings.max_queue_depth),
            Served::new(JobKind::of::<BillingCharge>(), QueueName::new("billing"), queue.clone(), settings.max_queue_depth),
            Served::new(report, QueueName::new("reports.fifo"), reports.clone(), settings.max_queue_depth),
        ]);
        let api = Api::new(settings, catalog, store.clone(), Arc::new(clock.clone()), metrics.clone());
        Self { variables, api, records, store, queue, reports, clock, metrics }
    }

    /// The sum of a counter since the last time that this was asked, over all job types.
    pub(crate) fn counted(&self, metric: &str) -> u64 {
        let mut lines = Vec::new();
        self.metrics.flush(self.clock.now(), &mut lines).expect("memory takes all");
        let lines = serde_json::Deserializer::from_slice(&lines).into_iter::<Value>().map(|line| line.expect("JSON"));
        lines.filter_map(|line| line[metric].as_u64()).sum()
    }

    /// Sends an event.
    pub(crate) async fn event(&self, event: &Value) -> Read {
        let call = Call { request_id: "request-1".to_owned(), ..Call::default() };
        self.called(event, &call).await
    }

    pub(crate) async fn called(&self, event: &Value, call: &Call) -> Read {
        let response = self.api.handle(event, call).await.expect("an HTTP request");
        let body = serde_json::from_str(&response.body).unwrap_or(Value::Null);
        Read { status: response.status_code, body, response }
    }

    /// Posts a job as Ann.
    pub(crate) async fn post(&self, key: &str, job: &Value) -> Read {
        self.event(&post(key, job)).await
    }

    /// Posts a batch as Ann.
    pub(crate) async fn post_batch(&self, jobs: &Value) -> Read {
        self.event(&request(ANN, "POST", "/v1/jobs/batch", &[], &json!({"jobs": jobs}))).await
    }

    /// Reads a job as Ann.
    pub(crate) async fn get(&self, job_id: &str) -> Read {
        self.event(&request(ANN, "GET", &format!("/v1/jobs/{job_id}"), &[], &Value::Null)).await
    }

    /// Cancels a job as Ann.
    pub(crate) async fn delete(&self, job_id: &str) -> Read {
        self.event(&request(ANN, "DELETE", &format!("/v1/jobs/{job_id}"), &[], &Value::Null)).await
    }

    /// Lets the next message be refused by the queue.
    pub(crate) fn refuse_next_send(&self, error: QueueError) {
        self.queue.fail_next(QueueFault::FailEntries(vec![(0, error)]));
    }

    pub(crate) fn now(&self) -> EpochMillis {
        self.clock.now()
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// The only record.
    pub(crate) fn record(&self) -> JobRecord {
        let mut all = self.records.all();
        assert_eq!(all.len(), 1, "expected one record");
        all.remove(0)
    }

    /// Changes the only record behind the API's back.
    pub(crate) fn change(&self, change: impl FnOnce(&mut JobRecord)) {
        let mut record = self.record();
        change(&mut record);
        self.records.put(record);
    }

    pub(crate) fn sent(&self) -> Vec<OutgoingMessage> {
        self.queue.sent()
    }

    /// Sizes of the send calls.
    pub(crate) fn send_calls(&self) -> Vec<usize> {
        let calls = self.queue.calls().into_iter();
        calls.filter_map(|call| if let QueueCall::Send(messages) = call { Some(messages.len()) } else { None }).collect()
    }
}

pub(crate) fn down() -> QueueError {
    QueueError::Unavailable { operation: "SendMessage", code: "ServiceUnavailable".to_owned() }
}

/// A valid `email.send` payload.
pub(crate) fn payload(delivery: &str) -> Value {
    json!({"deliveryId": delivery, "templateId": "welcome", "userId": "user-42"})
}

/// A valid `email.send` job.
pub(crate) fn email(delivery: &str) -> Value {
    json!({"type": "email.send", "payload": payload(delivery)})
}

/// The same with its key inside.
pub(crate) fn keyed(key: &str, delivery: &str) -> Value {
    json!({"type": "email.send", "idempotencyKey": key, "payload": payload(delivery)})
}

pub(crate) fn post(key: &str, job: &Value) -> Value {
    request(ANN, "POST", "/v1/jobs", &[("idempotency-key", key)], job)
}

/// A function URL's event, signed by `arn`.
pub(crate) fn request(arn: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Value {
    let mut event = json!({
        "version": "2.0",
        "rawPath": path,
        "headers": {"host": "x.lambda-url.us-east-1.on.aws"},
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "authorizer": {"iam": {"userArn": arn, "accountId": "123456789012", "cognitoIdentity": null}}
        },
        "isBase64Encoded": false
    });
    if !body.is_null() {
        event["body"] = json!(body.to_string());
        event["headers"]["content-type"] = json!("application/json");
    }
    for (name, value) in headers {
        event["headers"][*name] = json!(value);
    }
    event
}
