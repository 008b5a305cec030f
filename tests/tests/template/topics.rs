//! Topics.

use ikkai_tests::template::rules::topics;
use serde_json::json;

use crate::stacks::{holds, notices};

const POLICY: &str = "SesFeedbackTopicPolicy";

#[test]
fn topics_take_messages_of_one_service_for_this_account_over_tls() {
    let rule = topics::topics_are_closed;
    holds(rule);
    notices(rule, "SesFeedbackTopic", |stack| stack.drop_resource(POLICY));
    notices(rule, "SesFeedbackTopic", |stack| {
        stack.set(POLICY, "/PolicyDocument/Statement/0/Condition/Bool/aws:SecureTransport", json!("true"));
    });
    notices(rule, POLICY, |stack| stack.set(POLICY, "/PolicyDocument/Statement/1/Principal", json!("*")));
    notices(rule, POLICY, |stack| stack.remove(POLICY, "/PolicyDocument/Statement/1/Condition"));
    notices(rule, POLICY, |stack| stack.set(POLICY, "/PolicyDocument/Statement/1/Action", json!("sns:Subscribe")));
}

#[test]
fn what_a_function_of_a_topic_gives_up_on_is_kept() {
    let rule = topics::failures_are_kept;
    holds(rule);
    notices(rule, "SesFeedbackFunction", |stack| stack.remove("SesFeedbackFunction", "/DeadLetterConfig"));
    notices(rule, "SesFeedbackFunction", |stack| stack.drop_resource("SesFeedbackDeadLetterQueue"));
    notices(rule, "SesFeedbackDeadLetterQueue", |stack| {
        stack.set("SesFeedbackDeadLetterQueue", "/MessageRetentionPeriod", json!("345600"));
    });
}
