//! A deployed stack: its names, its API, its queues, its functions' processes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::api::{Api, ApiAddress, ApiError};
pub use super::consumers::Consumer;
use super::engine::{AskError, EngineAddress};
use super::queues::{self, QueueCounts, QueuedMessage};

/// A stack on a local engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    name: String,
    engine: EngineAddress,
    outputs: BTreeMap<String, String>,
}

/// The template did not say something that it should.
#[derive(Debug, thiserror::Error)]
#[error("the stack `{stack}` has no output `{output}`; infra/template.yaml and this command do not fit together")]
pub struct MissingOutput {
    stack: String,
    output: String,
}

/// What every stack must tell besides the names of its consumers.
const NEEDED: [&str; 13] = [
    "ApiUrl",
    "ProducerApiFunctionName",
    "SesFeedbackFunctionName",
    "SesFeedbackTopicArn",
    "DlqRedriveFunctionName",
    "RedriveTableName",
    "ArchiveBucketName",
    "JobsTableName",
    "ContactsTableName",
    "AssetsBucketName",
    "ReportsBucketName",
    "PaymentSecretId",
    "WebhookSecretId",
];

/// All outputs that a stack must have.
fn needed() -> impl Iterator<Item = String> {
    let of_consumers = Consumer::ALL.iter().flat_map(|consumer| consumer.outputs());
    NEEDED.iter().map(|output| (*output).to_owned()).chain(of_consumers)
}

/// The names of a consumer's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerNames<'a> {
    /// Its function.
    pub function: &'a str,
    /// Its queue.
    pub queue: &'a str,
    /// The dead-letter queue of its queue.
    pub dead_letter_queue: &'a str,
}

