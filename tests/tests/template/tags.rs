//! Tags.

use ikkai_tests::template::rules::tags;
use serde_json::json;

use crate::stacks::{holds, notices};

#[test]
fn everything_says_who_answers_for_it_and_what_it_is_for() {
    let rule = tags::everything_has_its_tags;
    holds(rule);
    for resource in [
        "EmailQueue",
        "JobsTable",
        "AssetsBucket",
        "EmailConsumerRole",
        "DlqRedriveFunction",
        "ProducerApiLogGroup",
        "WebhookSecret",
    ] {
        notices(rule, resource, |stack| stack.remove(resource, "/Tags"));
        notices(rule, resource, |stack| stack.remove(resource, "/Tags/1"));
        notices(rule, resource, |stack| stack.set(resource, "/Tags/1/Value", json!("somebody else")));
    }
    for resource in ["HttpApi", "HttpApiStage"] {
        notices(rule, resource, |stack| stack.remove(resource, "/Tags/Owner"));
    }
}
