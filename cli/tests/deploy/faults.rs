//! Every way to break a stack that the engine lets happen is found by the rule that is there for it, and by no other.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_lambda::types::{
    Environment, Filter, FilterCriteria, FunctionResponseType, LoggingConfig, RecursiveLoop, Runtime, ScalingConfig,
};
use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use ikkai_cli::doctor::Severity::{self, Error, Unknown, Warning};
use ikkai_cli::local::stack::Consumer;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::workshop::{CONSUMER, Verdict, Workshop};

/// Rules that nothing here breaks, and why; their unit tests do (`cli/src/doctor/rules/tests.rs`).
const ELSEWHERE: [(&str, &str); 7] = [
    ("dead-letter-age", "a message is as old as it is"),
    ("queue-types", "the type of a queue is fixed when it is made"),
    ("queues-exist", "a queue that is gone is not brought back as it was"),
    ("redrive-function", "whether it is there is read in the stack's outputs"),
    ("redrive-retries", "the engine does not keep a change of how often failed calls are repeated"),
    ("stuck-jobs", "a job has to rest for a minute; `stuck` in the engine's tests waits for one"),
    ("table", "a table that is gone is not brought back as it was"),
];

/// What was broken so far.
struct Round {
    workshop: Workshop,
    broken: BTreeSet<&'static str>,
}

