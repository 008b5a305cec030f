//! The e-mail consumer as a Lambda function.

use std::sync::Arc;

use email_consumer::{DynamoDbContacts, EmailHandler, EmailSettings, SesMailer, SesSettings, Templates};
use ikkai::{
    clock::SystemClock,
    consumer::{self, Startup, StartupError},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    consumer::run(email_handler).await
}

async fn email_handler(startup: &mut Startup) -> EmailHandler {
    let settings = EmailSettings::read(&mut startup.config);

    let table = aws_sdk_dynamodb::Client::new(&startup.aws);
    let contacts = DynamoDbContacts::new(table, &settings.contacts_table, Arc::new(SystemClock));
    let ses = SesSettings { timeout: settings.provider_timeout, configuration_set: settings.configuration_set.clone() };
    let mailer = SesMailer::new(aws_sdk_sesv2::config::Builder::from(&startup.aws), ses);
    if startup.settings.warm_up {
        mailer.warm_up(startup.settings.batch_concurrency).await;
    }
    let templates = Templates::built_in().expect("the built-in templates are checked when the function is built");
    EmailHandler::new(Arc::new(contacts), Arc::new(mailer), templates, &settings)
}
