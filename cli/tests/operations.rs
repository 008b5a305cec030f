//! `ikkai doctor` and `ikkai consumer` on the real engine, with a stand-in for the function binaries.

use std::path::Path;
use std::process::{Command, Output};

use aws_sdk_lambda::types::ScalingConfig;
use aws_sdk_sqs::types::QueueAttributeName;
use ikkai_cli::local::build::{FUNCTIONS, Package};
use ikkai_cli::local::consumers::Consumer;
use ikkai_cli::local::environment::{LocalAws, Options};
use serde_json::Value;

/// A stack, and the command looking at it as at one in an account: by name, with the AWS settings of its environment.
struct Site {
    local: LocalAws,
}

impl Site {
    async fn start(instance: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in.py");
        let packages = FUNCTIONS.iter().map(|name| Package::of(name, &script).unwrap()).collect();
        Self { local: LocalAws::start(Options::new(instance).packages(packages)).await.unwrap() }
    }

    async fn ikkai(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ikkai"));
        command
            .args(arguments)
            .args(["--stack", self.local.stack().name(), "--output", "json"])
            .env("AWS_ENDPOINT_URL", format!("http://{}", self.local.address()))
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env_remove("AWS_PROFILE")
            .env_remove("IKKAI_STACK");
        Run(tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap())
    }

    /// Changes an attribute of a queue, past the template.
    async fn set(&self, queue: &str, name: QueueAttributeName, value: &str) {
        let sqs = aws_sdk_sqs::Client::new(&self.local.sdk_config());
        let url = sqs.get_queue_url().queue_name(queue).send().await.unwrap().queue_url.unwrap();
        sqs.set_queue_attributes().queue_url(url).attributes(name, value).send().await.unwrap();
    }

    /// The mapping of the email consumer, as Lambda tells of it: its state and its most invocations.
    async fn mapping(&self) -> (String, Option<i32>) {
        let lambda = aws_sdk_lambda::Client::new(&self.local.sdk_config());
        let answer = lambda.list_event_source_mappings().function_name(self.local.stack().email_consumer()).send().await.unwrap();
        let mapping = &answer.event_source_mappings()[0];
        (mapping.state().unwrap().to_owned(), mapping.scaling_config().and_then(ScalingConfig::maximum_concurrency))
    }
}

struct Run(Output);

impl Run {
    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.0.status.code(), Some(code), "{}{}", self.out(), self.err());
        self
    }

    fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.out(), self.err()))
    }
}

/// The short names of all consumers, in alphabetical order.
fn names() -> Vec<String> {
    let mut names: Vec<_> = Consumer::ALL.iter().map(|consumer| consumer.name()).collect();
    names.sort();
    names
}

/// What a report says about a rule at a subject.
#[track_caller]
fn severity<'a>(report: &'a Value, rule: &str, subject: &str) -> &'a str {
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["rule"] == rule && finding["subject"] == subject);
    finding.unwrap_or_else(|| panic!("no finding of {rule} at {subject}"))["severity"].as_str().unwrap()
}

#[tokio::test]
async fn a_fresh_stack_is_as_it_should_be_and_what_is_broken_by_hand_is_found() {
    let site = Site::start("test-doctor").await;
    let report = site.ikkai(&["doctor"]).await.ends(0).json();
    assert_eq!((&report["counts"]["error"], &report["localEngine"]), (&0.into(), &true.into()), "{report:#}");
    let checked = ["visibility-timeout", "item-failures", "settings-agree", "redrive-policy", "redrive-allow-policy", "tls-only"];
    for consumer in names() {
        for rule in checked {
            assert_eq!(severity(&report, rule, &consumer), "ok", "{rule} at {consumer}: {report:#}");
        }
    }
    // The engine leaves it out, and nobody is to blame.
    assert_eq!(severity(&report, "deletion-protection", "jobs table"), "unknown");

    let stack = site.local.stack();
    site.set(stack.email_queue(), QueueAttributeName::VisibilityTimeout, "20").await;
    let redrive_on = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:ikkai-email-dlq","maxReceiveCount":"3"}"#;
    site.set("ikkai-image-dlq", QueueAttributeName::RedrivePolicy, redrive_on).await;
    site.set("ikkai-report-dlq", QueueAttributeName::MessageRetentionPeriod, "3600").await;
    let report = site.ikkai(&["doctor"]).await.ends(1).json();
    let broken = [
        ("visibility-timeout", "email"),
        ("function-timeout-fits", "email"),
        ("dead-letters-stay", "image"),
        ("dead-letter-retention", "report"),
    ];
    for (rule, subject) in broken {
        assert_eq!(severity(&report, rule, subject), "error", "{rule}");
    }
    assert_eq!(report["counts"]["error"], broken.len(), "{report:#}");
    site.local.stop().await;
}

#[tokio::test]
async fn a_consumer_is_paused_resumed_and_bounded() {
    let site = Site::start("test-consumer").await;
    let list = site.ikkai(&["consumer", "list"]).await.ends(0).json();
    let names: Vec<_> = list["consumers"].as_array().unwrap().iter().map(|consumer| consumer["name"].as_str().unwrap()).collect();
    assert_eq!(names, self::names());
    let email = names.iter().position(|name| *name == "email").unwrap();
    assert_eq!((&list["consumers"][email]["state"], &list["consumers"][email]["waiting"]), (&"Enabled".into(), &0.into()));

    let unasked = site.ikkai(&["consumer", "pause", "email"]).await.ends(2);
    assert!(unasked.err().contains("--yes") && unasked.err().contains("EmailConsumerEnabled=false"), "{}", unasked.err());
    assert_eq!(site.mapping().await.0, "Enabled", "nothing was changed");

    let paused = site.ikkai(&["consumer", "pause", "email", "--yes"]).await.ends(0).json();
    assert_eq!((&paused["consumers"][0]["state"], &paused["consumers"][0]["changed"]), (&"Disabled".into(), &true.into()));
    assert_eq!(site.mapping().await.0, "Disabled");
    let report = site.ikkai(&["doctor"]).await.ends(0).json();
    assert_eq!(severity(&report, "mapping-enabled", "email"), "warning");
    let again = site.ikkai(&["consumer", "pause", "email"]).await.ends(0).json();
    assert_eq!(again["consumers"][0]["changed"], false, "what is so already needs no question");

    site.ikkai(&["consumer", "set-concurrency", "email", "5", "--yes"]).await.ends(0);
    assert_eq!(site.mapping().await, ("Disabled".to_owned(), Some(5)));
    site.ikkai(&["consumer", "resume", "all", "--yes"]).await.ends(0);
    assert_eq!(site.mapping().await, ("Enabled".to_owned(), Some(5)));

    let unknown = site.ikkai(&["consumer", "pause", "mail", "--yes"]).await.ends(3);
    assert!(unknown.err().contains(&format!("it has {}", self::names().join(", "))), "{}", unknown.err());
    site.ikkai(&["consumer", "set-concurrency", "email", "1"]).await.ends(2);
    site.ikkai(&["consumer", "pause"]).await.ends(2);
    site.local.stop().await;
}
