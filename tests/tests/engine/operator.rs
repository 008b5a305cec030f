//! An operator: asks the deployed function, as `aws lambda invoke` does, and looks at queues as SQS shows them.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_lambda::config::retry::RetryConfig;
use aws_sdk_lambda::config::timeout::TimeoutConfig;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
use dlq_redrive::{Settings, Workbench};
use ikkai::config::Reader;
use ikkai::job::JobId;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::harness::{Lab, on_stack};

/// Runs of one queue exclude each other, so the tests of one stack take turns.
static TURN: Mutex<()> = Mutex::const_new(());

/// A stack whose jobs die soon and may be put back twice.
pub(crate) fn with_operator(test: impl AsyncFnOnce(&Operator<'_>)) {
    on_stack("operators", &[("MaxRedrives", "2")], async |lab| {
        let _turn = TURN.lock().await;
        test(&Operator { lab }).await;
    });
}

/// A stack in which nobody works on mails: what is put back can be looked at.
pub(crate) fn with_idle_queue(test: impl AsyncFnOnce(&Operator<'_>)) {
    on_stack("idle", &[("EmailConsumerEnabled", "false")], async |lab| {
        let _turn = TURN.lock().await;
        test(&Operator { lab }).await;
    });
}

/// Somebody who may invoke the function.
pub(crate) struct Operator<'a> {
    pub(crate) lab: &'a Lab,
}

impl Operator<'_> {
    /// What the function answers. A request is sent once: a second call would be a second run.
    pub(crate) async fn ask(&self, request: &Value) -> Value {
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_secs(120)).build();
        let config = aws_sdk_lambda::config::Builder::from(&self.lab.aws.sdk_config())
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .build();
        let client = aws_sdk_lambda::Client::from_conf(config);
        let invoked = client.invoke().function_name(self.lab.stack.redrive()).payload(Blob::new(request.to_string())).send();
        let invoked = invoked.await.expect("an answer");
        let body = invoked.payload.map(Blob::into_inner).unwrap_or_default();
        assert_eq!(invoked.function_error, None, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).expect("the answer is JSON")
    }

    /// The answer of a request that has to be done.
    pub(crate) async fn done(&self, request: &Value) -> Value {
        let answer = self.ask(request).await;
        assert_eq!(answer["ok"], true, "{answer}");
        answer
    }

    /// Asks until the run is over, and returns the last answer, with the verdicts of all parts.
    pub(crate) async fn run(&self, request: &Value) -> Value {
        let mut request = request.clone();
        let mut verdicts = Vec::new();
        loop {
            let mut answer = self.ask(&request).await;
            assert_eq!(answer["error"], Value::Null, "{answer}");
            verdicts.extend(answer["verdicts"].as_array().cloned().expect("verdicts"));
            if answer["state"] != "continues" {
                answer["verdicts"] = verdicts.into();
                return answer;
            }
            request["runId"] = answer["runId"].clone();
            request["cursor"] = answer["cursor"].clone();
            tokio::time::sleep(Duration::from_secs(answer["continueAfterSeconds"].as_u64().unwrap_or(0))).await;
        }
    }

    /// A request to put these jobs back.
    pub(crate) fn redrive(&self, jobs: &[&JobId]) -> Value {
        let ids: Vec<&str> = jobs.iter().map(|job| job.as_str()).collect();
        json!({"action": "redrive", "queue": "email", "filter": {"jobIds": ids}, "reason": "the contact was added", "claimedBy": "ida"})
    }

    /// A mail to somebody who is not known yet; it waits in the dead-letter queue.
    pub(crate) async fn dead_mail(&self, name: &str, user: &str) -> JobId {
        let job_id = self.lab.post_mail(name, user).await;
        self.lab.dead_letter_with(job_id.as_str()).await;
        job_id
    }

    /// From now on mails to this user can be made.
    pub(crate) async fn add_contact(&self, user: &str) {
        let text = |value: &str| AttributeValue::S(value.to_owned());
        let client = aws_sdk_dynamodb::Client::new(&self.lab.aws.sdk_config());
        let put = client.put_item().table_name(self.lab.stack.contacts_table());
        let put = put.item("user_id", text(user)).item("email", text(&format!("{user}@example.com")));
        put.send().await.expect("the table takes a contact");
    }

    /// How many messages with this text are in the dead-letter queue, hidden ones too.
    pub(crate) async fn dead_letters_with(&self, text: &str) -> usize {
        let messages = self.lab.stack.messages(self.lab.stack.email_dead_letter_queue()).await.expect("the engine answers");
        messages.iter().filter(|message| message.body.contains(text)).count()
    }

    /// Puts a message into a queue as somebody without this kit would.
    pub(crate) async fn send(&self, queue: &str, body: &str, attributes: &HashMap<String, MessageAttributeValue>) -> String {
        let sqs = aws_sdk_sqs::Client::new(&self.lab.aws.sdk_config());
        let sent = sqs.send_message().queue_url(self.url(queue).await).message_body(body);
        let sent = sent.set_message_attributes(Some(attributes.clone())).send().await.expect("the queue takes it");
        sent.message_id.expect("a message id")
    }

    /// Receives from a queue until a message with this text comes, and leaves it visible.
    pub(crate) async fn received(&self, queue: &str, text: &str) -> Message {
        let (sqs, url) = (aws_sdk_sqs::Client::new(&self.lab.aws.sdk_config()), self.url(queue).await);
        self.lab
            .eventually("a message in the queue", async || {
                let received = sqs.receive_message().queue_url(&url).max_number_of_messages(10).visibility_timeout(0);
                let received = received.message_attribute_names("All");
                let received = received.message_system_attribute_names(MessageSystemAttributeName::All).send().await;
                let messages = received.expect("the queue answers").messages.unwrap_or_default();
                messages.into_iter().find(|message| message.body().unwrap_or_default().contains(text))
            })
            .await
    }

    /// Takes a message with this text out of a queue.
    pub(crate) async fn take(&self, queue: &str, text: &str) -> Message {
        let message = self.received(queue, text).await;
        let sqs = aws_sdk_sqs::Client::new(&self.lab.aws.sdk_config());
        let taken = sqs.delete_message().queue_url(self.url(queue).await).set_receipt_handle(message.receipt_handle.clone());
        taken.send().await.expect("the queue lets go");
        message
    }

    /// Receives up to ten messages and does nothing with them.
    pub(crate) async fn receive_once(&self, queue: &str) {
        let sqs = aws_sdk_sqs::Client::new(&self.lab.aws.sdk_config());
        let received = sqs.receive_message().queue_url(self.url(queue).await).max_number_of_messages(10).visibility_timeout(0);
        received.send().await.expect("the queue answers");
    }

    /// What the deployed function works with, in this process: the same code on the function's own settings.
    pub(crate) async fn workbench(&self) -> Workbench {
        let client = aws_sdk_lambda::Client::new(&self.lab.aws.sdk_config());
        let asked = client.get_function_configuration().function_name(self.lab.stack.redrive()).send().await;
        let variables = asked.expect("a function").environment.and_then(|environment| environment.variables).unwrap_or_default();
        let mut reader = Reader::from_pairs(variables);
        let settings = Settings::read(&mut reader);
        let settings = reader.finish(settings).expect("the function's settings");
        Workbench::connect(&settings, &self.lab.aws.sdk_config())
    }

    /// Removes everything from a queue.
    pub(crate) async fn purge(&self, queue: &str) {
        let sqs = aws_sdk_sqs::Client::new(&self.lab.aws.sdk_config());
        sqs.purge_queue().queue_url(self.url(queue).await).send().await.expect("the queue is emptied");
    }

    /// The URL of a queue.
    pub(crate) async fn url(&self, queue: &str) -> String {
        let sqs = aws_sdk_sqs::Client::new(&self.lab.aws.sdk_config());
        sqs.get_queue_url().queue_name(queue).send().await.expect("a queue").queue_url.expect("a URL")
    }
}

/// The verdicts of an answer about this job.
pub(crate) fn verdicts(answer: &Value, job_id: &JobId) -> Vec<String> {
    let of_job = |verdict: &&Value| verdict["jobIds"].as_array().is_some_and(|ids| ids.contains(&json!(job_id.as_str())));
    let all = answer["verdicts"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter(of_job).map(|verdict| verdict["verdict"].as_str().unwrap_or_default().to_owned()).collect()
}
