//! Queues and their dead-letter queues.

use ikkai_tests::template::rules::queues;
use serde_json::json;

use crate::stacks::{CONSUMERS, ORDERED, full_stack, holds, notices, notices_in, variable};

#[test]
fn visibility_is_at_least_six_function_timeouts_and_the_window_for_every_timeout() {
    let rule = queues::visibility_covers_the_function;
    holds(rule);
    for name in CONSUMERS {
        let (queue, function, mapping) =
            (format!("{name}Queue"), format!("{name}ConsumerFunction"), format!("{name}ConsumerFunction{name}Queue"));
        notices(rule, &queue, |stack| stack.set(&queue, "/VisibilityTimeout", json!("47")));
        notices(rule, &queue, |stack| stack.set(&function, "/Timeout", json!("900")));
        notices(rule, &queue, |stack| stack.set(&mapping, "/MaximumBatchingWindowInSeconds", json!("300")));
    }
}

#[test]
fn the_receive_limit_is_at_least_five_and_known_to_the_function() {
    let rule = queues::receive_limits_agree;
    holds(rule);
    for name in CONSUMERS {
        let (queue, function) = (format!("{name}Queue"), format!("{name}ConsumerFunction"));
        notices(rule, &queue, |stack| stack.set(&queue, "/RedrivePolicy/maxReceiveCount", json!("77")));
        notices(rule, &format!("{queue}: 4 receives"), |stack| {
            stack.set(&queue, "/RedrivePolicy/maxReceiveCount", json!("4"));
            stack.set(&function, &variable("IKKAI_MAX_RECEIVE_COUNT"), json!("4"));
        });
        notices(rule, &format!("{queue}: no redrive"), |stack| stack.remove(&queue, "/RedrivePolicy"));
    }
}

#[test]
fn dead_letter_queues_keep_messages_for_14_days_and_accept_their_source_alone() {
    let rule = queues::dead_letter_queues_suit_their_sources;
    holds(rule);
    for name in CONSUMERS {
        let (queue, dead) = (format!("{name}Queue"), format!("{name}DeadLetterQueue"));
        notices(rule, &dead, |stack| stack.set(&dead, "/MessageRetentionPeriod", json!("345600")));
        notices(rule, &dead, |stack| stack.set(&queue, "/MessageRetentionPeriod", json!("1209600")));
        notices(rule, &dead, |stack| stack.set(&queue, "/FifoQueue", json!(true)));
        notices(rule, &dead, |stack| stack.set(&queue, "/QueueName", json!("ikkai-other")));
        notices(rule, &dead, |stack| stack.set(&dead, "/RedriveAllowPolicy/redrivePermission", json!("allowAll")));
        notices(rule, &dead, |stack| stack.set(&dead, "/MaximumMessageSize", json!("262144")));
        notices(rule, &queue, |stack| stack.drop_resource(&dead));
    }
}

#[test]
fn succeeded_records_outlive_every_copy_of_their_message() {
    let rule = queues::records_outlive_messages;
    holds(rule);
    for function in CONSUMERS
        .map(|name| format!("{name}ConsumerFunction"))
        .iter()
        .map(String::as_str)
        .chain(["ProducerApiFunction", "DlqRedriveFunction"])
    {
        let retention = variable("IKKAI_RECORD_RETENTION_SECONDS");
        notices(rule, function, |stack| stack.set(function, &retention, json!("1727999")));
        notices(rule, function, |stack| stack.remove(function, &retention));
    }
}

#[test]
fn every_queue_is_encrypted_and_refuses_requests_without_tls() {
    holds(queues::queues_are_encrypted);
    holds(queues::queues_demand_tls);
    let of_consumers = CONSUMERS.iter().flat_map(|name| [format!("{name}Queue"), format!("{name}DeadLetterQueue")]);
    for queue in of_consumers.chain(["SesFeedbackDeadLetterQueue".to_owned()]) {
        let policy = format!("{queue}Policy");
        notices(queues::queues_are_encrypted, &queue, |stack| stack.set(&queue, "/SqsManagedSseEnabled", json!(false)));
        notices(queues::queues_are_encrypted, &queue, |stack| stack.set(&queue, "/KmsMasterKeyId", json!("key")));
        notices(queues::queues_demand_tls, &queue, |stack| stack.drop_resource(&policy));
        let condition = "/PolicyDocument/Statement/0/Condition/Bool/aws:SecureTransport";
        notices(queues::queues_demand_tls, &queue, |stack| stack.set(&policy, condition, json!("true")));
        notices(queues::queues_demand_tls, &format!("{policy}: lets everybody in"), |stack| {
            stack.set(&policy, "/PolicyDocument/Statement/0/Effect", json!("Allow"));
        });
    }
}

#[test]
fn fifo_queues_keep_order_by_group_and_take_put_back_jobs() {
    let rule = queues::fifo_queues_keep_order_by_group;
    holds(rule);
    for queue in ORDERED.iter().flat_map(|name| [format!("{name}Queue"), format!("{name}DeadLetterQueue")]) {
        notices(rule, &queue, |stack| stack.set(&queue, "/FifoQueue", json!(true)));
        notices(rule, &queue, |stack| stack.set(&queue, "/QueueName", json!("ikkai-other.fifo")));
        notices(rule, &queue, |stack| stack.set(&queue, "/DeduplicationScope", json!("messageGroup")));
        for (property, value) in [
            ("FifoQueue", json!(false)),
            ("QueueName", json!("ikkai-other")),
            ("DeduplicationScope", json!("queue")),
            ("FifoThroughputLimit", json!("perQueue")),
            ("ContentBasedDeduplication", json!(true)),
        ] {
            notices_in(full_stack(), rule, &queue, |stack| stack.set(&queue, &format!("/{property}"), value));
        }
    }
    for name in ORDERED {
        let (queue, dead) = (format!("{name}Queue"), format!("{name}DeadLetterQueue"));
        let rule = queues::dead_letter_queues_suit_their_sources;
        notices_in(full_stack(), rule, &dead, |stack| stack.set(&dead, "/FifoQueue", json!(false)));
        notices_in(full_stack(), rule, &dead, |stack| stack.set(&queue, "/QueueName", json!("ikkai-other.fifo")));
    }
}

#[test]
fn a_queue_that_is_replaced_stays_with_its_messages() {
    let rule = queues::messages_outlive_a_change_of_queues;
    holds(rule);
    for queue in CONSUMERS.iter().flat_map(|name| [format!("{name}Queue"), format!("{name}DeadLetterQueue")]) {
        notices(rule, &queue, |stack| stack.remove_attribute(&queue, "UpdateReplacePolicy"));
    }
}

#[test]
fn services_that_send_to_a_queue_act_for_this_account() {
    let rule = queues::services_act_for_this_account;
    holds(rule);
    let condition = "/PolicyDocument/Statement/1/Condition";
    notices(rule, "ImageQueuePolicy", |stack| stack.remove("ImageQueuePolicy", condition));
    notices(rule, "ImageQueuePolicy", |stack| stack.remove("ImageQueuePolicy", &format!("{condition}/StringEquals")));
    notices(rule, "ImageQueuePolicy", |stack| stack.remove("ImageQueuePolicy", &format!("{condition}/ArnEquals")));
    notices(rule, "ImageQueuePolicy", |stack| {
        stack.set("ImageQueuePolicy", "/PolicyDocument/Statement/1/Action", json!("sqs:*"));
    });
}
