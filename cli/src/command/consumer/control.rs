//! What the commands do to AWS.

use aws_sdk_lambda::Client;
use aws_sdk_lambda::error::DisplayErrorContext;
use aws_sdk_lambda::types::ScalingConfig;

use super::change::Change;
use crate::deployment::{DeployedConsumer, Deployment};
use crate::doctor::facts::ConsumerFacts;
use crate::doctor::gather;

/// Looks at consumers and changes them.
pub(super) trait Control {
    /// How a consumer is now.
    fn look(&self, consumer: &DeployedConsumer) -> impl Future<Output = ConsumerFacts>;

    /// Begins a change of a mapping; it takes effect later. `Err`: why it was refused.
    fn begin(&self, mapping: &str, change: Change) -> impl Future<Output = Result<(), String>>;
}

/// The mappings of an account, or of the local engine.
#[derive(Debug)]
pub(super) struct LambdaControl<'a> {
    deployment: &'a Deployment,
    client: Client,
}

impl<'a> LambdaControl<'a> {
    /// Of a stack.
    pub(super) fn of(deployment: &'a Deployment) -> Self {
        Self { deployment, client: Client::new(deployment.config()) }
    }
}

impl Control for LambdaControl<'_> {
    async fn look(&self, consumer: &DeployedConsumer) -> ConsumerFacts {
        gather::consumer(self.deployment, consumer).await
    }

    async fn begin(&self, mapping: &str, change: Change) -> Result<(), String> {
        let update = self.client.update_event_source_mapping().uuid(mapping);
        let update = match change {
            Change::Pause => update.enabled(false),
            Change::Resume => update.enabled(true),
            Change::Concurrency(most) => {
                let most = i32::try_from(most).unwrap_or(i32::MAX);
                update.scaling_config(ScalingConfig::builder().maximum_concurrency(most).build())
            }
        };
        let refused = |error| format!("lambda:UpdateEventSourceMapping: {}", DisplayErrorContext(&error));
        update.send().await.map(|_| ()).map_err(refused)
    }
}
