//! Everything of the application's stack is watched.

use std::collections::BTreeMap;

use ikkai::observability::Metric;

use super::alarm::{Alarm, alarms};
use crate::template::stack::{Consumer, Resource, Stack, listed, number};

const AGE: &str = "ApproximateAgeOfOldestMessage";
const VISIBLE: &str = "ApproximateNumberOfMessagesVisible";
const IN_FLIGHT: &str = "ApproximateNumberOfMessagesNotVisible";

/// 80 % of what SQS hands out at a time
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html>).
const MOST_IN_FLIGHT: f64 = 96_000.0;

/// Whose metric an alarm of a consumer looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Queue,
    DeadLetterQueue,
    Consumer,
    Producer,
    Operators,
}

/// An alarm that every consumer has.
struct Kind {
    name: &'static str,
    of: Of,
    metric: &'static str,
    statistic: &'static str,
    /// Where it is one number for everybody; it fires above it.
    threshold: Option<f64>,
}

const fn kind(name: &'static str, of: Of, metric: &'static str, statistic: &'static str, threshold: Option<f64>) -> Kind {
    Kind { name, of, metric, statistic, threshold }
}

const KINDS: [Kind; 14] = [
    kind("backlog-age", Of::Queue, AGE, "Maximum", None),
    kind("failing", Of::Consumer, Metric::AttemptsFailed.name(), "SampleCount", None),
    kind("failing", Of::Consumer, Metric::AttemptsFailed.name(), "Sum", None),
    kind("dead-letters", Of::DeadLetterQueue, VISIBLE, "Maximum", Some(0.0)),
    kind("dead-letters-growing", Of::DeadLetterQueue, VISIBLE, "Maximum", None),
    kind("dead-letters-ageing", Of::DeadLetterQueue, AGE, "Maximum", None),
    kind("dead-letters-expiring", Of::DeadLetterQueue, AGE, "Maximum", None),
    kind("poison", Of::Consumer, Metric::PoisonSeen.name(), "Sum", Some(0.0)),
    kind("in-doubt", Of::Consumer, Metric::JobsInDoubt.name(), "Sum", Some(0.0)),
    kind("lease-lost", Of::Consumer, Metric::LeaseLost.name(), "Sum", Some(0.0)),
    kind("renewed", Of::Consumer, Metric::JobsRenewed.name(), "Sum", Some(0.0)),
    kind("quarantined", Of::Operators, Metric::RedriveQuarantined.name(), "Sum", Some(0.0)),
    kind("in-flight", Of::Queue, IN_FLIGHT, "Maximum", Some(MOST_IN_FLIGHT)),
    // The API does not take every type.
    kind("refused", Of::Producer, Metric::AdmissionRejected.name(), "Sum", Some(0.0)),
];

/// What a consumer is called, and where its metrics are found.
struct Watched {
    prefix: String,
    job_type: String,
    queue: String,
    dead_letter_queue: String,
    function: String,
    is_posted: bool,
}

/// Every consumer's queue, dead-letter queue and jobs have every kind of alarm.
#[must_use]
pub fn every_consumer_has_every_alarm(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let alarms = alarms(monitoring);
    let mut violations = Vec::new();
    for consumer in watched(application) {
        for kind in KINDS.iter().filter(|kind| kind.of != Of::Producer || consumer.is_posted) {
            let name = format!("{}-{}", consumer.prefix, kind.name);
            let Some(alarm) = alarms.iter().find(|alarm| alarm.name == name) else {
                violations.push(format!("{name}: is missing"));
                continue;
            };
            let dimensions = dimensions(application, &consumer, kind.of);
            let looks =
                |of: &&super::Series| of.metric == kind.metric && of.statistic == kind.statistic && of.dimensions == dimensions;
            if !alarm.series.iter().any(|series| looks(&series)) {
                violations.push(format!("{name}: does not look at {} {} of {dimensions:?}", kind.statistic, kind.metric));
            }
            if kind.threshold.is_some_and(|threshold| !fires_above(alarm, threshold)) {
                violations.push(format!("{name}: does not fire above {:?}", kind.threshold));
            }
        }
    }
    violations
}

/// Each queue has an alarm about silence where a parameter asks for it; what says nothing counts as silence.
#[must_use]
pub fn silence_is_watched_where_it_is_asked_for(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let alarms = alarms(monitoring);
    let queues = watched(application).into_iter();
    let missing = queues.filter(|consumer| {
        let heard = |alarm: &Alarm<'_>| {
            alarm.name == format!("{}-silent", consumer.prefix)
                && alarm.series[0].metric == "NumberOfMessagesSent"
                && alarm.series[0].dimensions == dimensions(application, consumer, Of::Queue)
                && alarm.resource.at("/ComparisonOperator") == "LessThanThreshold"
                && alarm.threshold() == Some(1.0)
                && alarm.resource.at("/TreatMissingData") == "breaching"
        };
        !alarms.iter().any(heard)
    });
    missing.map(|consumer| format!("{}-silent: is missing or does not fire", consumer.prefix)).collect()
}

