//! The webhook consumer as a Lambda function.

use std::sync::Arc;

use ikkai::{
    clock::SystemClock,
    consumer::{self, Startup, StartupError},
    idempotency::DynamoStore,
};
use webhook_consumer::{Courier, Keyring, SecretsManager, SystemLookup, WebhookHandler, WebhookSettings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    consumer::run(webhook_handler).await
}

async fn webhook_handler(startup: &mut Startup) -> WebhookHandler {
    #[cfg(feature = "local-callbacks")]
    ikkai::config::demand_local_engine(&mut startup.config, "local-callbacks", "calls this machine back");
    let settings = WebhookSettings::read(&mut startup.config);

    let clock = Arc::new(SystemClock);
    let jobs = DynamoStore::new(aws_sdk_dynamodb::Client::new(&startup.aws), startup.settings.jobs_table.clone());
    let secrets = SecretsManager::new(aws_sdk_secretsmanager::Client::new(&startup.aws), &settings.secret_id);
    let keyring = Keyring::new(Arc::new(secrets), clock.clone());
    if startup.settings.warm_up {
        keyring.warm_up().await;
    }
    let courier = Courier::new(Arc::new(SystemLookup), settings.reach, settings.provider_timeout)
        .expect("the platform has certificates to check receivers by");
    WebhookHandler::new(Arc::new(jobs), keyring, courier, clock, startup.settings.backoff)
}
