//! A stack on which things are broken one at a time, past the template, and the doctor that looks at it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{PointInTimeRecoverySpecification, TimeToLiveSpecification};
use aws_sdk_lambda::types::{EventSourceMappingConfiguration, RecursiveLoop};
use aws_sdk_sqs::types::QueueAttributeName;
use ikkai_cli::deployment::{Deployment, Place};
use ikkai_cli::doctor::facts::{Fact, Facts, Refusal};
use ikkai_cli::doctor::gather::{self, Wishes};
use ikkai_cli::doctor::{Finding, Severity, examine};
use ikkai_cli::operator::Site;
use ikkai_cli::operator::figures::SignedPost;
use ikkai_cli::progress::Progress;
use serde_json::Value;
use url::form_urlencoded;

use crate::shell::Shell;

/// The stack.
const STACK: &str = "seeded";

/// The consumer that things are broken at.
pub(crate) const CONSUMER: &str = "email";

/// What a rule says about a subject.
pub(crate) type Verdict = (&'static str, String, Severity);

/// The stack, and clients for it.
pub(crate) struct Workshop {
    _shell: Shell,
    pub(crate) lambda: aws_sdk_lambda::Client,
    pub(crate) dynamodb: aws_sdk_dynamodb::Client,
    sqs: aws_sdk_sqs::Client,
    deployment: Deployment,
    /// The engine's simulation of roles reads no keys of requests and looks at the first resource of a question alone, so it refuses
    /// what the template allows under conditions. What it refuses on the fresh stack is not held against a broken one.
    refused_by_engine: Vec<Refusal>,
    /// Functions whose role nobody can ask about there: a reference to a secret is the secret's name and not its ARN, and a function's
    /// dead-letter queue is not told.
    unasked: Vec<String>,
}

impl Workshop {
    /// Deploys with the command, and then sets by hand what the engine's CloudFormation leaves out, so that the stack is what the
    /// template makes of it in an account.
    pub(crate) async fn open() -> Self {
        let shell = Shell::open().await;
        shell.done(&["deploy", "--stack", STACK, "--profile", "local", "--parameter", "EmailFrom=mail@example.com", "--yes"]);
        let config = shell.config();
        let site = Site::deployed(config.clone(), STACK).await.expect("a stack");
        let mut workshop = Self {
            _shell: shell,
            lambda: aws_sdk_lambda::Client::new(&config),
            dynamodb: aws_sdk_dynamodb::Client::new(&config),
            sqs: aws_sdk_sqs::Client::new(&config),
            deployment: Deployment::of(site).expect("a stack of the template"),
            refused_by_engine: Vec::new(),
            unasked: Vec::new(),
        };
        for table in ["JobsTableName", "ContactsTableName", "RedriveTableName"] {
            workshop.set_expiry(workshop.output(table), true).await;
            workshop.set_recovery(workshop.output(table), true).await;
        }
        for consumer in workshop.deployment.consumers() {
            workshop.set_loops(&consumer.function, RecursiveLoop::Allow).await;
        }
        for part in workshop.facts().await.permissions {
            match part.refusals {
                Fact::Known(refusals) => workshop.refused_by_engine.extend(refusals),
                Fact::Unknown(_) => workshop.unasked.push(part.function_name),
            }
        }
        let expected = ["billing-consumer", "webhook-consumer", "ses-feedback"].map(|name| format!("{STACK}-{name}"));
        assert!(workshop.unasked.iter().all(|function| expected.contains(function)), "{:?}", workshop.unasked);
        // The actions on queues have no conditions: of these it knows enough.
        let of_queues: Vec<_> = workshop.refused_by_engine.iter().filter(|refusal| refusal.action.starts_with("sqs:")).collect();
        assert!(of_queues.is_empty(), "{of_queues:?}");
        workshop
    }

    pub(crate) fn output(&self, name: &str) -> &str {
        self.deployment.output(name).unwrap_or_else(|| panic!("the stack has no output {name}"))
    }

    /// What the rules judge by, as in an account: nothing is excused for the engine's sake.
    async fn facts(&self) -> Facts {
        let mut facts = gather::facts(&self.deployment, Wishes { stuck_after_seconds: Some(3_600) }, &Progress::silent()).await;
        assert_eq!(facts.place, Place::LocalEngine);
        facts.place = Place::Aws;
        for part in &mut facts.permissions {
            if self.unasked.contains(&part.function_name) {
                part.refusals = Fact::Known(Vec::new());
            }
            if let Fact::Known(refusals) = &mut part.refusals {
                refusals.retain(|refusal| !self.refused_by_engine.contains(refusal));
            }
        }
        facts
    }

    pub(crate) async fn findings(&self) -> Vec<Finding> {
        examine(&self.facts().await)
    }

    /// What is not as it should be.
    pub(crate) async fn wrong(&self) -> BTreeSet<Verdict> {
        let findings = self.findings().await.into_iter().filter(|finding| finding.severity != Severity::Ok);
        findings.map(|finding| (finding.rule, finding.subject, finding.severity)).collect()
    }

    /// The role of the consumer's function.
    pub(crate) async fn role(&self) -> String {
        let function = self.lambda.get_function_configuration().function_name(self.function()).send().await.expect("a function");
        let arn = function.role.expect("a role");
        arn.rsplit('/').next().expect("a name").to_owned()
    }

    /// Waits until a change of a function's configuration is through.
    pub(crate) async fn until_updated(&self, function: &str) {
        use aws_sdk_lambda::types::{LastUpdateStatus, State};

        let asked = Instant::now();
        loop {
            let found = self.lambda.get_function_configuration().function_name(function).send().await.expect("a function");
            let through = !matches!(found.last_update_status, Some(LastUpdateStatus::InProgress));
            if through && matches!(found.state, None | Some(State::Active)) {
                return;
            }
            assert!(asked.elapsed() < Duration::from_secs(60), "{function} is {:?}, {:?}", found.state, found.last_update_status);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub(crate) fn function(&self) -> &str {
        self.output("EmailConsumerFunctionName")
    }

    pub(crate) async fn queue_url(&self, queue: &str) -> String {
        self.sqs.get_queue_url().queue_name(queue).send().await.expect("a queue").queue_url.expect("a URL")
    }

    /// Empty where it is not set.
    pub(crate) async fn attribute(&self, queue: &str, name: &QueueAttributeName) -> String {
        let url = self.queue_url(queue).await;
        let answer = self.sqs.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::All).send().await;
        answer.expect("attributes").attributes.and_then(|mut all| all.remove(name)).unwrap_or_default()
    }

    pub(crate) async fn set_attribute(&self, queue: &str, name: &QueueAttributeName, value: &str) {
        let url = self.queue_url(queue).await;
        let set = self.sqs.set_queue_attributes().queue_url(url).attributes(name.clone(), value).send().await;
        set.unwrap_or_else(|error| panic!("{name} of {queue}: {error:?}"));
    }

    pub(crate) async fn send(&self, queue: &str, body: &str) {
        let url = self.queue_url(queue).await;
        self.sqs.send_message().queue_url(url).message_body(body).send().await.expect("the queue takes it");
    }

    pub(crate) async fn purge(&self, queue: &str) {
        let url = self.queue_url(queue).await;
        self.sqs.purge_queue().queue_url(url).send().await.expect("the queue is purged");
    }

    /// A queue of nobody's stack; its ARN.
    pub(crate) async fn other_queue(&self) -> String {
        self.sqs.create_queue().queue_name("other").send().await.expect("a queue");
        self.attribute("other", &QueueAttributeName::QueueArn).await
    }

    /// The mapping of the consumer.
    pub(crate) async fn mapping(&self) -> EventSourceMappingConfiguration {
        let answer = self.lambda.list_event_source_mappings().function_name(self.function()).send().await.expect("mappings");
        answer.event_source_mappings.unwrap_or_default().into_iter().next().expect("a mapping")
    }

    pub(crate) async fn set_loops(&self, function: &str, loops: RecursiveLoop) {
        let set = self.lambda.put_function_recursion_config().function_name(function).recursive_loop(loops).send().await;
        set.expect("the engine keeps it");
    }

    pub(crate) async fn set_expiry(&self, table: &str, is_on: bool) {
        let wanted = TimeToLiveSpecification::builder().enabled(is_on).attribute_name("expires_at").build().expect("whole");
        self.dynamodb.update_time_to_live().table_name(table).time_to_live_specification(wanted).send().await.expect("kept");
    }

    pub(crate) async fn set_recovery(&self, table: &str, is_on: bool) {
        let wanted = PointInTimeRecoverySpecification::builder().point_in_time_recovery_enabled(is_on).build().expect("whole");
        let set = self.dynamodb.update_continuous_backups().table_name(table).point_in_time_recovery_specification(wanted);
        set.send().await.expect("kept");
    }

    pub(crate) async fn set_protection(&self, table: &str, is_on: bool) {
        self.dynamodb.update_table().table_name(table).deletion_protection_enabled(is_on).send().await.expect("kept");
    }

    /// Asks IAM, for which there is no client here.
    pub(crate) async fn iam(&self, action: &str, fields: &[(&str, &str)]) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("Action", action).append_pair("Version", "2010-05-08").extend_pairs(fields);
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.post("IAM", "iam", &headers, form.finish()).await
    }

    /// Asks CloudWatch, for which there is no client here.
    pub(crate) async fn cloudwatch(&self, operation: &str, query: &Value) -> Value {
        let target = format!("GraniteServiceVersion20100801.{operation}");
        let headers = [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", target.as_str())];
        let answer = self.post("CloudWatch", "monitoring", &headers, query.to_string()).await;
        serde_json::from_str(&answer).unwrap_or(Value::Null)
    }

    async fn post(&self, service: &'static str, signing_name: &'static str, headers: &[(&str, &str)], body: String) -> String {
        let client = SignedPost::new(self.deployment.config(), service, signing_name, "us-east-1".to_owned(), String::new());
        let (status, answer) = client.expect("a client").send(headers, body).await.expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(status.is_success(), "{service} answered {status}: {answer}");
        answer
    }
}
