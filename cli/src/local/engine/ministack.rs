//! MiniStack, from PyPI: how it is started and asked.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::process::Command;

use serde::Deserialize;

use super::{Authorization, REGION, Setup};
use crate::local::mailbox::ReceivedMail;
use crate::local::python::PythonEnvironment;
use crate::local::queues::QueuedMessage;

/// The services that the stack uses. Fewer services start faster and hide no mistakes.
const SERVICES: &str = "apigateway,cloudformation,dynamodb,iam,lambda,logs,monitoring,s3,secretsmanager,ses,sns,sqs,sts";

/// Keeps the engine from outliving its starter.
const GUARD: &str = include_str!("ministack_guard.py");

/// Answers once everything is loaded.
pub(super) const READY: &str = "/_ministack/ready";
pub(super) const HEALTH: &str = "/_ministack/health";
pub(super) const MAILS: &str = "/_ministack/ses/messages";
pub(super) const MESSAGES: &str = "/_ministack/sqs/messages";

/// The command that runs it; what every engine is given is added by the caller.
pub(super) fn command(python: &PythonEnvironment, setup: &Setup<'_>) -> Command {
    let mut command = Command::new(python.python());
    command
        .args(["-c", GUARD])
        .env_clear()
        // Without it the engine listens on every interface.
        .env("BIND_HOST", Ipv4Addr::LOCALHOST.to_string())
        .env("GATEWAY_PORT", setup.address.port().to_string())
        // The engine hands this to every function process as its endpoint.
        .env("AWS_ENDPOINT_URL", setup.endpoint_for_functions)
        .env("IOT_MTLS_ENABLED", "0")
        .env("MINISTACK_REGION", REGION)
        .env("SERVICES", SERVICES)
        .env("AUTH", (setup.authorization == Authorization::Enforced).to_string());
    command
}

/// Its mailbox, by account.
#[derive(Deserialize)]
pub(super) struct Mails {
    messages: BTreeMap<String, Vec<ReceivedMail>>,
}

impl Mails {
    pub(super) fn flat(self) -> Vec<ReceivedMail> {
        self.messages.into_values().flatten().collect()
    }
}

/// Its queues, by account, region and queue URL.
#[derive(Deserialize)]
pub(super) struct Messages {
    messages: BTreeMap<String, BTreeMap<String, BTreeMap<String, Vec<QueuedMessage>>>>,
}

impl Messages {
    pub(super) fn by_queue(self) -> BTreeMap<String, Vec<QueuedMessage>> {
        let queues = self.messages.into_values().flat_map(BTreeMap::into_values).flatten();
        queues.map(|(url, held)| (url.rsplit('/').next().unwrap_or_default().to_owned(), held)).collect()
    }
}
