//! The operators' function: what it knows, what it may do, what it tells.

use serde_json::{Value, json};

use super::roles::statements_of;
use crate::template::stack::{Resource, Stack, listed, logical_id, number};

/// What may be done with a queue that jobs wait in: they are put back, and nothing is taken out.
const OF_SOURCES: [&str; 3] = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"];

/// What may be done with a dead-letter queue: it is gone through, and SQS is asked to empty it. Only SQS fills it.
const OF_DEAD_LETTERS: [&str; 9] = [
    "sqs:CancelMessageMoveTask",
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ListDeadLetterSourceQueues",
    "sqs:ListMessageMoveTasks",
    "sqs:ReceiveMessage",
    "sqs:StartMessageMoveTask",
];

/// What may be done with the jobs table.
const OF_JOBS: [&str; 4] = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"];

/// What may be done with the table of runs.
const OF_RUNS: [&str; 5] =
    ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"];

/// The function is told of every queue that has a consumer, with its dead-letter queue and the type of its jobs, and of no other.
#[must_use]
pub fn operators_know_every_queue(stack: &Stack) -> Vec<String> {
    let routes = stack.routes();
    let mut violations = Vec::new();
    for function in operators(stack) {
        let mut told = told_queues(&function);
        for consumer in stack.consumers() {
            let queue = consumer.queue.name;
            let wanted = Told {
                job_type: routes.iter().find(|(_, route)| route == queue).map(|(job_type, _)| job_type.clone()),
                queue: Some(queue.to_owned()),
                dead_letter_queue: logical_id(consumer.queue.at("/RedrivePolicy/deadLetterTargetArn")).map(str::to_owned),
            };
            let before = told.len();
            told.retain(|told| *told != wanted);
            if before - told.len() != 1 {
                violations.push(format!("{}: is told {} times of {queue} as it is", function.name, before - told.len()));
            }
        }
        violations.extend(told.into_iter().map(|told| format!("{}: is told of {told:?}, which nobody works on", function.name)));
    }
    violations
}

/// The function puts back into the queues and takes out of the dead-letter queues, of all that it is told of and of no others.
#[must_use]
pub fn operators_only_put_back(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in operators(stack) {
        let told = told_queues(&function);
        let sources = told.iter().filter_map(|told| told.queue.clone()).collect();
        let dead = told.iter().filter_map(|told| told.dead_letter_queue.clone()).collect();
        for (action, mut queues) in granted(stack, &function, "sqs:") {
            let mut wanted: Vec<String> = match (OF_SOURCES.contains(&action), OF_DEAD_LETTERS.contains(&action)) {
                (true, true) => [&sources, &dead].into_iter().flatten().cloned().collect(),
                (true, false) => Vec::clone(&sources),
                (false, true) => Vec::clone(&dead),
                (false, false) => Vec::new(),
            };
            queues.sort();
            wanted.sort();
            if queues != wanted {
                violations.push(format!("{}: {action} on {queues:?} instead of {wanted:?}", function.name));
            }
        }
        let missing = [&OF_SOURCES[..], &OF_DEAD_LETTERS].concat();
        let has = |action: &&str| granted(stack, &function, "sqs:").iter().any(|(granted, _)| granted == action);
        violations.extend(missing.iter().filter(|action| !has(action)).map(|action| format!("{}: no {action}", function.name)));
    }
    violations
}

/// Beside queues the function reaches the two tables that it is told of, and writes into the archive, under its prefix alone.
#[must_use]
pub fn operators_reach_their_tables_and_their_archive(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in operators(stack) {
        let table = |variable: &str| logical_id(function.environment(variable)).unwrap_or_default().to_owned();
        let (jobs, runs) = (table("IKKAI_JOBS_TABLE"), table("IKKAI_REDRIVE_TABLE"));
        for (action, tables) in granted(stack, &function, "dynamodb:") {
            let known =
                |name: &String| (*name == jobs && OF_JOBS.contains(&action)) || (*name == runs && OF_RUNS.contains(&action));
            if !tables.iter().all(known) {
                violations.push(format!("{}: {action} on {tables:?}", function.name));
            }
        }
        let archive = logical_id(function.environment("IKKAI_ARCHIVE_BUCKET")).unwrap_or_default();
        let prefix = function.environment("IKKAI_ARCHIVE_PREFIX").as_str().unwrap_or_default();
        let own = json!({"Fn::Sub": format!("${{{archive}.Arn}}/{prefix}*")});
        let objects = statements_of(stack, &function)
            .into_iter()
            .filter(|statement| listed(&statement["Action"]).iter().any(|action| action.to_string().contains("s3:")));
        let objects: Vec<&Value> = objects.collect();
        if !matches!(objects[..], [one] if one["Action"] == "s3:PutObject" && one["Resource"] == own) || prefix.is_empty() {
            violations.push(format!("{}: reaches more of buckets, or less, than {own}", function.name));
        }
        let others = statements_of(stack, &function).into_iter().flat_map(|statement| listed(&statement["Action"]));
        let services = ["logs:", "xray:", "kms:", "sqs:", "dynamodb:", "s3:"];
        let others = others.filter_map(Value::as_str).filter(|action| !services.iter().any(|known| action.starts_with(known)));
        violations.extend(others.map(|action| format!("{}: has {action}", function.name)));
    }
    violations
}