impl Round {
    /// Breaks something, looks, and takes it back. The first rule is the one that the fault is meant for; others see it too.
    async fn fault(
        &mut self,
        wanted: &[(&'static str, &str, Severity)],
        change: impl AsyncFnOnce(&Workshop),
        back: impl AsyncFnOnce(&Workshop),
    ) {
        change(&self.workshop).await;
        let wrong = self.workshop.wrong().await;
        let wanted: BTreeSet<Verdict> =
            wanted.iter().map(|(rule, subject, severity)| (*rule, (*subject).to_owned(), *severity)).collect();
        assert_eq!(wrong, wanted);
        self.broken.extend(wanted.iter().filter(|(_, _, severity)| *severity > Unknown).map(|(rule, ..)| *rule));
        back(&self.workshop).await;
    }

    /// A consumer's fault that lies in one attribute of a queue.
    async fn attribute(&mut self, wanted: &[(&'static str, Severity)], queue: &str, name: Attribute, value: &str) {
        let before = self.workshop.attribute(queue, &name).await;
        let wanted: Vec<_> = wanted.iter().map(|(rule, severity)| (*rule, CONSUMER, *severity)).collect();
        let change = async |workshop: &Workshop| workshop.set_attribute(queue, &name, value).await;
        self.fault(&wanted, change, async |workshop| workshop.set_attribute(queue, &name, &before).await).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_is_found_by_the_rule_that_is_there_for_it_and_by_no_other() {
    let workshop = Workshop::open().await;
    let none = BTreeSet::new();
    assert_eq!(workshop.wrong().await, none, "a fresh stack is as it should be");
    let mut round = Round { workshop, broken: BTreeSet::new() };

    of_queues(&mut round).await;
    of_dead_letter_queues(&mut round).await;
    of_mappings(&mut round).await;
    of_functions(&mut round).await;
    of_tables(&mut round).await;

    assert_eq!(round.workshop.wrong().await, none, "everything was taken back");
    let rules: BTreeSet<_> = round.workshop.findings().await.into_iter().map(|finding| finding.rule).collect();
    let covered: BTreeSet<_> = ELSEWHERE.iter().map(|(rule, _)| *rule).chain(round.broken.iter().copied()).collect();
    assert_eq!(covered, rules, "each rule was broken, or says why not");
    assert!(ELSEWHERE.iter().all(|(rule, _)| !round.broken.contains(rule)), "what can be broken here is");
}

async fn of_queues(round: &mut Round) {
    let queue = round.workshop.output("EmailQueueName").to_owned();
    let queue = queue.as_str();
    round.attribute(&[("visibility-timeout", Error)], queue, Attribute::VisibilityTimeout, "100").await;
    round.attribute(&[("encryption", Error)], queue, Attribute::SqsManagedSseEnabled, "false").await;
    round.attribute(&[("tls-only", Warning)], queue, Attribute::Policy, "").await;
    let policy = round.workshop.attribute(queue, &Attribute::RedrivePolicy).await;
    let mut policy: Value = serde_json::from_str(&policy).expect("a redrive policy");
    let right = policy.clone();
    policy["maxReceiveCount"] = 3.into();
    let few = [("receive-count", Error), ("settings-agree", Error)];
    round.attribute(&few, queue, Attribute::RedrivePolicy, &policy.to_string()).await;
    // A queue that lets others dead-letter into it, as the stack's do not.
    let other = round.workshop.other_queue().await;
    policy = json!({"deadLetterTargetArn": other, "maxReceiveCount": right["maxReceiveCount"]});
    round.attribute(&[("redrive-policy", Error)], queue, Attribute::RedrivePolicy, &policy.to_string()).await;
}

async fn of_dead_letter_queues(round: &mut Round) {
    let queue = round.workshop.output("EmailDeadLetterQueueName").to_owned();
    let queue = queue.as_str();
    round.attribute(&[("dead-letter-retention", Error)], queue, Attribute::MessageRetentionPeriod, "86400").await;
    round.attribute(&[("message-size", Error)], queue, Attribute::MaximumMessageSize, "1024").await;
    round.attribute(&[("encryption", Error)], queue, Attribute::SqsManagedSseEnabled, "false").await;
    let open = r#"{"redrivePermission":"allowAll"}"#;
    round.attribute(&[("redrive-allow-policy", Warning)], queue, Attribute::RedriveAllowPolicy, open).await;
    let closed = r#"{"redrivePermission":"denyAll"}"#;
    round.attribute(&[("redrive-allow-policy", Error)], queue, Attribute::RedriveAllowPolicy, closed).await;
    let other = round.workshop.other_queue().await;
    let onward = json!({"deadLetterTargetArn": other, "maxReceiveCount": 5}).to_string();
    round.attribute(&[("dead-letters-stay", Error)], queue, Attribute::RedrivePolicy, &onward).await;

    let waits = [("dead-letters", CONSUMER, Warning)];
    round.fault(&waits, async |shop| shop.send(queue, "{}").await, async |shop| shop.purge(queue).await).await;

    of_alarms(round, queue).await;
}

/// Without the alarms on how many messages a dead-letter queue holds.
async fn of_alarms(round: &mut Round, queue: &str) {
    let depth = json!({
        "Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions": [{"Name": "QueueName", "Value": queue}],
    });
    let alarms = round.workshop.cloudwatch("DescribeAlarmsForMetric", &depth).await;
    let alarms = alarms["MetricAlarms"].as_array().cloned().expect("alarms");
    let names: Vec<_> = alarms.iter().map(|alarm| alarm["AlarmName"].clone()).collect();
    assert!(!names.is_empty(), "`ikkai deploy` made them");
    let change = async |shop: &Workshop| {
        shop.cloudwatch("DeleteAlarms", &json!({"AlarmNames": names})).await;
    };
    let back = async |shop: &Workshop| {
        for alarm in &alarms {
            shop.cloudwatch("PutMetricAlarm", alarm).await;
        }
    };
    // The engine tells the alarms of every queue, so those of all consumers go, and are missed.
    let consumers: Vec<String> = Consumer::ALL.iter().map(|consumer| consumer.name()).collect();
    let wanted: Vec<_> = consumers.iter().map(|consumer| ("dead-letter-alarm", consumer.as_str(), Warning)).collect();
    round.fault(&wanted, change, back).await;
}

async fn of_mappings(round: &mut Round) {
    let mapping = round.workshop.mapping().await;
    let id = mapping.uuid.clone().expect("an id");
    let id = id.as_str();
    let update = |shop: &Workshop| shop.lambda.update_event_source_mapping().uuid(id);

    let change = async |shop: &Workshop| {
        update(shop).enabled(false).send().await.expect("kept");
    };
    let back = async |shop: &Workshop| {
        update(shop).enabled(true).send().await.expect("kept");
    };
    round.fault(&[("mapping-enabled", CONSUMER, Warning)], change, back).await;

    let change = async |shop: &Workshop| {
        update(shop).set_function_response_types(Some(Vec::new())).send().await.expect("kept");
    };
    let back = async |shop: &Workshop| {
        update(shop).function_response_types(FunctionResponseType::ReportBatchItemFailures).send().await.expect("kept");
    };
    round.fault(&[("item-failures", CONSUMER, Error)], change, back).await;

    let filters = |patterns: &[&str]| {
        let filters = patterns.iter().map(|pattern| Filter::builder().pattern(*pattern).build()).collect();
        FilterCriteria::builder().set_filters(Some(filters)).build()
    };
    let change = async |shop: &Workshop| {
        update(shop).filter_criteria(filters(&[r#"{"body":{"type":["a"]}}"#])).send().await.expect("kept");
    };
    let back = async |shop: &Workshop| {
        update(shop).filter_criteria(filters(&[])).send().await.expect("kept");
    };
    round.fault(&[("no-filter", CONSUMER, Error)], change, back).await;

    let most = mapping.scaling_config.and_then(|scaling| scaling.maximum_concurrency).expect("a maximum");
    let bound = |most: Option<i32>| ScalingConfig::builder().set_maximum_concurrency(most).build();
    let back = async |shop: &Workshop| {
        update(shop).scaling_config(bound(Some(most))).send().await.expect("kept");
    };
    let change = async |shop: &Workshop| {
        update(shop).scaling_config(bound(None)).send().await.expect("kept");
    };
    round.fault(&[("maximum-concurrency", CONSUMER, Warning)], change, back).await;
    let change = async |shop: &Workshop| {
        update(shop).scaling_config(bound(Some(most + 7))).send().await.expect("kept");
    };
    round.fault(&[("settings-agree", CONSUMER, Warning)], change, back).await;

    let batch = mapping.batch_size.expect("a batch size");
    let change = async |shop: &Workshop| {
        update(shop).batch_size(11).send().await.expect("kept");
    };
    let back = async |shop: &Workshop| {
        update(shop).batch_size(batch).send().await.expect("kept");
    };
    round.fault(&[("batch-size", CONSUMER, Warning)], change, back).await;

    let other = round.workshop.other_queue().await;
    let change = async |shop: &Workshop| {
        let made = shop.lambda.create_event_source_mapping().function_name(shop.function()).event_source_arn(&other);
        made.enabled(false).send().await.expect("a mapping");
    };
    let back = async |shop: &Workshop| {
        let mappings = shop.lambda.list_event_source_mappings().event_source_arn(&other).send().await.expect("mappings");
        for mapping in mappings.event_source_mappings() {
            shop.lambda.delete_event_source_mapping().uuid(mapping.uuid().expect("an id")).send().await.expect("it is gone");
        }
    };
    round.fault(&[("mapping", CONSUMER, Error)], change, back).await;
}

async fn of_functions(round: &mut Round) {
    let name = round.workshop.function().to_owned();
    let name = name.as_str();
    let found = round.workshop.lambda.get_function_configuration().function_name(name).send().await.expect("a function");
    let update = |shop: &Workshop| shop.lambda.update_function_configuration().function_name(name);

    let timeout = found.timeout.expect("a timeout");
    let too_long = [
        ("function-timeout-fits", CONSUMER, Error),
        ("visibility-timeout", CONSUMER, Error),
        ("settings-agree", CONSUMER, Error),
    ];
    let change = async |shop: &Workshop| {
        update(shop).timeout(900).send().await.expect("kept");
        shop.until_updated(name).await;
    };
    let back = async |shop: &Workshop| {
        update(shop).timeout(timeout).send().await.expect("kept");
        shop.until_updated(name).await;
    };
    round.fault(&too_long, change, back).await;

    let change = async |shop: &Workshop| {
        update(shop).runtime(Runtime::Providedal2).send().await.expect("kept");
        shop.until_updated(name).await;
    };
    let back = async |shop: &Workshop| {
        update(shop).runtime(Runtime::Providedal2023).send().await.expect("kept");
        shop.until_updated(name).await;
    };
    round.fault(&[("function", CONSUMER, Warning)], change, back).await;

    let variables = found.environment.and_then(|found| found.variables).expect("variables");
    let mut others = variables.clone();
    others.insert("IKKAI_QUEUE_RETENTION_SECONDS".to_owned(), "60".to_owned());
    let environment = |variables| Environment::builder().set_variables(Some(variables)).build();
    let change = async |shop: &Workshop| {
        update(shop).environment(environment(others)).send().await.expect("kept");
        shop.until_updated(name).await;
    };
    let back = async |shop: &Workshop| {
        update(shop).environment(environment(variables)).send().await.expect("kept");
        shop.until_updated(name).await;
    };
    round.fault(&[("settings-agree", CONSUMER, Error)], change, back).await;

    let logging = found.logging_config.expect("where it logs");
    let elsewhere = LoggingConfig::builder().set_log_format(logging.log_format.clone()).log_group("/elsewhere").build();
    let change = async |shop: &Workshop| {
        update(shop).logging_config(elsewhere).send().await.expect("kept");
        shop.until_updated(name).await;
    };
    let back = async |shop: &Workshop| {
        update(shop).logging_config(logging).send().await.expect("kept");
        shop.until_updated(name).await;
    };
    round.fault(&[("log-retention", CONSUMER, Warning)], change, back).await;

    for (reserved, severity) in [(0, Error), (1, Error)] {
        let change = async |shop: &Workshop| {
            let put = shop.lambda.put_function_concurrency().function_name(name).reserved_concurrent_executions(reserved);
            put.send().await.expect("kept");
        };
        let back = async |shop: &Workshop| {
            shop.lambda.delete_function_concurrency().function_name(name).send().await.expect("taken back");
        };
        round.fault(&[("reserved-concurrency", CONSUMER, severity)], change, back).await;
    }

    let change = async |shop: &Workshop| shop.set_loops(name, RecursiveLoop::Terminate).await;
    let back = async |shop: &Workshop| shop.set_loops(name, RecursiveLoop::Allow).await;
    round.fault(&[("recursive-loop", CONSUMER, Error)], change, back).await;
    of_roles(round).await;
}

/// An action that a consumer needs is taken out of its role.
async fn of_roles(round: &mut Round) {
    let role = round.workshop.role().await;
    let of_policy = [("RoleName", role.as_str()), ("PolicyName", "email-consumer")];
    let answer = round.workshop.iam("GetRolePolicy", &of_policy).await;
    let document = answer.split_once("<PolicyDocument>").and_then(|(_, rest)| rest.split_once("</PolicyDocument>"));
    let document = document.expect("a policy").0;
    // IAM answers with the document encoded as in a URL.
    let document: BTreeMap<_, _> = form_urlencoded::parse(format!("document={document}").as_bytes()).into_owned().collect();
    let document = document["document"].as_str();
    let without = document.replace("sqs:DeleteMessage", "sqs:ListQueueTags");
    assert_ne!(document, without, "the role may delete messages");
    let put = async |shop: &Workshop, document: &str| {
        shop.iam("PutRolePolicy", &[&of_policy[..], &[("PolicyDocument", document)]].concat()).await;
    };
    let change = async |shop: &Workshop| put(shop, &without).await;
    round.fault(&[("permissions", "roles", Error)], change, async |shop| put(shop, document).await).await;
}

async fn of_tables(round: &mut Round) {
    let table = round.workshop.output("JobsTableName").to_owned();
    let (table, subject) = (table.as_str(), "jobs table");
    let off = async |shop: &Workshop| shop.set_expiry(table, false).await;
    let on = async |shop: &Workshop| shop.set_expiry(table, true).await;
    round.fault(&[("time-to-live", subject, Error)], off, on).await;
    let off = async |shop: &Workshop| shop.set_recovery(table, false).await;
    let on = async |shop: &Workshop| shop.set_recovery(table, true).await;
    round.fault(&[("point-in-time-recovery", subject, Warning)], off, on).await;
    let off = async |shop: &Workshop| shop.set_protection(table, false).await;
    let on = async |shop: &Workshop| shop.set_protection(table, true).await;
    round.fault(&[("deletion-protection", subject, Warning)], off, on).await;
}
