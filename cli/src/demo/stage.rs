//! Where the jobs play: the environment, its stacks, and what can be asked of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use ikkai::job::{IdempotencyKey, JobId, JobType};
use serde_json::{Value, json};

use super::consumers::Provider;
use super::findings::Missed;
use super::live::Live;
use super::observer::Observer;
use super::{Failure, PATIENCE};
use crate::local::api::Api;
use crate::local::checkout::Checkout;
use crate::local::environment::LocalAws;
use crate::local::queues::QueuedMessage;
use crate::local::stack::Stack;

/// Who posts the jobs.
pub(super) const CALLER: &str = "demo";

/// The type of the jobs.
pub(super) const EMAIL: &str = "email.send";

/// Receives after which SQS moves a message to the dead-letter queue, in every stack here.
pub(super) const MAX_RECEIVES: u32 = 5;

/// The longest wait after a first failed attempt.
pub(super) const BACKOFF_BASE: Duration = Duration::from_millis(2000);

/// How long a job waits whose provider says "later", or is not asked because it is known to be down.
pub(super) const DEFERRAL: Duration = Duration::from_secs(1);

/// The lease that a job starts with in the stack of long jobs.
pub(super) const LEASE_CHUNK: Duration = Duration::from_secs(3);

/// How often is asked for what no event tells.
const EVERY: Duration = Duration::from_millis(50);

