//! Least privilege: roles and code.

use ikkai_tests::template::rules::permissions;
use serde_json::json;

use crate::stacks::{full_stack, holds, notices, notices_in, set_in_statement};

#[test]
fn roles_allow_what_the_code_calls_and_nothing_else() {
    let rule = permissions::actions_are_those_that_the_code_uses;
    holds(rule);
    for (role, sid, binary) in [
        ("ProducerApiRole", "Enqueue", "producer-api"),
        ("EmailConsumerRole", "OwnQueue", "email-consumer"),
        ("ImageConsumerRole", "Outputs", "image-consumer"),
        ("BillingConsumerRole", "PaymentKey", "billing-consumer"),
        ("ReportConsumerRole", "Drafts", "report-consumer"),
        ("WebhookConsumerRole", "SigningSecret", "webhook-consumer"),
        ("SesFeedbackRole", "Contacts", "ses-feedback"),
        ("DlqRedriveRole", "Runs", "dlq-redrive"),
    ] {
        let function = role.replace("Role", "Function");
        // Both at once: what the statement allowed is missing, and what nobody calls is there.
        for said in [format!("{function}: {binary} calls "), format!("{function}: sqs:TagQueue is allowed and {binary} never")] {
            notices(rule, &said, |stack| set_in_statement(stack, role, sid, "/Action", json!("sqs:TagQueue")));
        }
    }
    // Of others it is allowed.
    notices(rule, "ProducerApiFunction: sqs:ReceiveMessage", |stack| {
        set_in_statement(stack, "ProducerApiRole", "Enqueue", "/Action/0", json!("sqs:ReceiveMessage"));
    });
    notices_in(full_stack(), rule, "EmailConsumerFunction: kms:Encrypt", |stack| {
        set_in_statement(stack, "EmailConsumerRole", "Key", "/Action/0", json!("kms:Encrypt"));
    });
}
