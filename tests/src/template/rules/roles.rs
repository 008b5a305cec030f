//! What each function may do.

use serde_json::{Value, json};

use crate::template::stack::{Resource, Stack, listed, logical_id};

/// Actions that AWS takes with the resource `*` alone
/// (<https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsx-ray.html>).
const WITHOUT_RESOURCES: [&str; 2] = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"];

/// Records of other types that a consumer may read: binary, action, why. Nobody writes them.
const READERS: &[(&str, &str, &str)] = &[
    ("report-consumer", "dynamodb:BatchGetItem", "an account's jobs are of every type"),
    ("webhook-consumer", "dynamodb:GetItem", "the job that ended is of any type"),
];

/// No role has a wildcard in an action or a resource, save at the end of a prefix of objects.
#[must_use]
pub fn roles_have_no_wildcards(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for role in stack.of_type("AWS::IAM::Role") {
        for statement in statements(&role) {
            let actions = listed(&statement["Action"]);
            let excused = |action: &&Value| WITHOUT_RESOURCES.iter().any(|excused| *action == excused);
            let wild_resource = listed(&statement["Resource"]).into_iter().any(is_wild);
            let wild_action = actions.iter().any(|action| action.to_string().contains('*'));
            if (wild_resource || wild_action) && !actions.iter().all(excused) {
                violations.push(format!("{}: a wildcard in {statement}", role.name));
            }
            if !statement["NotAction"].is_null() || !statement["NotResource"].is_null() {
                violations.push(format!("{}: allows all but a few in {statement}", role.name));
            }
        }
    }
    violations
}

/// Every function has a role of its own, which Lambda alone takes on and which has no policies from elsewhere.
#[must_use]
pub fn roles_are_not_shared(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let mut used = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let Some(role) = stack.target(function.at("/Role")).filter(|role| role.is("AWS::IAM::Role")) else {
            violations.push(format!("{}: its role is not in this stack", function.name));
            continue;
        };
        if used.contains(&role.name) {
            violations.push(format!("{}: shared by several functions", role.name));
        }
        used.push(role.name);
        if !role.at("/ManagedPolicyArns").is_null() {
            violations.push(format!("{}: has policies from elsewhere", role.name));
        }
        let trusts = listed(role.at("/AssumeRolePolicyDocument/Statement"));
        if !matches!(trusts[..], [one] if one["Principal"] == json!({"Service": "lambda.amazonaws.com"})) {
            violations.push(format!("{}: can be taken on by others than Lambda", role.name));
        }
    }
    violations
}

/// Every consumer writes the job records of its own types alone, reads others only where its work is about them, works on its own queue, and sends
/// to the queue of completion events.
#[must_use]
pub fn consumers_reach_only_their_own(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let own: Vec<String> = stack
            .routes()
            .into_iter()
            .filter(|(_, queue)| queue == consumer.queue.name)
            .map(|(job_type, _)| format!("{job_type}-*"))
            .collect();
        let jobs = logical_id(consumer.function.environment("IKKAI_JOBS_TABLE"));
        let name = consumer.function.name;
        let binary = super::functions::binary(&consumer.function).unwrap_or_default();
        let events = logical_id(consumer.function.environment("IKKAI_EVENTS_QUEUE_NAME"));
        let mut reaches_jobs = false;
        for statement in statements_of(stack, &consumer.function) {
            let targets: Vec<Option<&str>> = listed(&statement["Resource"]).into_iter().map(logical_id).collect();
            let actions = texts(&statement["Action"]);
            if targets.contains(&jobs) {
                let confined = is_confined(statement, &own);
                reaches_jobs |= confined;
                let reads = texts(&statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"]);
                if !confined && (reads.is_empty() || reads.contains(&"payload") || reads.contains(&"data")) {
                    violations.push(format!("{name}: reads payloads or private data of other types"));
                }
                if !confined
                    && !actions.iter().all(|action| READERS.iter().any(|reader| (reader.0, reader.1) == (binary, action)))
                {
                    violations.push(format!("{name}: reaches jobs of other types than {own:?}"));
                }
            }
            let for_queues = actions.iter().any(|action| action.starts_with("sqs:"));
            let tells = targets == [events] && actions == ["sqs:GetQueueUrl", "sqs:SendMessage"];
            if for_queues && !tells && targets != [Some(consumer.queue.name)] {
                violations.push(format!("{name}: reaches other queues than {}", consumer.queue.name));
            }
        }
        if !reaches_jobs {
            violations.push(format!("{name}: does not reach its jobs"));
        }
    }
    violations
}

