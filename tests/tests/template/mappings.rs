//! Event source mappings.

use ikkai_tests::template::rules::mappings;
use serde_json::json;

use crate::stacks::{CONSUMERS, ORDERED, full_stack, holds, notices, notices_in, variable};

/// Consumers' functions with their mappings and queues.
fn consumers() -> impl Iterator<Item = (String, String, String)> {
    CONSUMERS
        .into_iter()
        .map(|name| (format!("{name}ConsumerFunction"), format!("{name}ConsumerFunction{name}Queue"), format!("{name}Queue")))
}

#[test]
fn every_queue_that_jobs_are_sent_to_has_one_consumer() {
    let rule = mappings::every_queue_has_its_consumer;
    holds(rule);
    for (function, mapping, queue) in consumers() {
        notices(rule, &queue, |stack| stack.drop_resource(&mapping));
        notices(rule, &mapping, |stack| {
            stack.set(&mapping, "/EventSourceArn", json!("arn:aws:sqs:us-east-1:123456789012:elsewhere"));
        });
        notices(rule, &function, |stack| stack.set(&function, &variable("IKKAI_QUEUE_NAME"), json!("elsewhere")));
    }
}

#[test]
fn every_consumer_but_the_one_of_webhooks_tells_it_of_ended_jobs() {
    let rule = mappings::ended_jobs_are_told;
    holds(rule);
    for (function, ..) in consumers().filter(|(function, ..)| !function.starts_with("Webhook")) {
        notices(rule, &function, |stack| stack.remove(&function, &variable("IKKAI_EVENTS_QUEUE_NAME")));
        notices(rule, &function, |stack| {
            stack.set(&function, &variable("IKKAI_EVENTS_QUEUE_NAME"), json!({"Fn::GetAtt": ["ReportQueue", "QueueName"]}));
        });
    }
    notices(rule, "WebhookConsumerFunction", |stack| {
        let queue = json!({"Fn::GetAtt": ["WebhookQueue", "QueueName"]});
        stack.set("WebhookConsumerFunction", &variable("IKKAI_EVENTS_QUEUE_NAME"), queue);
    });
    notices(rule, "the API takes webhook.deliver", |stack| {
        stack.set(
            "ProducerApiFunction",
            &variable("IKKAI_QUEUES"),
            json!({"Fn::Sub": r#"{"webhook.deliver":"${WebhookQueue.QueueName}"}"#}),
        );
    });
}

#[test]
fn every_mapping_from_a_queue_reports_failed_items() {
    let rule = mappings::failures_are_reported_by_item;
    holds(rule);
    for (_, mapping, _) in consumers() {
        notices(rule, &mapping, |stack| stack.remove(&mapping, "/FunctionResponseTypes"));
    }
}

#[test]
fn concurrency_is_bounded_at_the_mapping_and_reserved_as_much_or_not_at_all() {
    let rule = mappings::concurrency_is_bounded_at_the_mapping;
    holds(rule);
    let bound = "/ScalingConfig/MaximumConcurrency";
    for (function, mapping, _) in consumers() {
        notices(rule, &mapping, |stack| stack.remove(&mapping, "/ScalingConfig"));
        notices(rule, &mapping, |stack| stack.set(&mapping, bound, json!(1)));
        notices(rule, &function, |stack| stack.set(&mapping, bound, json!(7)));
        // MiniStack stops polling altogether when it is a string.
        notices(rule, &mapping, |stack| stack.set(&mapping, bound, json!("2")));
        notices(rule, &function, |stack| stack.set(&function, "/ReservedConcurrentExecutions", json!(1)));
        notices_in(full_stack(), rule, &function, |stack| stack.set(&mapping, bound, json!(100)));
    }
}

#[test]
fn batches_are_as_lambda_wants_them() {
    let rule = mappings::batches_are_as_lambda_wants_them;
    holds(rule);
    for (_, mapping, queue) in consumers() {
        notices(rule, &mapping, |stack| {
            stack.set(&mapping, "/BatchSize", json!("11"));
            stack.set(&mapping, "/MaximumBatchingWindowInSeconds", json!(0));
        });
        notices(rule, &mapping, |stack| stack.set(&mapping, "/FilterCriteria", json!({"Filters": []})));
        notices(rule, &mapping, |stack| {
            stack.set(&queue, "/FifoQueue", json!(true));
            stack.set(&mapping, "/MaximumBatchingWindowInSeconds", json!(1));
        });
    }
}

#[test]
fn a_fifo_queue_has_small_batches_many_receives_and_no_window() {
    let stack = full_stack();
    for name in ORDERED {
        let mapping = stack.target(&json!({"Ref": format!("{name}ConsumerFunction{name}Queue")})).expect("a mapping");
        let queue = stack.target(&json!({"Ref": format!("{name}Queue")})).expect("a queue");
        assert_eq!(mapping.number("/BatchSize"), Some(1), "{name}");
        assert_eq!(queue.number("/RedrivePolicy/maxReceiveCount"), Some(100), "{name}");
        notices_in(stack, mappings::batches_are_as_lambda_wants_them, mapping.name, |stack| {
            stack.set(mapping.name, "/MaximumBatchingWindowInSeconds", json!("0"));
        });
    }
}
