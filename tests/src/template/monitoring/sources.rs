//! Whatever is looked at exists: in the code, in the application's stack, or among the metrics of AWS that are known here.

use ikkai::job;
use ikkai::observability::{Metric, NO_JOB_TYPE};

use super::alarm::{Series, alarms};
use crate::template::stack::Stack;

/// The kit's own namespace, as the templates have it by default.
const OWN: &str = "Ikkai";

/// Put by whoever deploys; see the output `DeployingCommand`.
const DEPLOYING: &str = "Deploying";

/// Names of metrics, or of the dimensions of one set.
type Names = &'static [&'static str];

/// Metrics of AWS by namespace, with the dimensions that they are looked at by. Sources:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>,
/// <https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html>,
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html>,
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html>.
const OF_AWS: [(&str, Names, &[Names]); 4] = [
    (
        "AWS/SQS",
        &[
            "ApproximateAgeOfOldestMessage",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesVisible",
            "NumberOfEmptyReceives",
            "NumberOfMessagesDeleted",
            "NumberOfMessagesReceived",
            "NumberOfMessagesSent",
        ],
        &[&["QueueName"]],
    ),
    ("AWS/Lambda", &["Duration", "Errors", "Invocations", "Throttles"], &[&["FunctionName"]]),
    (
        "AWS/DynamoDB",
        &["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ReadThrottleEvents", "SystemErrors", "WriteThrottleEvents"],
        &[&["TableName"], &["GlobalSecondaryIndexName", "TableName"], &["Operation", "TableName"]],
    ),
    ("AWS/ApiGateway", &["5xx"], &[&["ApiId"]]),
];

/// Every metric of every alarm exists, with its dimensions.
#[must_use]
pub fn alarms_look_at_what_exists(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for alarm in alarms(monitoring) {
        let unknown = alarm.series.iter().filter_map(|series| unknown(application, series));
        violations.extend(unknown.map(|problem| format!("{}: {problem}", alarm.resource.name)));
    }
    violations
}

/// Why a metric does not exist, or nothing.
pub(super) fn unknown(application: &Stack, series: &Series) -> Option<String> {
    let names: Vec<&str> = series.dimensions.keys().map(String::as_str).collect();
    if series.namespace == OWN {
        return unknown_own(application, series, &names);
    }
    let Some((_, metrics, sets)) = OF_AWS.iter().find(|(namespace, ..)| *namespace == series.namespace) else {
        return Some(format!("no namespace {}", series.namespace));
    };
    if !metrics.contains(&series.metric.as_str()) || !sets.contains(&names.as_slice()) {
        return Some(format!("{} has no {} by {names:?}", series.namespace, series.metric));
    }
    let missing = series.dimensions.iter().find(|(name, value)| !names_something(application, name, value));
    missing.map(|(name, value)| format!("the application has no {name} {value}"))
}

fn unknown_own(application: &Stack, series: &Series, names: &[&str]) -> Option<String> {
    if series.metric == DEPLOYING {
        return (names != ["Stack"]).then(|| format!("{DEPLOYING} is not put by {names:?}"));
    }
    if !Metric::ALL.iter().any(|metric| metric.name() == series.metric) {
        return Some(format!("the kit emits no {}", series.metric));
    }
    if names != ["JobType", "Service"] {
        return Some(format!("the kit emits {} by Service and JobType", series.metric));
    }
    let job_type = &series.dimensions["JobType"];
    if job::find(job_type).is_none() && job_type != NO_JOB_TYPE {
        return Some(format!("no job type {job_type}"));
    }
    let service = &series.dimensions["Service"];
    (!names_something(application, "FunctionName", service)).then(|| format!("no service {service}"))
}

fn names_something(application: &Stack, dimension: &str, value: &str) -> bool {
    let has = |kind: &str, property: &str| application.of_type(kind).any(|resource| resource.at(property) == value);
    match dimension {
        "QueueName" => has("AWS::SQS::Queue", "/QueueName"),
        "FunctionName" => has("AWS::Lambda::Function", "/FunctionName"),
        "TableName" => has("AWS::DynamoDB::Table", "/TableName"),
        "GlobalSecondaryIndexName" => has("AWS::DynamoDB::Table", "/GlobalSecondaryIndexes/0/IndexName"),
        // What is called, and which API, no other resource says.
        "Operation" => ["GetItem", "PutItem", "Query", "UpdateItem"].contains(&value),
        "ApiId" => !value.is_empty(),
        _ => false,
    }
}
