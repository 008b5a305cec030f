//! Functions: runtime, logs, environment.

use ikkai_cli::local::build::FUNCTIONS;

use super::environment::{self, Kind};
use crate::template::stack::{Stack, listed, logical_id, number};

/// What Lambda takes of environment variables (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>).
const ENVIRONMENT_BYTES: usize = 4096;

/// Every function is a native `bootstrap` for one processor.
#[must_use]
pub fn functions_are_native(stack: &Stack) -> Vec<String> {
    stack
        .of_type("AWS::Lambda::Function")
        .filter(|function| {
            function.at("/Runtime") != "provided.al2023"
                || function.at("/Handler") != "bootstrap"
                || !matches!(listed(function.at("/Architectures"))[..], [one] if one == "arm64" || one == "x86_64")
        })
        .map(|function| format!("{}: not a bootstrap on provided.al2023 for one processor", function.name))
        .collect()
}

/// Every function that is built is deployed, once.
#[must_use]
pub fn every_function_is_deployed(stack: &Stack) -> Vec<String> {
    let deployed: Vec<_> = stack.of_type("AWS::Lambda::Function").filter_map(|function| binary(&function)).collect();
    let times = |name: &str| deployed.iter().filter(|deployed| **deployed == name).count();
    FUNCTIONS.iter().filter(|name| times(name) != 1).map(|name| format!("{name}: deployed {} times", times(name))).collect()
}

/// Every function logs to a group of its own, and every group keeps its lines for a time.
#[must_use]
pub fn logs_are_kept_for_a_time(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let mut used = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let Some(group) = stack.target(function.at("/LoggingConfig/LogGroup")).filter(|group| group.is("AWS::Logs::LogGroup"))
        else {
            violations.push(format!(
                "{}: its log group is not in this stack, so Lambda makes one that keeps lines for ever",
                function.name
            ));
            continue;
        };
        if used.contains(&group.name) {
            violations.push(format!("{}: shared by several functions", group.name));
        }
        used.push(group.name);
    }
    let keeps_for_ever =
        |group: &crate::template::stack::Resource<'_>| group.number("/RetentionInDays").is_none_or(|days| days == 0);
    let groups = stack.of_type("AWS::Logs::LogGroup").filter(keeps_for_ever);
    violations.extend(groups.map(|group| format!("{}: keeps lines for ever", group.name)));
    violations
}

/// Every function's environment has what its code needs, nothing that its code does not read, and no more than Lambda takes.
#[must_use]
pub fn environments_are_what_the_code_reads(stack: &Stack) -> Vec<String> {
    let consumers = stack.consumers();
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let consumes = consumers.iter().any(|consumer| consumer.function.name == function.name);
        let Some(binary) = binary(&function) else {
            violations.push(format!("{}: its code is no zip of a function of this project", function.name));
            continue;
        };
        let kind = if consumes { Kind::Consumer } else { Kind::Other };
        let given = function.at("/Environment/Variables").as_object().cloned().unwrap_or_default();
        let bytes: usize = given.iter().map(|(variable, value)| variable.len() + super::settings::text(value).len()).sum();
        if bytes > ENVIRONMENT_BYTES {
            violations.push(format!("{}: an environment of {bytes} bytes", function.name));
        }
        for variable in given.keys().filter(|variable| !environment::is_read(binary, kind, variable)) {
            violations.push(format!("{}: {variable} is not read by {binary}", function.name));
        }
        for variable in environment::required(binary, kind).filter(|variable| !given.contains_key(*variable)) {
            violations.push(format!("{}: {variable} is missing", function.name));
        }
        for (variable, value) in given.iter().filter(|(_, value)| value.is_number() || value.is_boolean()) {
            violations
                .push(format!("{}: {variable} is {value} and not a string, which local engines hand on as it is", function.name));
        }
    }
    violations
}

/// What a function is told of its own timeout is its timeout; consumers are told.
#[must_use]
pub fn functions_know_their_timeout(stack: &Stack) -> Vec<String> {
    let consumers = stack.consumers();
    stack
        .of_type("AWS::Lambda::Function")
        .filter(|function| {
            let told = function.environment("IKKAI_FUNCTION_TIMEOUT_SECONDS");
            let consumes = consumers.iter().any(|consumer| consumer.function.name == function.name);
            (consumes || !told.is_null()) && number(told) != function.number("/Timeout")
        })
        .map(|function| format!("{}: is told another timeout than it has", function.name))
        .collect()
}

/// A call to a provider fits into an invocation: the kit keeps up to a quarter of one for settling, and does not start what cannot finish.
#[must_use]
pub fn provider_calls_fit_into_an_invocation(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let calls = binary(&consumer.function)
            .is_some_and(|binary| environment::is_read(binary, Kind::Consumer, "IKKAI_PROVIDER_TIMEOUT_MS"));
        if !calls {
            continue;
        }
        let call = number(consumer.function.environment("IKKAI_PROVIDER_TIMEOUT_MS"));
        let room = consumer.function.number("/Timeout").map(|seconds| seconds * 750);
        if call.is_none() || call >= room {
            violations.push(format!("{}: a call of {call:?} ms does not fit into {room:?} ms", consumer.function.name));
        }
    }
    violations
}

/// A consumer that may send to its own queue (renewal) is exempt from Lambda's recursion stop, which would take a renewed message away after about
/// 16 rounds (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html>).
#[must_use]
pub fn renewal_is_not_taken_for_a_loop(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let renews = super::roles::statements_of(stack, &consumer.function).into_iter().any(|statement| {
            listed(&statement["Action"]).into_iter().any(|action| action == "sqs:SendMessage")
                && listed(&statement["Resource"]).into_iter().any(|resource| logical_id(resource) == Some(consumer.queue.name))
        });
        if renews && consumer.function.at("/RecursiveLoop") != "Allow" {
            violations.push(format!("{}: Lambda stops its renewals as a loop", consumer.function.name));
        }
    }
    violations
}

/// The name in the key of a function's code: `email-consumer` of `ikkai/email-consumer.zip`.
pub(super) fn binary<'a>(function: &crate::template::stack::Resource<'a>) -> Option<&'a str> {
    let key = function.at("/Code/S3Key").as_str()?;
    let name = key.rsplit('/').next()?.strip_suffix(".zip")?;
    FUNCTIONS.contains(&name).then_some(name)
}