impl Stack {
    /// A stack with its outputs.
    ///
    /// # Errors
    /// An output that is needed is missing.
    pub fn new(name: &str, engine: EngineAddress, outputs: BTreeMap<String, String>) -> Result<Self, MissingOutput> {
        match needed().find(|output| !outputs.contains_key(output)) {
            Some(output) => Err(MissingOutput { stack: name.to_owned(), output }),
            None => Ok(Self { name: name.to_owned(), engine, outputs }),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All outputs.
    #[must_use]
    pub fn outputs(&self) -> &BTreeMap<String, String> {
        &self.outputs
    }

    fn output(&self, name: &str) -> &str {
        self.outputs.get(name).map_or("", String::as_str)
    }

    /// The API's URL, as CloudFormation tells it.
    #[must_use]
    pub fn api_url(&self) -> &str {
        self.output("ApiUrl")
    }

    /// The producer's function name.
    #[must_use]
    pub fn producer(&self) -> &str {
        self.output("ProducerApiFunctionName")
    }

    /// The names of a consumer's parts.
    #[must_use]
    pub fn consumer(&self, consumer: Consumer) -> ConsumerNames<'_> {
        let [function, queue, dead_letter_queue] = consumer.outputs().map(|output| self.output(&output));
        ConsumerNames { function, queue, dead_letter_queue }
    }

    /// The function names of all functions: the producer, the consumers, the reader of bounces, the operators' function.
    #[must_use]
    pub fn functions(&self) -> Vec<&str> {
        let consumers = Consumer::ALL.iter().map(|consumer| self.consumer(*consumer).function);
        [self.producer()].into_iter().chain(consumers).chain([self.feedback(), self.redrive()]).collect()
    }

    /// The email consumer's function name.
    #[must_use]
    pub fn email_consumer(&self) -> &str {
        self.consumer(Consumer::Email).function
    }

    /// The email queue's name.
    #[must_use]
    pub fn email_queue(&self) -> &str {
        self.consumer(Consumer::Email).queue
    }

    /// The name of the email queue's dead-letter queue.
    #[must_use]
    pub fn email_dead_letter_queue(&self) -> &str {
        self.consumer(Consumer::Email).dead_letter_queue
    }

    /// The function name of the reader of bounces and complaints.
    #[must_use]
    pub fn feedback(&self) -> &str {
        self.output("SesFeedbackFunctionName")
    }

    /// The ARN of the topic of bounces and complaints.
    #[must_use]
    pub fn feedback_topic(&self) -> &str {
        self.output("SesFeedbackTopicArn")
    }

    /// The operators' function name.
    #[must_use]
    pub fn redrive(&self) -> &str {
        self.output("DlqRedriveFunctionName")
    }

    /// The name of the table of what operators did.
    #[must_use]
    pub fn redrive_table(&self) -> &str {
        self.output("RedriveTableName")
    }

    /// The name of the bucket of discarded messages.
    #[must_use]
    pub fn archive_bucket(&self) -> &str {
        self.output("ArchiveBucketName")
    }

    /// The name of the bucket of pictures.
    #[must_use]
    pub fn assets_bucket(&self) -> &str {
        self.output("AssetsBucketName")
    }

    /// The name of the bucket of reports.
    #[must_use]
    pub fn reports_bucket(&self) -> &str {
        self.output("ReportsBucketName")
    }

    /// The id of the secret that holds the payment provider's key.
    #[must_use]
    pub fn payment_secret(&self) -> &str {
        self.output("PaymentSecretId")
    }

    /// The id of the secret that signs webhooks.
    #[must_use]
    pub fn webhook_secret(&self) -> &str {
        self.output("WebhookSecretId")
    }

    /// The name of the table of job records.
    #[must_use]
    pub fn jobs_table(&self) -> &str {
        self.output("JobsTableName")
    }

    /// The name of the table of contacts.
    #[must_use]
    pub fn contacts_table(&self) -> &str {
        self.output("ContactsTableName")
    }

    /// Where the API is reached on this machine.
    ///
    /// # Errors
    /// The stack's URL is not one that the engine serves.
    pub fn api_address(&self) -> Result<ApiAddress, ApiError> {
        ApiAddress::parse(self.api_url(), Some(self.engine.socket))
    }

    /// A client of the API in the name of `caller`.
    ///
    /// # Errors
    /// The stack's URL is not one that the engine serves.
    pub fn api(&self, caller: &str) -> Result<Api, ApiError> {
        Ok(Api::new(self.api_address()?, caller))
    }

    /// How many messages a queue of this stack holds.
    ///
    /// # Errors
    /// The engine cannot be reached.
    pub async fn queue_counts(&self, queue: &str) -> Result<QueueCounts, AskError> {
        Ok(queues::counts(self.engine).await?.get(queue).copied().unwrap_or_default())
    }

    /// The messages in a queue of this stack, without receiving them.
    ///
    /// # Errors
    /// The engine cannot be reached.
    pub async fn messages(&self, queue: &str) -> Result<Vec<QueuedMessage>, AskError> {
        Ok(queues::messages(self.engine).await?.remove(queue).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::engine::EngineKind;

    #[test]
    fn a_missing_output_is_named() {
        let mut outputs: BTreeMap<String, String> = needed().map(|name| (name, "x".to_owned())).collect();
        let engine = EngineAddress { kind: EngineKind::default(), socket: "127.0.0.1:1".parse().unwrap() };
        assert!(Stack::new("ikkai", engine, outputs.clone()).is_ok());
        outputs.remove("JobsTableName");
        let error = Stack::new("ikkai", engine, outputs).unwrap_err().to_string();
        assert!(error.contains("`JobsTableName`"), "{error}");
    }

    #[test]
    fn every_consumer_and_every_function_has_its_names() {
        let outputs = needed().map(|name| (name.clone(), format!("of {name}"))).collect();
        let engine = EngineAddress { kind: EngineKind::default(), socket: "127.0.0.1:1".parse().unwrap() };
        let stack = Stack::new("ikkai", engine, outputs).unwrap();
        let image = stack.consumer(Consumer::Image);
        assert_eq!((image.function, image.queue), ("of ImageConsumerFunctionName", "of ImageQueueName"));
        assert_eq!(image.dead_letter_queue, "of ImageDeadLetterQueueName");
        let functions: std::collections::BTreeSet<_> = stack.functions().into_iter().collect();
        assert_eq!(functions.len(), crate::local::build::FUNCTIONS.len());
        assert!(!functions.contains(""));
    }
}
