//! Event source mappings.

use super::functions::binary;
use crate::template::stack::{Consumer, EVENT, Stack, listed, logical_id, number};

/// Every event source mapping connects a queue and a function of this stack, and every routed queue has one.
#[must_use]
pub fn every_queue_has_its_consumer(stack: &Stack) -> Vec<String> {
    let consumers = stack.consumers();
    let mut violations: Vec<String> = stack
        .of_type("AWS::Lambda::EventSourceMapping")
        .filter(|mapping| consumers.iter().all(|consumer| consumer.mapping.name != mapping.name))
        .map(|mapping| format!("{}: does not connect a queue and a function of this stack", mapping.name))
        .collect();
    let routes = stack.routes();
    if routes.is_empty() {
        violations.push("the producer sends to no queue".to_owned());
    }
    for (job_type, queue) in routes {
        let reading = consumers.iter().filter(|consumer| consumer.queue.name == queue).count();
        if reading != 1 {
            violations.push(format!("{queue}: {job_type} is sent to it and {reading} mappings read it"));
        }
    }
    for consumer in &consumers {
        let told = consumer.function.environment("IKKAI_QUEUE_NAME");
        if told["Fn::GetAtt"] != serde_json::json!([consumer.queue.name, "QueueName"]) {
            violations.push(format!("{}: is told another queue than {}", consumer.function.name, consumer.queue.name));
        }
    }
    violations
}

/// Every consumer knows the queue of completion events, save the one that works on them; the API does not take what consumers alone may say.
#[must_use]
pub fn ended_jobs_are_told(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let consumers = stack.consumers();
    let delivers = |consumer: &&Consumer<'_>| binary(&consumer.function) == Some("webhook-consumer");
    let events = consumers.iter().find(delivers).map(|consumer| consumer.queue.name);
    for consumer in &consumers {
        let told = logical_id(consumer.function.environment("IKKAI_EVENTS_QUEUE_NAME"));
        let wanted = if delivers(&consumer) { None } else { events };
        if told != wanted {
            violations.push(format!("{}: tells {told:?} of ended jobs instead of {wanted:?}", consumer.function.name));
        }
    }
    if stack.api_routes().iter().any(|(job_type, _)| job_type == EVENT) {
        violations.push(format!("the API takes {EVENT}"));
    }
    violations
}

/// Every mapping from a queue reads the list of failed messages in the function's answer.
#[must_use]
pub fn failures_are_reported_by_item(stack: &Stack) -> Vec<String> {
    stack
        .consumers()
        .into_iter()
        .filter(|consumer| {
            !listed(consumer.mapping.at("/FunctionResponseTypes")).iter().any(|kind| *kind == "ReportBatchItemFailures")
        })
        .map(|consumer| format!("{}: without ReportBatchItemFailures failed messages are deleted", consumer.mapping.name))
        .collect()
}

/// Concurrency is bounded at the mapping, by at least two, as the function is told, in a number (local engines do not read a string). What is reserved is as much: less
/// would throttle the mapping, which uses up receives instead of waiting
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html>).
#[must_use]
pub fn concurrency_is_bounded_at_the_mapping(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let bound = consumer.mapping.at("/ScalingConfig/MaximumConcurrency").as_u64();
        if bound < Some(2) {
            violations.push(format!("{}: a maximum concurrency of {bound:?} is not 2 or more", consumer.mapping.name));
        }
        let told = number(consumer.function.environment("IKKAI_MAX_CONCURRENCY"));
        if told != bound {
            violations.push(format!("{}: is told a concurrency of {told:?} and gets {bound:?}", consumer.function.name));
        }
        let reserved = consumer.function.at("/ReservedConcurrentExecutions");
        if !reserved.is_null() && number(reserved) != bound {
            violations.push(format!("{}: reserves {reserved} and its mapping uses {bound:?}", consumer.function.name));
        }
    }
    violations
}

/// Batches of more than ten have a batching window of at least a second, and only standard queues have a window (Lambda refuses the others).
#[must_use]
pub fn batches_are_as_lambda_wants_them(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let size = consumer.mapping.number("/BatchSize").unwrap_or(10);
        let window = consumer.mapping.number("/MaximumBatchingWindowInSeconds").unwrap_or(0);
        let fifo = consumer.queue.is_true("/FifoQueue");
        let name = consumer.mapping.name;
        if size > 10 && window < 1 {
            violations.push(format!("{name}: batches of {size} need a batching window"));
        }
        if fifo && (size > 10 || !consumer.mapping.at("/MaximumBatchingWindowInSeconds").is_null()) {
            violations.push(format!("{name}: a FIFO queue has batches of at most 10 and no window"));
        }
        // Filtered messages are deleted for good, without a record.
        if !consumer.mapping.at("/FilterCriteria").is_null() {
            violations.push(format!("{name}: filters messages"));
        }
    }
    violations
}
