//! The engine that all tests share, and waiting for events on it.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ikkai::clock::{Clock, SystemClock};
use ikkai::idempotency::{DynamoStore, JobRecord, JobStore};
use ikkai::job::JobId;
use ikkai_cli::local::environment::{LocalAws, Options};
use ikkai_cli::local::stack::Stack;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OnceCell};

/// Longest time anything here may take before a test calls it lost.
const PATIENCE: Duration = Duration::from_secs(90);

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime"));
static ENGINE: OnceCell<LocalAws> = OnceCell::const_new();
static STACKS: Mutex<BTreeMap<&'static str, Stack>> = Mutex::const_new(BTreeMap::new());
static NAMES: AtomicU32 = AtomicU32::new(0);

/// Runs a test on the shared engine and its first stack.
pub(crate) fn on_engine(test: impl AsyncFnOnce(&Lab)) {
    RUNTIME.block_on(async {
        let aws = engine().await;
        test(&Lab { aws, stack: aws.stack().clone() }).await;
    });
}

/// Runs a test on a stack of its own, for tests that kill workers or turn other knobs.
pub(crate) fn on_stack(name: &'static str, parameters: &[(&str, &str)], test: impl AsyncFnOnce(&Lab)) {
    RUNTIME.block_on(async {
        let aws = engine().await;
        let mut stacks = STACKS.lock().await;
        if !stacks.contains_key(name) {
            let mut scaled: BTreeMap<String, String> = scaled_parameters();
            scaled.extend(parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
            let stack = aws.deploy(name, &scaled).await.expect("a stack");
            stacks.insert(name, stack);
        }
        let stack = stacks[name].clone();
        drop(stacks);
        test(&Lab { aws, stack }).await;
    });
}

async fn engine() -> &'static LocalAws {
    let start = || async {
        let options =
            scaled_parameters().into_iter().fold(Options::new("tests"), |options, (name, value)| options.parameter(name, value));
        LocalAws::start(options).await.unwrap_or_else(|error| panic!("the local engine does not start: {error}"))
    };
    ENGINE.get_or_init(start).await
}

/// The deployed functions with seconds in place of minutes.
fn scaled_parameters() -> BTreeMap<String, String> {
    [
        ("BackoffBaseMs", "500"),
        ("BackoffCapMs", "1000"),
        ("CircuitCooldownMs", "1000"),
        ("CircuitFailures", "1000"),
        ("DeferSeconds", "1"),
        ("EmailFunctionTimeoutSeconds", "5"),
        ("EmailMaxReceiveCount", "5"),
        ("EmailProviderTimeoutMs", "2000"),
        ("ErrorWhenAllFail", "off"),
        ("LeaseMarginSeconds", "1"),
        ("LeaseSkewMs", "500"),
        ("SchemaDeferSeconds", "1"),
        ("SchemaHoldSeconds", "6"),
        ("SendLeaseMs", "1500"),
        ("SettleReserveMs", "500"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// One test's view of the engine.
pub(crate) struct Lab {
    pub(crate) aws: &'static LocalAws,
    pub(crate) stack: Stack,
}

/// An answer of the API.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
}

impl Lab {
    /// A key that no other test uses.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{name}-{}-{}", std::process::id(), NAMES.fetch_add(1, Ordering::Relaxed))
    }

    /// A welcome mail to a seeded user.
    pub(crate) fn mail_to(&self, user: &str, delivery: &str) -> Value {
        json!({"type": "email.send", "payload": {"deliveryId": delivery, "templateId": "welcome", "userId": user}})
    }

    /// Posts a job as `caller`.
    pub(crate) async fn post_as(&self, caller: &str, key: &str, job: &Value) -> Answer {
        let api = self.stack.api(caller).expect("an API");
        answer(api.post_job(key, job).await.expect("an answer"))
    }

    /// Posts a welcome mail and returns its job id.
    pub(crate) async fn post_mail(&self, name: &str, user: &str) -> JobId {
        let key = self.key(name);
        let posted = self.post_as("tester", &key, &self.mail_to(user, &key)).await;
        assert_eq!(posted.status, 202, "{posted:?}");
        JobId::parse_stored(posted.body["jobId"].as_str().expect("a job id")).expect("a job id")
    }

    /// Puts a message on the queue without the API.
    pub(crate) async fn send_directly(&self, body: &str) -> String {
        let sqs = aws_sdk_sqs::Client::new(&self.aws.sdk_config());
        let url =
            sqs.get_queue_url().queue_name(self.stack.email_queue()).send().await.expect("a queue").queue_url.expect("a URL");
        let sent = sqs.send_message().queue_url(url).message_body(body).send().await.expect("a message");
        sent.message_id.expect("a message id")
    }

    /// The record, read past the proxy so that nothing is counted.
    pub(crate) async fn record(&self, job_id: &JobId) -> Option<JobRecord> {
        let client = aws_sdk_dynamodb::Client::new(&self.aws.sdk_config());
        DynamoStore::new(client, self.stack.jobs_table()).get(job_id).await.expect("the table answers")
    }

    /// Waits until the record is as wanted.
    pub(crate) async fn record_when(&self, job_id: &JobId, wanted: impl Fn(&JobRecord) -> bool) -> JobRecord {
        self.eventually(&format!("record of {job_id}"), async || self.record(job_id).await.filter(|record| wanted(record))).await
    }

    /// Waits until a message with this text in its body is in the dead-letter queue, and returns its id and attributes.
    pub(crate) async fn dead_letter_with(&self, text: &str) -> ikkai_cli::local::queues::QueuedMessage {
        let queue = self.stack.email_dead_letter_queue();
        self.eventually("dead letter", async || {
            let messages = self.stack.messages(queue).await.expect("the engine answers");
            messages.into_iter().find(|message| message.body.contains(text))
        })
        .await
    }

    /// Waits until nothing is in the queue any more.
    pub(crate) async fn queue_is_empty(&self) {
        self.eventually("empty queue", async || {
            let counts = self.stack.queue_counts(self.stack.email_queue()).await.expect("the engine answers");
            (counts.all() == 0).then_some(())
        })
        .await;
    }

    /// Asks again and again until there is something; what never comes fails the test with a name.
    pub(crate) async fn eventually<T>(&self, what: &str, ask: impl AsyncFn() -> Option<T>) -> T {
        let started = SystemClock.now();
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            self.aws.check().expect("the engine runs");
            assert!(SystemClock.now().since(started) < PATIENCE, "never came: {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

pub(crate) fn answer(response: http::Response<bytes::Bytes>) -> Answer {
    let (parts, body) = response.into_parts();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) }
}
