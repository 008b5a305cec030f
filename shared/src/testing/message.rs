//! SQS records as Lambda delivers them.

use std::collections::BTreeMap;

use aws_lambda_events::sqs::SqsMessage;
use serde_json::{Value, json};

use crate::clock::EpochMillis;
use crate::job::{Envelope, IdempotencyKey, JobId, JobType};

/// Builds an [`SqsMessage`] through its JSON form, so that tests see what a function sees.
#[derive(Debug, Clone)]
pub struct MessageBuilder {
    message_id: String,
    queue: String,
    body: String,
    attributes: BTreeMap<String, String>,
}

impl MessageBuilder {
    /// A message on queue `email` with any body.
    #[must_use]
    pub fn new(message_id: &str, body: impl Into<String>) -> Self {
        let attributes = [("ApproximateReceiveCount", "1"), ("SentTimestamp", "1800000000000"), ("SenderId", "AIDATEST")];
        Self {
            message_id: message_id.to_owned(),
            queue: "email".to_owned(),
            body: body.into(),
            attributes: attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        }
    }

    /// An `email.send` job whose message id, idempotency key and delivery id are all `name`.
    ///
    /// # Panics
    /// When `name` is no idempotency key.
    #[must_use]
    pub fn email(name: &str) -> Self {
        let payload = json!({"deliveryId": name, "templateId": "welcome", "userId": "user-42"});
        Self::job(name, "email.send", name, payload)
    }

    /// A job of any type.
    ///
    /// # Panics
    /// When the type or the key is malformed.
    #[must_use]
    pub fn job(message_id: &str, job_type: &str, key: &str, payload: Value) -> Self {
        let job_type = JobType::parse(job_type).expect("a job type");
        let key = IdempotencyKey::parse(key).expect("an idempotency key");
        let envelope = Envelope {
            job_id: Some(JobId::derive("test-caller", &job_type, &key)),
            job_type,
            schema_version: 1,
            business_id: None,
            idempotency_key: key,
            payload,
        };
        Self::new(message_id, envelope.to_body())
    }

    /// Another delivery under another SQS message id, as after a redrive or a second send.
    #[must_use]
    pub fn message_id(mut self, message_id: &str) -> Self {
        message_id.clone_into(&mut self.message_id);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    /// How often the message was received, this time included.
    #[must_use]
    pub fn received(mut self, times: u32) -> Self {
        self.attributes.insert("ApproximateReceiveCount".into(), times.to_string());
        self
    }

    /// When SQS took the message.
    #[must_use]
    pub fn sent_at(mut self, at: EpochMillis) -> Self {
        self.attributes.insert("SentTimestamp".into(), at.as_i64().to_string());
        self
    }

    /// The FIFO group.
    #[must_use]
    pub fn group(mut self, group: &str) -> Self {
        self.attributes.insert("MessageGroupId".into(), group.to_owned());
        self
    }

    /// The queue it comes from.
    #[must_use]
    pub fn queue(mut self, name: &str) -> Self {
        name.clone_into(&mut self.queue);
        self
    }

    /// Any other system attribute.
    #[must_use]
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        self.attributes.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The id of the job in the body, if there is one.
    #[must_use]
    pub fn job_id(&self) -> Option<JobId> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        JobId::parse_stored(body.get("jobId")?.as_str()?).ok()
    }

    /// The receipt handle of the built record.
    #[must_use]
    pub fn receipt_handle(&self) -> String {
        format!("receipt-{}", self.message_id)
    }

    /// The record as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "messageId": self.message_id,
            "receiptHandle": self.receipt_handle(),
            "body": self.body,
            "attributes": self.attributes,
            "messageAttributes": {},
            "md5OfBody": "",
            "eventSource": "aws:sqs",
            "eventSourceARN": format!("arn:aws:sqs:us-east-1:000000000000:{}", self.queue),
            "awsRegion": "us-east-1"
        })
    }

    /// The record as a function gets it.
    ///
    /// # Panics
    /// Never: the JSON is well-formed.
    #[must_use]
    pub fn build(&self) -> SqsMessage {
        serde_json::from_value(self.to_json()).expect("an SQS record")
    }
}
