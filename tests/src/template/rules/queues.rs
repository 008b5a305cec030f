//! Queues and their dead-letter queues.

use crate::template::stack::{Resource, Stack, demands_tls, lets_everybody_in, listed, logical_id};

/// SQS keeps a message for 14 days at most.
const LONGEST_RETENTION_SECONDS: u64 = 14 * 24 * 3600;

/// A record outlives the last copy of its message by this much.
const RECORD_MARGIN_SECONDS: u64 = 2 * 24 * 3600;

/// Lambda asks for six function timeouts, so that a batch that is throttled can be tried again within them
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>).
const VISIBILITY_FACTOR: u64 = 6;

/// With fewer receives, throttling alone moves messages to the dead-letter queue (same page).
const LEAST_RECEIVES: u64 = 5;

/// Every queue's visibility timeout is at least six function timeouts and the batching window.
#[must_use]
pub fn visibility_covers_the_function(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let queue = consumer.queue.name;
        let window = consumer.mapping.number("/MaximumBatchingWindowInSeconds").unwrap_or(0);
        // Lambda's and SQS's own defaults where nothing is said.
        let timeout = consumer.function.number("/Timeout").unwrap_or(3);
        let visibility = consumer.queue.number("/VisibilityTimeout").unwrap_or(30);
        let least = VISIBILITY_FACTOR * timeout + window;
        if visibility < least {
            violations.push(format!("{queue}: a visibility timeout of {visibility} s is less than 6 × {timeout} s + {window} s"));
        }
    }
    violations
}

/// Every consumer's queue gives at least five receives, and the function knows how many.
#[must_use]
pub fn receive_limits_agree(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let queue = consumer.queue.name;
        let Some(receives) = consumer.queue.number("/RedrivePolicy/maxReceiveCount") else {
            violations.push(format!("{queue}: no redrive policy"));
            continue;
        };
        if receives < LEAST_RECEIVES {
            violations.push(format!("{queue}: {receives} receives are fewer than {LEAST_RECEIVES}"));
        }
        let known = crate::template::stack::number(consumer.function.environment("IKKAI_MAX_RECEIVE_COUNT"));
        if known != Some(receives) {
            violations.push(format!("{queue}: {receives} receives, but {} is told {known:?}", consumer.function.name));
        }
    }
    violations
}

/// Every dead-letter queue keeps messages for 14 days, longer than its source, is of the same type, accepts that source alone and has no redrive
/// policy itself.
#[must_use]
pub fn dead_letter_queues_suit_their_sources(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for source in stack.of_type("AWS::SQS::Queue") {
        let reference = source.at("/RedrivePolicy/deadLetterTargetArn");
        if reference.is_null() {
            continue;
        }
        let Some(dead) = stack.target(reference).filter(|queue| queue.is("AWS::SQS::Queue")) else {
            violations.push(format!("{}: its dead-letter queue is not in this stack", source.name));
            continue;
        };
        let mut violate = |text: String| violations.push(format!("{}: {text}", dead.name));
        let (kept, source_keeps) = (retention(&dead), retention(&source));
        if kept != LONGEST_RETENTION_SECONDS {
            violate(format!("keeps messages for {kept} s instead of 14 days"));
        }
        if kept <= source_keeps {
            violate(format!("keeps messages for {kept} s, its source for {source_keeps} s"));
        }
        if dead.is_true("/FifoQueue") != source.is_true("/FifoQueue") {
            violate("is of another type than its source".to_owned());
        }
        if dead.at("/MaximumMessageSize") != source.at("/MaximumMessageSize") {
            violate("takes other message sizes than its source".to_owned());
        }
        if !dead.at("/RedrivePolicy").is_null() {
            violate("has a redrive policy itself".to_owned());
        }
        if !accepts_only(&dead, &source) {
            violate(format!("does not accept {} alone", source.name));
        }
    }
    violations
}

/// Succeeded records outlive every copy of their message: whoever writes records keeps them for queue and dead-letter queue and a margin.
#[must_use]
pub fn records_outlive_messages(stack: &Stack) -> Vec<String> {
    let queues = stack.of_type("AWS::SQS::Queue").filter(|queue| !queue.at("/RedrivePolicy").is_null());
    let longest = queues.map(|queue| retention(&queue)).max().unwrap_or(0);
    let least = longest + LONGEST_RETENTION_SECONDS + RECORD_MARGIN_SECONDS;
    stack
        .of_type("AWS::Lambda::Function")
        .filter(|function| writes_records(stack, function))
        .filter_map(|function| {
            let kept = crate::template::stack::number(function.environment("IKKAI_RECORD_RETENTION_SECONDS"));
            (kept < Some(least))
                .then(|| format!("{}: records are kept for {kept:?} s, messages for up to {least} s", function.name))
        })
        .collect()
}

/// Every queue is encrypted, in one of the two ways: SQS refuses both.
#[must_use]
pub fn queues_are_encrypted(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for queue in stack.of_type("AWS::SQS::Queue") {
        match (queue.is_true("/SqsManagedSseEnabled"), !queue.at("/KmsMasterKeyId").is_null()) {
            (false, false) => violations.push(format!("{}: not encrypted", queue.name)),
            (true, true) => violations.push(format!("{}: encrypted in two ways", queue.name)),
            (true, false) | (false, true) => {}
        }
    }
    violations
}

