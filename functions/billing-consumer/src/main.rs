//! The billing consumer as a Lambda function.

use std::sync::Arc;

use billing_consumer::{ApiKeyRing, BillingHandler, BillingSettings, SecretsManagerKey, StripeGateway};
use ikkai::consumer::{self, Startup, StartupError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    consumer::run(billing_handler).await
}

async fn billing_handler(startup: &mut Startup) -> BillingHandler {
    let settings = BillingSettings::read(&mut startup.config);

    let secrets = aws_sdk_secretsmanager::Client::new(&startup.aws);
    let keys = ApiKeyRing::new(Arc::new(SecretsManagerKey::new(secrets, &settings.secret_id)));
    if !settings.secret_id.is_empty() {
        keys.fetch_at_start().await;
    }
    let gateway = StripeGateway::new(settings.api_url.clone(), keys, settings.provider_timeout);
    BillingHandler::new(Arc::new(gateway), &settings)
}
