use std::sync::Arc;

use aws_sdk_sqs::config::{Builder, retry::RetryConfig};
use ikkai::consumer::{self, StartupError};
use ikkai::queue::{QueueName, SqsQueue};

use crate::handler::NotifyPartner;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    consumer::run(async |startup| {
        let name = QueueName::new(startup.config.required_text("IKKAI_PARTNER_QUEUE_NAME"));
        // A request that the SDK repeats because its answer was lost is a second notice.
        let once = Builder::from(&startup.aws).retry_config(RetryConfig::disabled()).build();
        NotifyPartner { partner: Arc::new(SqsQueue::new(aws_sdk_sqs::Client::from_conf(once), name)) }
    })
    .await
}