/// A queue that is FIFO has the name of one, keeps order and recognises repetitions by group, so that groups do not wait for each other, and takes
/// no message without a deduplication id: a digest of the body would take a job that was put back for a repetition.
#[must_use]
pub fn fifo_queues_keep_order_by_group(stack: &Stack) -> Vec<String> {
    const OF_FIFO: [&str; 4] = ["FifoQueue", "DeduplicationScope", "FifoThroughputLimit", "ContentBasedDeduplication"];
    let mut violations = Vec::new();
    for queue in stack.of_type("AWS::SQS::Queue") {
        let mut violate = |text: &str| violations.push(format!("{}: {text}", queue.name));
        let fifo = queue.is_true("/FifoQueue");
        if fifo != queue.at("/QueueName").as_str().is_some_and(|name| name.ends_with(".fifo")) {
            violate("its name says another type than it has");
        }
        if !fifo && OF_FIFO.iter().any(|property| !queue.at(&format!("/{property}")).is_null()) {
            violate("has a property of FIFO queues");
        }
        if fifo && (queue.at("/DeduplicationScope") != "messageGroup" || queue.at("/FifoThroughputLimit") != "perMessageGroupId")
        {
            violate("its groups wait for each other");
        }
        if queue.is_true("/ContentBasedDeduplication") {
            violate("takes a job that was put back for a repetition");
        }
    }
    violations
}

/// A change that makes another queue in the place of one leaves the one with its messages.
#[must_use]
pub fn messages_outlive_a_change_of_queues(stack: &Stack) -> Vec<String> {
    stack
        .of_type("AWS::SQS::Queue")
        .filter(|queue| queue.attribute("UpdateReplacePolicy") != "Retain")
        .map(|queue| format!("{}: its messages go when it is replaced", queue.name))
        .collect()
}

/// Every queue refuses requests without TLS, and no queue policy lets everybody in.
#[must_use]
pub fn queues_demand_tls(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let policies: Vec<Resource<'_>> = stack.of_type("AWS::SQS::QueuePolicy").collect();
    for queue in stack.of_type("AWS::SQS::Queue") {
        let covered = policies.iter().any(|policy| {
            listed(policy.at("/Queues")).into_iter().any(|reference| logical_id(reference) == Some(queue.name))
                && listed(policy.at("/PolicyDocument/Statement")).into_iter().any(|statement| {
                    demands_tls(statement, "sqs:*")
                        && listed(&statement["Resource"]).into_iter().any(|resource| logical_id(resource) == Some(queue.name))
                })
        });
        if !covered {
            violations.push(format!("{}: takes requests without TLS", queue.name));
        }
    }
    for policy in &policies {
        if listed(policy.at("/PolicyDocument/Statement")).into_iter().any(lets_everybody_in) {
            violations.push(format!("{}: lets everybody in", policy.name));
        }
    }
    violations
}

/// A service that a queue's policy lets in may send and nothing else, for one source and for this account: its name alone would let it in for
/// anybody's (<https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html>).
#[must_use]
pub fn services_act_for_this_account(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for policy in stack.of_type("AWS::SQS::QueuePolicy") {
        for statement in listed(policy.at("/PolicyDocument/Statement")) {
            let condition = &statement["Condition"];
            let bound =
                condition["StringEquals"]["aws:SourceAccount"].is_string() && condition["ArnEquals"]["aws:SourceArn"].is_string();
            let is_service = !statement["Principal"]["Service"].is_null();
            if is_service && statement["Effect"] != "Deny" && !(bound && statement["Action"] == "sqs:SendMessage") {
                violations.push(format!("{}: lets a service in for anybody", policy.name));
            }
        }
    }
    violations
}

fn writes_records(stack: &Stack, function: &Resource<'_>) -> bool {
    let jobs = logical_id(function.environment("IKKAI_JOBS_TABLE"));
    super::roles::statements_of(stack, function).into_iter().any(|statement| {
        listed(&statement["Action"]).into_iter().any(|action| action == "dynamodb:PutItem" || action == "dynamodb:UpdateItem")
            && listed(&statement["Resource"]).into_iter().any(|resource| logical_id(resource) == jobs)
    })
}

fn retention(queue: &Resource<'_>) -> u64 {
    // SQS's default is four days.
    queue.number("/MessageRetentionPeriod").unwrap_or(4 * 24 * 3600)
}

/// Compared by name, because the two queues cannot refer to each other in a circle.
fn accepts_only(dead: &Resource<'_>, source: &Resource<'_>) -> bool {
    let sources = listed(dead.at("/RedriveAllowPolicy/sourceQueueArns"));
    let name = source.at("/QueueName").as_str().unwrap_or_default();
    let is_source = |arn: &str| arn.starts_with("arn:aws:sqs:") && arn.rsplit(':').next() == Some(name);
    dead.at("/RedriveAllowPolicy/redrivePermission") == "byQueue"
        && sources.len() == 1
        && sources.iter().all(|arn| arn.as_str().is_some_and(is_source))
}
