//! The engine that all tests share, and waiting for events on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::clock::{Clock, SystemClock};
use ikkai::idempotency::{DynamoStore, JobRecord, JobStore, Status};
use ikkai::job::{IdempotencyKey, JobId};
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::engine::{Capability, EngineKind};
use ikkai_cli::local::environment::{LocalAws, Options};
use ikkai_cli::local::objects::Bucket;
use ikkai_cli::local::payments::PaymentsFake;
use ikkai_cli::local::proxy::Proxy;
use ikkai_cli::local::queues::QueuedMessage;
use ikkai_cli::local::stack::Stack;
use ikkai_cli::progress::Progress;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OnceCell};

/// Who posts, where nobody is named.
pub(crate) const CALLER: &str = "tester";

/// Longest time anything here may take before a test calls it lost, on the slower engine and a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime"));
static ENGINE: OnceCell<LocalAws> = OnceCell::const_new();
static PROVIDER: OnceCell<Provider> = OnceCell::const_new();
static STACKS: Mutex<BTreeMap<&'static str, Stack>> = Mutex::const_new(BTreeMap::new());
static NAMES: AtomicU32 = AtomicU32::new(0);

/// The engine that the tests run on: `IKKAI_ENGINE`, else the default one.
fn kind() -> EngineKind {
    EngineKind::from_environment().unwrap_or_else(|error| panic!("{error}"))
}

/// Whether the engine does what a test is about. If it does not, the test says why and proves nothing.
pub(crate) fn engine_can(capability: Capability) -> bool {
    match kind().lacks(capability) {
        Some(reason) => {
            eprintln!("skipped: {reason}");
            false
        }
        None => true,
    }
}

/// Runs what has to be done before a stack is there.
pub(crate) fn block_on<T>(work: impl AsyncFnOnce() -> T) -> T {
    RUNTIME.block_on(work())
}

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
            scaled.insert("PaymentApiUrl".to_owned(), provider().await.proxy.url());
            scaled.extend(parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
            let stack = aws.deploy(name, &scaled).await.expect("a stack");
            stacks.insert(name, stack);
        }
        let stack = stacks[name].clone();
        drop(stacks);
        test(&Lab { aws, stack }).await;
    });
}

/// A payment provider that others wrote, behind a proxy of its own.
pub(crate) struct Provider {
    pub(crate) fake: PaymentsFake,
    pub(crate) proxy: Proxy,
}

/// The payment provider that all stacks charge with unless they are told another one.
pub(crate) async fn provider() -> &'static Provider {
    let start = || async {
        let checkout = Checkout::find().expect("a checkout");
        let fake = PaymentsFake::start(&checkout, &checkout.state().join("tests-payments"), &Progress::silent()).await;
        let fake = fake.expect("a payment provider");
        let proxy = Proxy::start(fake.address()).await.expect("a proxy");
        Provider { fake, proxy }
    };
    PROVIDER.get_or_init(start).await
}

