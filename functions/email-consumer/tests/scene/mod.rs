//! The consumer on the bench, with a contact, its jobs and a mailer of the test's choice.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use email_consumer::{
    Contact, DisplayName, EmailAddress, EmailHandler, EmailSettings, Mail, Mailbox, Mailer, MemoryContacts, MessageId, Recipient,
    RecordingMailer, SendError, Templates,
};
use ikkai::{
    consumer::ConsumerSettings,
    idempotency::{EffectPolicy, JobRecord, MemoryStore, Status},
    job::JobType,
    testing::{self, BatchRun, Bench, MessageBuilder},
};
use serde_json::{Value, json};

/// How long a call to the provider may take.
pub(crate) const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);

/// A consumer whose table knows `user-42` (Jane, with all that a receipt needs) and `user-gone` (suppressed).
pub(crate) struct Scene {
    pub(crate) bench: Bench<EmailHandler>,
    pub(crate) contacts: Arc<MemoryContacts>,
}

impl Scene {
    pub(crate) fn new(mailer: Arc<dyn Mailer>, effect_policy: EffectPolicy) -> Self {
        Self::with_settings(mailer, effect_policy, testing::settings())
    }

    pub(crate) fn with_settings(mailer: Arc<dyn Mailer>, effect_policy: EffectPolicy, consumer: ConsumerSettings) -> Self {
        let contacts = Arc::new(MemoryContacts::new());
        contacts.put("user-42", Contact::Reachable(jane()));
        contacts.put("user-gone", Contact::Suppressed);
        let settings = EmailSettings {
            contacts_table: "contacts".to_owned(),
            from: Mailbox::parse("Shop <shop@example.com>").unwrap(),
            effect_policy,
            configuration_set: None,
            provider_timeout: PROVIDER_TIMEOUT,
        };
        let handler = EmailHandler::new(contacts.clone(), mailer, Templates::built_in().unwrap(), &settings);
        Self { bench: Bench::with(handler, consumer), contacts }
    }

    /// Delivers one message.
    pub(crate) async fn deliver(&self, message: &MessageBuilder) -> BatchRun {
        self.bench.run_batch([message.build()]).await.unwrap()
    }

    pub(crate) fn record(&self, message: &MessageBuilder) -> JobRecord {
        self.bench.record_of(message).expect("a record")
    }

    /// The job's status and the code of its last error.
    pub(crate) fn ending(&self, message: &MessageBuilder) -> (Status, Option<String>) {
        let record = self.record(message);
        (record.status, record.last_error.map(|error| error.code))
    }

    /// The time in which the message becomes visible again.
    pub(crate) fn visible_in(&self, message: &MessageBuilder) -> Duration {
        self.bench.queue.last_visibility(&message.receipt_handle()).expect("a visibility call")
    }

    /// Puts the job's record there as the producer does, with private inputs.
    pub(crate) fn accept(&self, message: &MessageBuilder, data: Value) {
        let job_type = JobType::parse("email.send").unwrap();
        let now = Bench::<EmailHandler>::START;
        let record = JobRecord::new(message.job_id().unwrap(), job_type, 1, "test-caller", Status::Accepted, now);
        self.bench.records.put(JobRecord { data: Some(data), ..record });
    }
}

/// A scene under `hold` whose mailer answers by a script and then accepts.
pub(crate) fn scene(script: impl IntoIterator<Item = SendError>) -> (Scene, Arc<RecordingMailer>) {
    scene_under(EffectPolicy::Hold, script)
}

pub(crate) fn scene_under(policy: EffectPolicy, script: impl IntoIterator<Item = SendError>) -> (Scene, Arc<RecordingMailer>) {
    let mailer = script.into_iter().fold(RecordingMailer::new(), |mailer, error| mailer.answering(Err(error)));
    let mailer = Arc::new(mailer);
    (Scene::new(mailer.clone(), policy), mailer)
}

/// A job for any user and template.
pub(crate) fn job(name: &str, template: &str, user: &str) -> MessageBuilder {
    MessageBuilder::job(name, "email.send", name, json!({"deliveryId": name, "templateId": template, "userId": user}))
}

pub(crate) fn jane() -> Recipient {
    let variables = [
        ("order_number", "4711"),
        ("total", "12.50 EUR"),
        ("receipt_url", "https://shop.example.com/receipts/4711"),
        ("display_name", "overridden by the contact's own name"),
    ];
    Recipient {
        address: EmailAddress::parse("jane@example.com").unwrap(),
        display_name: Some(DisplayName::parse("Jane Doe").unwrap()),
        locale: None,
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}

/// A recipient with an address and nothing else.
pub(crate) fn nameless(address: &str) -> Recipient {
    let address = EmailAddress::parse(address).unwrap();
    Recipient { address, display_name: None, locale: None, variables: BTreeMap::new() }
}

/// A mailer that takes every mail and never answers.
#[derive(Debug, Default)]
pub(crate) struct SilentMailer(RecordingMailer);

impl SilentMailer {
    pub(crate) fn taken(&self) -> usize {
        self.0.mails().len()
    }
}

#[async_trait]
impl Mailer for SilentMailer {
    async fn send(&self, mail: &Mail) -> Result<MessageId, SendError> {
        self.0.send(mail).await?;
        std::future::pending().await
    }
}

/// A mailer that looks at the job's record while it sends.
#[derive(Debug, Default)]
pub(crate) struct WatchingMailer {
    pub(crate) records: OnceLock<Arc<MemoryStore>>,
    pub(crate) effect_begun: OnceLock<bool>,
}

#[async_trait]
impl Mailer for WatchingMailer {
    async fn send(&self, mail: &Mail) -> Result<MessageId, SendError> {
        let records = self.records.get().expect("set before the first mail").all();
        let record = records.iter().find(|record| record.job_id.as_str() == mail.job_id).expect("a record");
        self.effect_begun.set(record.effect_begun).expect("one mail");
        Ok(MessageId::new("watched-1"))
    }
}