/// A call of the function that nobody waits for is not made a second time: what one run did may not be done again by itself.
#[must_use]
pub fn failed_calls_are_not_repeated(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in operators(stack) {
        let mut settings = stack
            .of_type("AWS::Lambda::EventInvokeConfig")
            .filter(|settings| logical_id(settings.at("/FunctionName")) == Some(function.name));
        let never = |settings: Resource<'_>| settings.number("/MaximumRetryAttempts") == Some(0);
        if !settings.next().is_some_and(never) {
            violations.push(format!("{}: Lambda repeats failed calls", function.name));
        }
    }
    violations
}

/// Consumers and operators agree on how often a job may be put back.
#[must_use]
pub fn put_backs_have_one_limit(stack: &Stack) -> Vec<String> {
    let limit = |function: &Resource<'_>| number(function.environment("IKKAI_MAX_GENERATIONS"));
    let mut violations = Vec::new();
    for function in operators(stack) {
        let agreed = limit(&function);
        let others = stack.consumers().into_iter().filter(|consumer| agreed.is_none() || limit(&consumer.function) != agreed);
        violations.extend(others.map(|consumer| format!("{}: has another limit than {agreed:?}", consumer.function.name)));
    }
    violations
}

/// What is thrown away is kept, in versions, for a time.
#[must_use]
pub fn the_archive_keeps_what_it_is_given(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in operators(stack) {
        let Some(archive) = stack.target(function.environment("IKKAI_ARCHIVE_BUCKET")) else {
            violations.push(format!("{}: its archive is not in this stack", function.name));
            continue;
        };
        if archive.at("/VersioningConfiguration/Status") != "Enabled" {
            violations.push(format!("{}: may be written over", archive.name));
        }
        let prefix = function.environment("IKKAI_ARCHIVE_PREFIX");
        let mut rules = listed(archive.at("/LifecycleConfiguration/Rules")).into_iter();
        let ends = |rule: &Value| rule["Status"] == "Enabled" && number(&rule["ExpirationInDays"]).is_some();
        if !rules.any(|rule| rule["Prefix"] == *prefix && ends(rule)) {
            violations.push(format!("{}: keeps what was thrown away for ever", archive.name));
        }
    }
    violations
}

/// A queue as the function is told of it.
#[derive(Debug, PartialEq)]
struct Told {
    job_type: Option<String>,
    queue: Option<String>,
    dead_letter_queue: Option<String>,
}

/// The operators' functions: there is one, or every rule about it is empty.
fn operators(stack: &Stack) -> impl Iterator<Item = Resource<'_>> {
    stack.of_type("AWS::Lambda::Function").filter(|function| !function.environment("IKKAI_REDRIVE_TABLE").is_null())
}

fn told_queues(function: &Resource<'_>) -> Vec<Told> {
    let told = function.environment("IKKAI_REDRIVE_QUEUES");
    let told = told["Fn::Sub"].as_str().and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok()).unwrap_or_default();
    let name = |value: &Value| Some(value.as_str()?.strip_prefix("${")?.strip_suffix(".QueueName}")?.to_owned());
    let queue = |value: &Value| Told {
        job_type: value["type"].as_str().map(str::to_owned),
        queue: name(&value["queue"]),
        dead_letter_queue: name(&value["deadLetterQueue"]),
    };
    told.iter().map(queue).collect()
}

/// The actions of a service that a function may do, each with the logical ids of all resources that it may be done on.
fn granted<'a>(stack: &'a Stack, function: &Resource<'a>, service: &str) -> Vec<(&'a str, Vec<String>)> {
    let mut granted: Vec<(&str, Vec<String>)> = Vec::new();
    for statement in statements_of(stack, function) {
        let resources = listed(&statement["Resource"]);
        let resources =
            resources.into_iter().map(|resource| logical_id(resource).map_or_else(|| resource.to_string(), str::to_owned));
        let resources: Vec<String> = resources.collect();
        for action in listed(&statement["Action"]).into_iter().filter_map(Value::as_str) {
            match granted.iter_mut().find(|(known, _)| *known == action) {
                _ if !action.starts_with(service) => {}
                Some((_, known)) => known.extend(resources.iter().cloned()),
                None => granted.push((action, resources.clone())),
            }
        }
    }
    granted
}