/// Template parameters of the first stack: seconds in place of minutes, and nothing else.
pub(super) fn scaled_parameters() -> BTreeMap<String, String> {
    [
        ("BackoffBaseMs", BACKOFF_BASE.as_millis().to_string()),
        ("BackoffCapMs", "4000".into()),
        // The scenes' failures have nothing to do with each other; the circuit breaker would take them together.
        ("CircuitFailures", "1000".into()),
        ("DeferSeconds", DEFERRAL.as_secs().to_string()),
        ("EmailFunctionTimeoutSeconds", "5".into()),
        ("EmailMaxReceiveCount", MAX_RECEIVES.to_string()),
        ("EmailProviderTimeoutMs", "2000".into()),
        ("BillingMaxAttempts", "3".into()),
        ("BillingMaxReceiveCount", MAX_RECEIVES.to_string()),
        // It would slow down the mapping for the other scenes.
        ("ErrorWhenAllFail", "off".into()),
        ("LeaseMarginSeconds", "1".into()),
        ("LeaseSkewMs", "500".into()),
        ("SendLeaseMs", "1500".into()),
        ("SettleReserveMs", "500".into()),
        ("WebhookBackoffBaseMs", "500".into()),
        ("WebhookBackoffCapMs", "1000".into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// The same with some of them different.
pub(super) fn scaled_and(more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut parameters = scaled_parameters();
    parameters.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    parameters
}

/// The stacks: one for what shares workers, and one for each scene that kills or occupies them.
#[derive(Debug)]
pub(super) struct Stacks {
    pub(super) main: Stack,
    pub(super) killed_before: Stack,
    pub(super) killed_after: Stack,
    pub(super) long: Stack,
}

impl Stacks {
    /// Deploys what is missing beside the environment's first stack. The stack of long jobs charges through the provider's door, and stops
    /// asking a provider that is down.
    pub(super) async fn deploy(aws: &LocalAws, provider: Option<&Provider>) -> Result<Self, Failure> {
        let killed = scaled_and(&[
            ("EmailFunctionTimeoutSeconds", "3"),
            // Of a function's time, a call to the provider may take a part only.
            ("EmailProviderTimeoutMs", "1500"),
            ("EmailBatchSize", "1"),
        ]);
        let chunk = LEASE_CHUNK.as_secs().to_string();
        let door = provider.map(|provider| provider.door.url());
        let mut long = scaled_and(&[
            ("CircuitFailures", "2"),
            ("CircuitCooldownMs", &DEFERRAL.as_millis().to_string()),
            ("EmailFunctionTimeoutSeconds", "15"),
            ("LeaseWholeUntilSeconds", "1"),
            ("LeaseChunkSeconds", &chunk),
            ("EmailBatchSize", "1"),
        ]);
        long.extend(door.map(|url| ("PaymentApiUrl".to_owned(), url)));
        let (killed_before, killed_after, long) = tokio::try_join!(
            aws.deploy("ikkai-killed-before", &killed),
            aws.deploy("ikkai-killed-after", &killed),
            aws.deploy("ikkai-long", &long),
        )?;
        Ok(Self { main: aws.stack().clone(), killed_before, killed_after, long })
    }

    /// All of them.
    pub(super) fn all(&self) -> [&Stack; 4] {
        [&self.main, &self.killed_before, &self.killed_after, &self.long]
    }
}

/// The environment while the scenes play.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    pub(super) aws: &'a LocalAws,
    pub(super) stacks: &'a Stacks,
    pub(super) live: Live,
    pub(super) observer: Observer,
    /// What the scenes of the consumers need; the others do without.
    pub(super) provider: Option<Provider>,
    /// A Python with a decoder of pictures.
    pub(super) python: PathBuf,
}

impl Stage<'_> {
    /// The payment provider.
    pub(super) fn provider(&self) -> Result<&Provider, Missed> {
        self.provider.as_ref().ok_or_else(|| Missed { what: "there is a payment provider".into(), found: "none".into() })
    }

    /// A photograph that lies on its side, as phones store them.
    pub(super) fn photograph(&self) -> Result<Bytes, Failure> {
        Ok(std::fs::read(Checkout::find()?.file("localstack/seed/photo.jpg"))?.into())
    }

    /// A client of a stack's API.
    pub(super) fn api(&self, stack: &Stack) -> Result<Api, Missed> {
        stack.api(CALLER).map_err(|error| Missed { what: "the stack has an API".into(), found: error.to_string() })
    }

    /// Puts a message on a stack's queue, past API and proxy. Returns its id.
    pub(super) async fn send_directly(&self, stack: &Stack, body: &str) -> Result<String, Missed> {
        let missed = |found: String| Missed { what: "the queue takes a message".into(), found };
        let sqs = aws_sdk_sqs::Client::new(&self.aws.sdk_config());
        let found = sqs.get_queue_url().queue_name(stack.email_queue()).send().await;
        let url = found.map_err(|error| missed(error.to_string()))?.queue_url.unwrap_or_default();
        let sent = sqs.send_message().queue_url(url).message_body(body).send().await;
        sent.map_err(|error| missed(error.to_string()))?.message_id.ok_or_else(|| missed("it has no id".into()))
    }

    /// The messages of a queue that hold `text`.
    pub(super) async fn messages_with(&self, stack: &Stack, queue: &str, text: &str) -> Vec<QueuedMessage> {
        let messages = stack.messages(queue).await.unwrap_or_default();
        messages.into_iter().filter(|message| message.body.contains(text)).collect()
    }

    /// How many mails lie in the engine's mailbox, for one address or for all.
    pub(super) async fn mailbox(&self, address: Option<&str>) -> Result<usize, Missed> {
        let mails = self.aws.mails().await;
        let mails = mails.map_err(|error| Missed { what: "the mailbox can be read".into(), found: error.to_string() })?;
        let is_for = |to: &[String]| address.is_none_or(|address| to.iter().any(|recipient| recipient.contains(address)));
        Ok(mails.iter().filter(|mail| is_for(&mail.to)).count())
    }

    /// Asks until there is an answer.
    pub(super) async fn eventually<T>(&self, what: &str, ask: impl AsyncFn() -> Option<T>) -> Result<T, Missed> {
        let asking = async {
            loop {
                if let Some(found) = ask().await {
                    return found;
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        in_time(what, asking).await
    }

    /// The engine's name and version, in its own words.
    pub(super) async fn engine(&self) -> Result<String, Failure> {
        let engine = self.aws.engine_address();
        Ok(format!("{} {}", engine.kind, engine.version().await?))
    }
}

/// What does not come in time is a broken promise.
pub(super) async fn in_time<T>(what: &str, coming: impl Future<Output = T>) -> Result<T, Missed> {
    tokio::time::timeout(PATIENCE, coming)
        .await
        .map_err(|_| Missed { what: what.to_owned(), found: format!("not within {} s", PATIENCE.as_secs()) })
}

/// A welcome mail to a user.
pub(super) fn welcome(user: &str, key: &str) -> Value {
    json!({
        "type": EMAIL,
        "businessId": key,
        "payload": {"deliveryId": key, "templateId": "welcome", "userId": user},
    })
}

/// The type of the jobs, parsed.
pub(super) fn email_type() -> JobType {
    ikkai::job::find(EMAIL).expect("the kit brings this type").job_type()
}

/// The id that a job will have: it is known before the job is posted, so faults can be prepared for it.
pub(super) fn job_id_of(key: &str) -> JobId {
    let key = IdempotencyKey::parse(key).expect("the demo's keys are well formed");
    JobId::derive(&format!("local:{CALLER}"), &email_type(), &key)
}