async fn engine() -> &'static LocalAws {
    let start = || async {
        let payments = ("PaymentApiUrl".to_owned(), provider().await.proxy.url());
        let parameters = scaled_parameters().into_iter().chain([payments]);
        let options =
            parameters.fold(Options::new("tests").engine(kind()), |options, (name, value)| options.parameter(name, value));
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
        ("SchemaHoldSeconds", "12"),
        ("SendLeaseMs", "1500"),
        ("SettleReserveMs", "500"),
        ("BillingMaxAttempts", "3"),
        ("BillingMaxReceiveCount", "5"),
        ("ImageMaxReceiveCount", "5"),
        ("RedriveTimeoutSeconds", "60"),
        ("WebhookBackoffBaseMs", "500"),
        ("WebhookBackoffCapMs", "1000"),
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
        self.post(&key, &self.mail_to(user, &key)).await
    }

    /// Posts a job and returns its id.
    pub(crate) async fn post(&self, key: &str, job: &Value) -> JobId {
        let posted = self.post_as(CALLER, key, job).await;
        assert_eq!(posted.status, 202, "{posted:?}");
        JobId::parse_stored(posted.body["jobId"].as_str().expect("a job id")).expect("a job id")
    }

    /// The id that a mail's job will have: it is known before the job is posted, so faults can be prepared for it.
    pub(crate) fn job_id_of(&self, key: &str) -> JobId {
        let job_type = ikkai::job::find("email.send").expect("registered").job_type();
        JobId::derive(&format!("local:{CALLER}"), &job_type, &IdempotencyKey::parse(key).expect("a key"))
    }

    /// Puts a message on the mails' queue without the API.
    pub(crate) async fn send_directly(&self, body: &str) -> String {
        self.send_to(self.stack.email_queue(), body).await
    }

    /// Puts a message on a queue without the API.
    pub(crate) async fn send_to(&self, queue: &str, body: &str) -> String {
        let sqs = aws_sdk_sqs::Client::new(&self.aws.sdk_config());
        let url = sqs.get_queue_url().queue_name(queue).send().await.expect("a queue").queue_url.expect("a URL");
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

    /// Waits until a job succeeds. One that ends otherwise fails the test at once.
    pub(crate) async fn succeeded(&self, job_id: &JobId) -> JobRecord {
        let record = self.record_when(job_id, |record| record.status.is_final()).await;
        assert_eq!(record.status, Status::Succeeded, "{job_id}: {:?}", record.last_error);
        record
    }

    /// The jobs whose payload contains this text, by a scan of the table.
    pub(crate) async fn jobs_about(&self, text: &str) -> Vec<JobId> {
        let client = aws_sdk_dynamodb::Client::new(&self.aws.sdk_config());
        let pages = client.scan().table_name(self.stack.jobs_table()).consistent_read(true).into_paginator().items().send();
        let items = pages.collect::<Result<Vec<_>, _>>().await.expect("the table can be scanned");
        let holds = |item: &&HashMap<String, AttributeValue>| {
            item.get("payload").and_then(|payload| payload.as_s().ok()).is_some_and(|payload| payload.contains(text))
        };
        let ids = items.iter().filter(holds).filter_map(|item| item["job_id"].as_s().ok());
        ids.map(|id| JobId::parse_stored(id).expect("a job id")).collect()
    }

    /// One of the stack's outputs.
    pub(crate) fn output(&self, name: &str) -> &str {
        self.stack.outputs().get(name).unwrap_or_else(|| panic!("the stack has no output {name}"))
    }

    /// A bucket of the stack, by the output that names it.
    pub(crate) fn bucket(&self, output: &str) -> Bucket {
        Bucket::new(self.aws.address(), self.output(output))
    }

    /// Waits until a message with this text in its body is in the mails' dead-letter queue, and returns its id and attributes.
    pub(crate) async fn dead_letter_with(&self, text: &str) -> QueuedMessage {
        self.dead_letter_in(self.stack.email_dead_letter_queue(), text).await
    }

    /// Waits until a message with this text in its body is in a dead-letter queue.
    pub(crate) async fn dead_letter_in(&self, queue: &str, text: &str) -> QueuedMessage {
        self.eventually("dead letter", async || {
            let messages = self.stack.messages(queue).await.expect("the engine answers");
            messages.into_iter().find(|message| message.body.contains(text))
        })
        .await
    }

    /// Waits until nothing is in the mails' queue any more.
    pub(crate) async fn queue_is_empty(&self) {
        self.eventually("empty queue", async || {
            let counts = self.stack.queue_counts(self.stack.email_queue()).await.expect("the engine answers");
            (counts.all() == 0).then_some(())
        })
        .await;
    }

    /// Waits until no message with this text in its body is in a queue any more.
    pub(crate) async fn let_go(&self, queue: &str, text: &str) {
        self.eventually("a queue that lets go", async || {
            let messages = self.stack.messages(queue).await.expect("the engine answers");
            (!messages.iter().any(|message| message.body.contains(text))).then_some(())
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