/// Every queue that nothing reads by itself has alarms: whatever is in it waits for a person.
#[must_use]
pub fn dead_letter_queues_are_watched(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let alarms = alarms(monitoring);
    let consumers = application.consumers();
    let mut violations = Vec::new();
    for queue in application.of_type("AWS::SQS::Queue").filter(|queue| !consumers.iter().any(|of| of.queue.name == queue.name)) {
        let name = queue_name(&queue);
        for metric in [VISIBLE, AGE] {
            let watches = |alarm: &&Alarm<'_>| {
                alarm.expression.is_none()
                    && alarm.series[0].metric == metric
                    && alarm.series[0].dimensions == one("QueueName", &name)
            };
            let wanted = if metric == AGE { 2 } else { 1 };
            if alarms.iter().filter(watches).count() != wanted {
                violations.push(format!("{}: has not {wanted} alarms on {metric}", queue.name));
            }
        }
    }
    violations
}

/// Every function has alarms on throttles, errors and its timeout, which is its own.
#[must_use]
pub fn functions_are_watched(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let alarms = alarms(monitoring);
    let mut violations = Vec::new();
    for function in application.of_type("AWS::Lambda::Function") {
        let name = function.at("/FunctionName").as_str().unwrap_or_default();
        let of = |kind: &str| alarms.iter().find(|alarm| alarm.name == format!("{name}-{kind}"));
        for (kind, metric, statistic) in
            [("throttled", "Throttles", "Sum"), ("errors", "Errors", "Sum"), ("timeout", "Duration", "Maximum")]
        {
            let looks = |alarm: &Alarm<'_>| {
                let series = &alarm.series[0];
                series.metric == metric && series.statistic == statistic && series.dimensions == one("FunctionName", name)
            };
            if !of(kind).is_some_and(looks) {
                violations.push(format!("{name}-{kind}: is missing, or looks elsewhere"));
            }
        }
        for kind in ["throttled", "errors"] {
            if of(kind).is_some_and(|alarm| !fires_above(alarm, 0.0)) {
                violations.push(format!("{name}-{kind}: does not fire above 0"));
            }
        }
        let seconds = function.number("/Timeout").unwrap_or_default();
        let expression = format!("100 * duration / (1000 * {seconds})");
        if of("timeout").is_some_and(|alarm| alarm.expression != Some(&expression)) {
            violations.push(format!("{name}-timeout: does not reckon with {seconds} s"));
        }
        if of("timeout").is_some_and(|alarm| !alarm.threshold().is_some_and(|percent| (95.0..100.0).contains(&percent))) {
            violations.push(format!("{name}-timeout: fires too early, or when it is too late"));
        }
    }
    violations
}

/// Every table, and every index of one, has an alarm on what DynamoDB refuses.
#[must_use]
pub fn tables_are_watched(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let alarms = alarms(monitoring);
    let mut violations = Vec::new();
    let mut demand = |what: &str, metric: &str, dimensions: &BTreeMap<String, String>| {
        let looks = |alarm: &Alarm<'_>| {
            alarm.series.len() == 1
                && alarm.series[0].metric == metric
                && alarm.series[0].dimensions == *dimensions
                && fires_above(alarm, 0.0)
        };
        if !alarms.iter().any(looks) {
            violations.push(format!("{what}: no alarm on {metric}"));
        }
    };
    for table in application.of_type("AWS::DynamoDB::Table") {
        let name = table.at("/TableName").as_str().unwrap_or_default();
        let mut dimensions = one("TableName", name);
        demand(table.name, "ReadThrottleEvents", &dimensions);
        demand(table.name, "WriteThrottleEvents", &dimensions);
        for index in listed(table.at("/GlobalSecondaryIndexes")) {
            let index = index["IndexName"].as_str().unwrap_or_default();
            dimensions.insert("GlobalSecondaryIndexName".to_owned(), index.to_owned());
            demand(table.name, "WriteThrottleEvents", &dimensions);
        }
    }
    violations
}

