//! A deployed stack with its consumers, in an account or on a local engine.

use std::collections::BTreeMap;

use aws_config::SdkConfig;

use crate::operator::Site;

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
    site: Site,
    name: String,
    place: Place,
}

/// It is no stack of this kit.
#[derive(Debug, thiserror::Error)]
#[error("the stack `{stack}` has no consumers; is it one of infra/template.yaml?")]
pub struct NoConsumers {
    stack: String,
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
    /// The stack of a site.
    ///
    /// # Errors
    /// It has no consumers.
    pub fn of(site: Site) -> Result<Self, NoConsumers> {
        let name = site.stack_name().unwrap_or_default().to_owned();
        let place = if site.is_local() { Place::LocalEngine } else { place(site.config().endpoint_url()) };
        let deployment = Self { site, name, place };
        if deployment.consumers().is_empty() { Err(NoConsumers { stack: deployment.name }) } else { Ok(deployment) }
    }

    /// Where it is.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.site
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
        self.site.config()
    }

    /// An output of the stack.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<&str> {
        self.site.output(name)
    }

    /// Its consumers, those included that the template got later: each has its function's name among the outputs.
    #[must_use]
    pub fn consumers(&self) -> Vec<DeployedConsumer> {
        consumers(self.site.outputs())
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
    if is_on_this_machine(endpoint) { Place::LocalEngine } else { Place::Aws }
}

/// Whether an endpoint is on this machine.
pub(crate) fn is_on_this_machine(endpoint: Option<&str>) -> bool {
    let host = endpoint.and_then(|url| url.parse::<http::Uri>().ok()).and_then(|url| url.host().map(str::to_owned));
    matches!(host.as_deref(), Some("localhost" | "127.0.0.1" | "[::1]"))
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