/// Every function writes to its own log group alone.
#[must_use]
pub fn functions_write_their_own_logs(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let group = logical_id(function.at("/LoggingConfig/LogGroup"));
        let mut granted = Vec::new();
        for statement in statements_of(stack, &function) {
            for action in
                listed(&statement["Action"]).into_iter().filter_map(Value::as_str).filter(|action| action.starts_with("logs:"))
            {
                granted.push(action);
                if !listed(&statement["Resource"]).into_iter().all(|resource| logical_id(resource) == group) {
                    violations.push(format!("{}: {action} on another log group", function.name));
                }
            }
        }
        granted.sort_unstable();
        if granted != ["logs:CreateLogStream", "logs:PutLogEvents"] {
            violations.push(format!("{}: has {granted:?} instead of what logging needs", function.name));
        }
    }
    violations
}

/// A function of which Lambda writes traces may have them written, and no other one.
#[must_use]
pub fn traces_are_written_where_they_are_asked_for(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let statements = statements_of(stack, &function);
        let mut granted: Vec<&str> = statements.into_iter().flat_map(|statement| texts(&statement["Action"])).collect();
        granted.retain(|action| action.starts_with("xray:"));
        granted.sort_unstable();
        let wanted: &[&str] = if function.at("/TracingConfig/Mode") == "Active" { &WITHOUT_RESOURCES } else { &[] };
        if granted != wanted {
            violations.push(format!("{}: may {granted:?} and needs {wanted:?}", function.name));
        }
    }
    violations
}

/// Whoever sends mail sends as the configured sender alone.
#[must_use]
pub fn mail_is_sent_as_the_sender(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        for statement in statements_of(stack, &function) {
            let sends = listed(&statement["Action"])
                .iter()
                .any(|action| action.as_str().is_some_and(|action| action.starts_with("ses:")));
            if !sends {
                continue;
            }
            let sender = address(function.environment("IKKAI_EMAIL_FROM"));
            if sender.is_empty() || statement["Condition"]["StringEqualsIgnoreCase"]["ses:FromAddress"] != *sender {
                violations.push(format!("{}: may send as others than {sender}", function.name));
            }
            let named = |resource: &&Value| {
                resource.as_str().is_some_and(|arn| {
                    arn.starts_with("arn:aws:ses:") && (arn.contains(":identity/") || arn.contains(":configuration-set/"))
                })
            };
            if !listed(&statement["Resource"]).iter().all(named) {
                violations.push(format!("{}: may send with other identities", function.name));
            }
        }
    }
    violations
}

/// A wildcard may end a whole prefix of a bucket's objects, such as `${Bucket.Arn}/uploads/*`, and stand nowhere else.
fn is_wild(resource: &Value) -> bool {
    let Some(text) = resource["Fn::Sub"].as_str() else { return resource.to_string().contains('*') };
    let Some(prefix) = text.strip_suffix("/*") else { return text.contains('*') };
    prefix.contains('*') || !prefix.starts_with("${") || !prefix.contains(".Arn}/")
}

pub(super) fn texts(value: &Value) -> Vec<&str> {
    listed(value).into_iter().filter_map(Value::as_str).collect()
}

/// The statements of a function's role.
pub(super) fn statements_of<'a>(stack: &'a Stack, function: &Resource<'a>) -> Vec<&'a Value> {
    stack.target(function.at("/Role")).map(|role| statements(&role)).unwrap_or_default()
}

fn statements<'a>(role: &Resource<'a>) -> Vec<&'a Value> {
    listed(role.at("/Policies")).into_iter().flat_map(|policy| listed(&policy["PolicyDocument"]["Statement"])).collect()
}

/// The address of `mail@example.com` or `Name <mail@example.com>`. SES compares the address without the name.
fn address(sender: &Value) -> &str {
    let sender = sender.as_str().unwrap_or_default();
    sender.rsplit_once('<').and_then(|(_, address)| address.strip_suffix('>')).unwrap_or(sender)
}

/// `ForAllValues` is also true for a request that carries no key: the `Null` condition asks for its presence.
fn is_confined(statement: &Value, own: &[String]) -> bool {
    let condition = &statement["Condition"];
    let prefixes: Vec<&str> =
        listed(&condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]).into_iter().filter_map(Value::as_str).collect();
    !own.is_empty() && prefixes == own && condition["Null"]["dynamodb:LeadingKeys"] == "false"
}
