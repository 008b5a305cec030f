//! The consumer on the bench, with a provider beside it.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use billing_consumer::{
    ApiKey, ApiKeyError, ApiKeyRing, ApiKeySource, ApiUrl, BillingHandler, BillingSettings, KeyWindow, StripeGateway,
};
use ikkai::{
    clock::{Clock, EpochMillis},
    consumer::ConsumerSettings,
    idempotency::{JobRecord, Status},
    job::JobType,
    testing::{self, BatchRun, Bench, MessageBuilder, StoreCall, StoreFault},
};
use serde_json::{Value, json};

use crate::provider::{Card, Provider};

/// How long a call to the provider may take: longer than any answer on a busy machine.
pub(crate) const PROVIDER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a call may take where the provider keeps silent on purpose.
pub(crate) const SHORT_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a settlement is written while the table does not answer.
const SETTLING_WRITES: usize = 4;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// A source of keys that a test can change, and that counts.
pub(crate) struct Secret(Mutex<(Option<String>, usize)>);

impl Secret {
    pub(crate) fn put(&self, key: Option<&str>) {
        self.0.lock().unwrap().0 = key.map(str::to_owned);
    }

    pub(crate) fn reads(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

#[async_trait]
impl ApiKeySource for Secret {
    async fn fetch(&self) -> Result<ApiKey, ApiKeyError> {
        let mut state = self.0.lock().unwrap();
        state.1 += 1;
        state.0.as_deref().map_or(Err(ApiKeyError::Unreadable { code: "ResourceNotFoundException".to_owned() }), ApiKey::parse)
    }
}

/// A consumer, and a provider that knows `cus_good`, `cus_empty` (declined), `cus_guarded` (authentication) and `cus_slow` (bank debit).
pub(crate) struct Scene {
    pub(crate) bench: Bench<BillingHandler>,
    pub(crate) provider: Provider,
    pub(crate) secret: Arc<Secret>,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(testing::settings(), Some("sk_test_good")).await
    }

    pub(crate) async fn with(consumer: ConsumerSettings, key: Option<&str>) -> Self {
        let provider = Provider::start().await;
        provider.payments(|payments| {
            payments.customer("cus_good", Card::Good);
            payments.customer("cus_empty", Card::Empty);
            payments.customer("cus_guarded", Card::Guarded);
            payments.customer("cus_slow", Card::Slow);
        });
        let secret = Arc::new(Secret(Mutex::new((key.map(str::to_owned), 0))));
        let handler = handler(&provider.url(), secret.clone()).await;
        Self { bench: Bench::with(handler, consumer), provider, secret }
    }

    /// Delivers one message.
    pub(crate) async fn deliver(&self, message: &MessageBuilder) -> BatchRun {
        self.bench.run_batch([message.build()]).await.unwrap()
    }

    pub(crate) fn record(&self, message: &MessageBuilder) -> JobRecord {
        self.bench.record_of(message).expect("a record")
    }

    /// The worker dies after the next charge: every write that would say what became of it fails.
    pub(crate) fn die_after_charging(&self) {
        let (store, mut writes) = (self.bench.store.clone(), SETTLING_WRITES);
        self.provider.before_each(move |seen| {
            while seen.is_charge() && writes > 0 {
                store.fail_next(StoreCall::Replace, StoreFault::Unreachable);
                writes -= 1;
            }
        });
    }

    /// The job's status and the code of its last error.
    pub(crate) fn ending(&self, message: &MessageBuilder) -> (Status, Option<String>) {
        let record = self.record(message);
        (record.status, record.last_error.map(|error| error.code))
    }

    pub(crate) fn result(&self, message: &MessageBuilder) -> Value {
        let record = self.record(message);
        assert_eq!(record.status, Status::Succeeded, "{:?}", record.last_error);
        record.result.expect("a result")
    }

    pub(crate) fn now(&self) -> EpochMillis {
        self.bench.clock.now()
    }

    /// Puts the job's record there as the producer does, with private inputs.
    pub(crate) fn accept(&self, message: &MessageBuilder, data: Value) {
        let job_type = JobType::parse("billing.charge").unwrap();
        let record = JobRecord::new(message.job_id().unwrap(), job_type, 1, "test-caller", Status::Accepted, self.now());
        self.bench.records.put(JobRecord { data: Some(data), ..record });
    }
}

/// A handler whose provider is at this URL.
pub(crate) async fn handler(url: &str, secret: Arc<dyn ApiKeySource>) -> BillingHandler {
    handler_that_waits(PROVIDER_TIMEOUT, url, secret).await
}

/// One that does not wait long for an answer.
pub(crate) async fn impatient_handler(url: &str, secret: Arc<dyn ApiKeySource>) -> BillingHandler {
    handler_that_waits(SHORT_TIMEOUT, url, secret).await
}

async fn handler_that_waits(provider_timeout: Duration, url: &str, secret: Arc<dyn ApiKeySource>) -> BillingHandler {
    let settings = BillingSettings {
        api_url: ApiUrl::parse(url).unwrap(),
        secret_id: "payment-key".to_owned(),
        key_window: KeyWindow::new(23 * HOUR),
        provider_timeout,
    };
    let keys = ApiKeyRing::new(secret);
    keys.fetch_at_start().await;
    let gateway = StripeGateway::new(settings.api_url.clone(), keys, settings.provider_timeout);
    BillingHandler::new(Arc::new(gateway), &settings)
}

/// A job of a direct sender: 19.99 EUR from this customer.
pub(crate) fn job(name: &str, customer: &str) -> MessageBuilder {
    charge(name, json!({"invoiceId": name, "customerId": customer, "amount": "19.99", "currency": "EUR"}))
}

/// A job with any payload.
pub(crate) fn charge(name: &str, payload: Value) -> MessageBuilder {
    MessageBuilder::job(name, "billing.charge", name, payload)
}
