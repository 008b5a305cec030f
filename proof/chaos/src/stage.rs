//! Where it plays: the local AWS with the deployed functions, a payment provider and a receiver of webhooks, each behind a door that faults
//! stand in.

use ikkai_cli::local::build;
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::environment::{LocalAws, Options};
use ikkai_cli::local::payments::PaymentsFake;
use ikkai_cli::local::proxy::Proxy;
use ikkai_cli::local::receiver::Receiver;
use ikkai_cli::local::stack::{Consumer, Stack};
use ikkai_cli::progress::Progress;

use crate::Failure;
use crate::arguments::Arguments;
use crate::book::Kind;
use crate::plan::Door;

/// Who posts the jobs.
pub const CALLER: &str = "chaos";

/// The card that pays (<https://docs.stripe.com/testing>).
const PAYS: &str = "4242424242424242";

/// Customers of the payment provider. Many, because a charge that is looked up is looked for among its customer's payments.
const CUSTOMERS: usize = 50;

/// Where the receiver is told of ends.
const TOLD: &str = "/told";

/// The consumers that have work here.
pub const CONSUMERS: [Consumer; 3] = [Consumer::Email, Consumer::Billing, Consumer::Webhook];

/// Handler starts after which a job is dead, of a consumer that has work here. Few, so that jobs die and there is something to put back.
#[must_use]
pub const fn most_attempts(consumer: Consumer) -> u32 {
    match consumer {
        Consumer::Billing => 3,
        Consumer::Webhook => 4,
        _ => 2,
    }
}

/// Seconds in place of minutes, and nothing else: what is deployed is what would be. Leases are shorter than the functions' time, so that
/// a process that stands still can outlive its lease and wake up.
const PARAMETERS: &[(&str, &str)] = &[
    ("BackoffBaseMs", "500"),
    ("BackoffCapMs", "2000"),
    ("CircuitCooldownMs", "1000"),
    ("DeferSeconds", "1"),
    ("LeaseChunkSeconds", "3"),
    ("LeaseMarginSeconds", "1"),
    ("LeaseSkewMs", "500"),
    ("LeaseWholeUntilSeconds", "1"),
    ("RedriveTimeoutSeconds", "60"),
    ("SendLeaseMs", "1500"),
    ("SettleReserveMs", "500"),
    ("EmailFunctionTimeoutSeconds", "10"),
    ("EmailMaxConcurrency", "4"),
    ("EmailProviderTimeoutMs", "2000"),
    ("BillingFunctionTimeoutSeconds", "10"),
    ("BillingMaxConcurrency", "4"),
    ("BillingProviderTimeoutMs", "2000"),
    ("WebhookBackoffBaseMs", "500"),
    ("WebhookBackoffCapMs", "2000"),
    ("WebhookFunctionTimeoutSeconds", "10"),
    ("WebhookMaxConcurrency", "2"),
    ("WebhookProviderTimeoutMs", "2000"),
];

/// Everything that runs.
#[derive(Debug)]
pub struct Stage {
    /// The engine, the functions, the proxy between them.
    pub aws: LocalAws,
    /// The payment provider, past its door.
    pub payments: PaymentsFake,
    payments_door: Proxy,
    /// The receiver of webhooks, past its door.
    pub receiver: Receiver,
    receiver_door: Proxy,
    /// Whom to charge.
    pub customers: Vec<String>,
    sqs: aws_sdk_sqs::Client,
}

impl Stage {
    /// Starts everything, with functions from a folder or, without one, built now. It ends with this value, and with this process.
    ///
    /// # Errors
    /// A part cannot be started; the message says what to do.
    pub async fn set(wanted: &Arguments, progress: &Progress) -> Result<Self, Failure> {
        let packages = wanted.functions.as_deref().map(build::packed_functions).transpose()?;
        let checkout = Checkout::find()?;
        let payments = PaymentsFake::start(&checkout, &checkout.state().join("chaos-payments"), progress).await?;
        let receiver = Receiver::start().await?;
        let payments_door = Proxy::start(payments.address()).await?;
        let receiver_door = Proxy::start(receiver.address()).await?;
        let mut customers = Vec::with_capacity(CUSTOMERS);
        for _ in 0..CUSTOMERS {
            customers.push(payments.customer(PAYS).await?);
        }
        let of = |consumer: Consumer| (format!("{}MaxAttempts", consumer.prefix()), most_attempts(consumer).to_string());
        let attempts = CONSUMERS.map(of);
        let options = Options::new("chaos").progress(progress.clone()).parameter("PaymentApiUrl", payments_door.url());
        let options = PARAMETERS.iter().fold(options, |options, (name, value)| options.parameter(*name, *value));
        let options = attempts.into_iter().fold(options, |options, (name, value)| options.parameter(name, value));
        let options = wanted.parameters.iter().fold(options, |options, (name, value)| options.parameter(name, value));
        let options = packages.into_iter().fold(options, Options::packages);
        let aws = LocalAws::start(options).await?;
        let sqs = aws_sdk_sqs::Client::new(&aws.sdk_config());
        Ok(Self { aws, payments, payments_door, receiver, receiver_door, customers, sqs })
    }

    /// The deployed stack.
    #[must_use]
    pub fn stack(&self) -> &Stack {
        self.aws.stack()
    }

    /// The proxy in a door.
    #[must_use]
    pub fn door(&self, door: Door) -> &Proxy {
        match door {
            Door::Aws => self.aws.proxy(),
            Door::Payments => &self.payments_door,
            Door::Receiver => &self.receiver_door,
        }
    }

    /// Who is told of the ends of jobs.
    #[must_use]
    pub fn callback_url(&self) -> String {
        format!("{}{TOLD}", self.receiver_door.url())
    }

    /// The bodies of what the receiver was told.
    #[must_use]
    pub fn told(&self) -> Vec<serde_json::Value> {
        self.receiver.deliveries(TOLD).iter().map(ikkai_cli::local::receiver::Delivery::json).collect()
    }

    /// Puts a message on the queue of a kind of jobs, past API and proxy.
    ///
    /// # Errors
    /// The engine does not take it.
    pub async fn send(&self, kind: Kind, body: &str) -> Result<(), Failure> {
        let queue = self.stack().consumer(kind.consumer()).queue;
        let found = self.sqs.get_queue_url().queue_name(queue).send().await?;
        self.sqs.send_message().set_queue_url(found.queue_url).message_body(body).send().await?;
        Ok(())
    }

    /// The engine's name and version, in its own words.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn engine(&self) -> Result<String, Failure> {
        let engine = self.aws.engine_address();
        Ok(format!("{} {}", engine.kind, engine.version().await?))
    }
}
