//! Topics and the functions on them.

use crate::template::stack::{Resource, Stack, demands_tls, listed, logical_id};

/// A dead-letter queue keeps what it holds for as long as SQS can.
const LONGEST_RETENTION_SECONDS: u64 = 14 * 24 * 3600;

/// Every topic refuses messages without TLS, and whoever may publish is a service that acts for this account.
#[must_use]
pub fn topics_are_closed(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let policies: Vec<Resource<'_>> = stack.of_type("AWS::SNS::TopicPolicy").collect();
    for topic in stack.of_type("AWS::SNS::Topic") {
        let covered = policies.iter().any(|policy| {
            listed(policy.at("/Topics")).into_iter().any(|reference| logical_id(reference) == Some(topic.name))
                && listed(policy.at("/PolicyDocument/Statement")).into_iter().any(|statement| {
                    demands_tls(statement, "sns:Publish") && logical_id(&statement["Resource"]) == Some(topic.name)
                })
        });
        if !covered {
            violations.push(format!("{}: takes messages without TLS", topic.name));
        }
    }
    for policy in policies {
        for statement in listed(policy.at("/PolicyDocument/Statement")) {
            let service = statement["Principal"]["Service"].as_str().is_some_and(|name| name.ends_with(".amazonaws.com"));
            let account = statement["Condition"]["StringEquals"]["aws:SourceAccount"].is_string();
            if statement["Effect"] != "Deny" && !(service && account && statement["Action"] == "sns:Publish") {
                violations.push(format!("{}: lets others in than a service of this account that publishes", policy.name));
            }
        }
    }
    violations
}

/// A function on a topic has a queue, kept for 14 days, for what it fails at again and again: Lambda drops it otherwise, after two retries
/// (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>).
#[must_use]
pub fn failures_are_kept(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for subscription in stack.of_type("AWS::SNS::Subscription") {
        let Some(function) = stack.target(subscription.at("/Endpoint")) else { continue };
        match stack.target(function.at("/DeadLetterConfig/TargetArn")).filter(|queue| queue.is("AWS::SQS::Queue")) {
            Some(queue) if queue.number("/MessageRetentionPeriod") != Some(LONGEST_RETENTION_SECONDS) => {
                violations.push(format!("{}: does not keep messages for 14 days", queue.name));
            }
            Some(_) => {}
            None => violations.push(format!("{}: what it fails at is lost", function.name)),
        }
    }
    violations
}
