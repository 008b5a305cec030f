//! A deployed stack, in an account or on the local engine: how it is reached, and what its outputs say.

use std::collections::BTreeMap;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::DisplayErrorContext;

use crate::local::aws::sdk_config;
use crate::local::running::Running;

/// What the output that names a consumer's function ends in; before it stands the consumer's prefix, as in
/// `EmailConsumerFunctionName`.
const CONSUMER: &str = "ConsumerFunctionName";

/// What plays AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// An account.
    Aws,
    /// An engine on this machine, which leaves some things out.
    LocalEngine,
}

/// A stack that is deployed.
#[derive(Debug, Clone)]
pub struct Deployment {
    name: String,
    place: Place,
    config: SdkConfig,
    outputs: BTreeMap<String, String>,
}

/// The stack is not there, or cannot be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeploymentError {
    /// CloudFormation did not tell about it.
    #[error(
        "cannot look at the stack `{stack}`; the name, the region (AWS_REGION), the credentials (for single sign-on: \
         `aws configure export-credentials --format env`) and the permission cloudformation:DescribeStacks have to be right: \
         {reason}"
    )]
    Unreachable {
        /// Its name.
        stack: String,
        /// What CloudFormation or the SDK said.
        reason: String,
    },
    /// It is something else.
    #[error("the stack `{stack}` has no consumers; is it one of infra/template.yaml?")]
    NoConsumers {
        /// Its name.
        stack: String,
    },
}

/// The names of a consumer's parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployedConsumer {
    /// What operators call it, such as `email`.
    pub name: String,
    /// What the template names its parts after, such as `Email`.
    pub prefix: String,
    /// Its function.
    pub function: String,
    /// Its queue; empty where the stack's outputs do not say.
    pub queue: String,
    /// The dead-letter queue of its queue; empty where the stack's outputs do not say.
    pub dead_letter_queue: String,
}

impl Deployment {
    /// The stack of this name, with the region and the credentials of the environment.
    ///
    /// # Errors
    /// There is none, or it cannot be looked at.
    pub async fn find(stack: &str) -> Result<Self, DeploymentError> {
        let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
        let unreachable = |reason: String| DeploymentError::Unreachable { stack: stack.to_owned(), reason };
        let answer = Client::new(&config).describe_stacks().stack_name(stack).send().await;
        let answer = answer.map_err(|error| unreachable(DisplayErrorContext(&error).to_string()))?;
        let outputs = answer.stacks().iter().flat_map(|stack| stack.outputs());
        let outputs: BTreeMap<_, _> =
            outputs.filter_map(|output| Some((output.output_key()?.to_owned(), output.output_value()?.to_owned()))).collect();
        let place = place(config.endpoint_url());
        Self { name: stack.to_owned(), place, config, outputs }.checked()
    }

    /// The main stack of a running local environment.
    ///
    /// # Errors
    /// It has no consumers.
    pub fn local(running: &Running) -> Result<Self, DeploymentError> {
        let stack = &running.stack;
        let config = sdk_config(running.engine);
        Self { name: stack.name().to_owned(), place: Place::LocalEngine, config, outputs: stack.outputs().clone() }.checked()
    }

    fn checked(self) -> Result<Self, DeploymentError> {
        if self.consumers().is_empty() { Err(DeploymentError::NoConsumers { stack: self.name }) } else { Ok(self) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What plays AWS.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// The SDK's settings for clients.
    #[must_use]
    pub fn config(&self) -> &SdkConfig {
        &self.config
    }

    /// An output of the stack.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<&str> {
        self.outputs.get(name).map(String::as_str)
    }

    /// Its consumers, those included that the template got later: each has its function's name among the outputs.
    #[must_use]
    pub fn consumers(&self) -> Vec<DeployedConsumer> {
        consumers(&self.outputs)
    }
}

fn consumers(outputs: &BTreeMap<String, String>) -> Vec<DeployedConsumer> {
    let of = |prefix: &str, what: &str| outputs.get(&format!("{prefix}{what}")).cloned().unwrap_or_default();
    let prefixes = outputs.iter().filter_map(|(output, function)| Some((output.strip_suffix(CONSUMER)?, function)));
    prefixes
        .filter(|(prefix, _)| !prefix.is_empty())
        .map(|(prefix, function)| DeployedConsumer {
            name: with_hyphens(prefix),
            prefix: prefix.to_owned(),
            function: function.clone(),
            queue: of(prefix, "QueueName"),
            dead_letter_queue: of(prefix, "DeadLetterQueueName"),
        })
        .collect()
}

/// `PartnerNotice` is `partner-notice`.
fn with_hyphens(prefix: &str) -> String {
    let mut name = String::new();
    for letter in prefix.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// An endpoint on this machine is an engine's.
fn place(endpoint: Option<&str>) -> Place {
    let host = endpoint.and_then(|url| url.parse::<http::Uri>().ok()).and_then(|url| url.host().map(str::to_owned));
    match host.as_deref() {
        Some("localhost" | "127.0.0.1" | "[::1]") => Place::LocalEngine,
        _ => Place::Aws,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_output_that_names_a_consumer_is_one() {
        let outputs = [
            ("EmailConsumerFunctionName", "s-email-consumer"),
            ("EmailQueueName", "s-email"),
            ("EmailDeadLetterQueueName", "s-email-dlq"),
            ("PartnerNoticeConsumerFunctionName", "s-partner"),
            ("ProducerApiFunctionName", "s-api"),
        ];
        let outputs = outputs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let found = consumers(&outputs);
        assert_eq!(found.iter().map(|consumer| consumer.name.as_str()).collect::<Vec<_>>(), ["email", "partner-notice"]);
        assert_eq!((found[0].queue.as_str(), found[0].dead_letter_queue.as_str()), ("s-email", "s-email-dlq"));
        assert_eq!((found[1].prefix.as_str(), found[1].queue.as_str()), ("PartnerNotice", ""));
    }

    #[test]
    fn an_endpoint_on_this_machine_is_an_engine() {
        for url in ["http://127.0.0.1:4566", "http://localhost:1/", "http://[::1]:80"] {
            assert_eq!(place(Some(url)), Place::LocalEngine, "{url}");
        }
        for url in [None, Some("https://vpce-1.sqs.eu-central-1.vpce.amazonaws.com"), Some("nonsense")] {
            assert_eq!(place(url), Place::Aws, "{url:?}");
        }
    }
}