/// Somebody is called when jobs of any consumer wait too long or fail too often, and not while a deployment is at work.
#[must_use]
pub fn customer_impact_covers_every_consumer(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let composites: Vec<Resource<'_>> = monitoring.of_type("AWS::CloudWatch::CompositeAlarm").collect();
    let [composite] = composites[..] else { return vec![format!("{} composite alarms", composites.len())] };
    let mut violations = Vec::new();
    let rule = composite.at("/AlarmRule")["Fn::Sub"].as_str().unwrap_or_default();
    let parts: Vec<&str> = rule.split(" OR ").map(str::trim).collect();
    for consumer in watched(application) {
        for kind in ["backlog-age", "failing"] {
            let name = format!("{}-{kind}", consumer.prefix);
            let alarm = alarms(monitoring).into_iter().find(|alarm| alarm.name == name);
            let part = alarm.map(|alarm| format!("ALARM(\"${{{}}}\")", alarm.resource.name));
            if !part.is_some_and(|part| parts.contains(&part.as_str())) {
                violations.push(format!("{}: does not look at {name}", composite.name));
            }
        }
    }
    let suppressor = monitoring.target(composite.at("/ActionsSuppressor"));
    if !suppressor.is_some_and(|alarm| alarm.at("/MetricName") == "Deploying") {
        violations.push(format!("{}: a deployment calls somebody", composite.name));
    }
    if composite.at("/AlarmActions")[0].is_null() {
        violations.push(format!("{}: tells nobody", composite.name));
    }
    violations
}

/// Dead letters are reported when half, and four fifths, of the time is over that the last to die has: it has waited in its own queue before.
#[must_use]
pub fn thresholds_follow_the_application(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let retention = |queue: &Resource<'_>| queue.number("/MessageRetentionPeriod").unwrap_or_default();
    let longest_wait = application.consumers().iter().map(|of| retention(&of.queue)).max().unwrap_or_default();
    let mut violations = Vec::new();
    for queue in dead_letter_queues(application) {
        let left = retention(&queue).saturating_sub(longest_wait);
        for (kind, part, whole) in [("ageing", 1, 2), ("expiring", 4, 5)] {
            let name = format!("{}-dead-letters-{kind}", queue_name(&queue).trim_end_matches(".fifo").trim_end_matches("-dlq"));
            let alarm = alarms(monitoring).into_iter().find(|alarm| alarm.name == name);
            let threshold = alarm.and_then(|alarm| number(alarm.resource.at("/Threshold")));
            if threshold != Some(left * part / whole) {
                violations.push(format!("{name}: fires at {threshold:?} of {left} s"));
            }
        }
    }
    violations
}

fn fires_above(alarm: &Alarm<'_>, threshold: f64) -> bool {
    alarm.threshold().is_some_and(|set| (set - threshold).abs() < f64::EPSILON)
        && alarm.resource.at("/ComparisonOperator") == "GreaterThanThreshold"
}

fn dead_letter_queues(application: &Stack) -> Vec<Resource<'_>> {
    let consumers = application.consumers();
    let is_source = |queue: &Resource<'_>| consumers.iter().any(|of| of.queue.name == queue.name);
    application.of_type("AWS::SQS::Queue").filter(|queue| !is_source(queue)).collect()
}

fn watched(application: &Stack) -> Vec<Watched> {
    let of = |consumer: &Consumer<'_>| {
        let queue = queue_name(&consumer.queue);
        let dead_letter_queue = application.target(consumer.queue.at("/RedrivePolicy/deadLetterTargetArn"));
        let routes = application.routes();
        let job_type = routes.into_iter().find(|(_, queue)| *queue == consumer.queue.name).map(|(job_type, _)| job_type);
        let job_type = job_type.unwrap_or_default();
        Watched {
            prefix: queue.trim_end_matches(".fifo").to_owned(),
            dead_letter_queue: dead_letter_queue.map(|queue| queue_name(&queue)).unwrap_or_default(),
            function: consumer.function.at("/FunctionName").as_str().unwrap_or_default().to_owned(),
            is_posted: application.api_routes().iter().any(|(posted, _)| *posted == job_type),
            job_type,
            queue,
        }
    };
    application.consumers().iter().map(of).collect()
}

fn queue_name(queue: &Resource<'_>) -> String {
    queue.at("/QueueName").as_str().unwrap_or_default().to_owned()
}

fn dimensions(application: &Stack, consumer: &Watched, of: Of) -> BTreeMap<String, String> {
    let service_with = |variable: &str| {
        let mut functions = application.of_type("AWS::Lambda::Function");
        let function = functions.find(|function| !function.environment(variable).is_null());
        function.and_then(|function| function.at("/FunctionName").as_str().map(str::to_owned)).unwrap_or_default()
    };
    let service = match of {
        Of::Queue => return one("QueueName", &consumer.queue),
        Of::DeadLetterQueue => return one("QueueName", &consumer.dead_letter_queue),
        Of::Consumer => consumer.function.clone(),
        Of::Producer => service_with("IKKAI_QUEUES"),
        Of::Operators => service_with("IKKAI_REDRIVE_TABLE"),
    };
    BTreeMap::from([("Service".to_owned(), service), ("JobType".to_owned(), consumer.job_type.clone())])
}

fn one(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}
