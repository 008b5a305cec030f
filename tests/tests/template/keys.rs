//! The key that everything is under.

use ikkai_tests::template::rules::keys;
use serde_json::json;

use crate::stacks::{KEY, full_stack, holds, notices, notices_in, remove_from_statement, set_in_statement};

/// Resources with the place of their key.
const UNDER_IT: [(&str, &str); 6] = [
    ("EmailDeadLetterQueue", "/KmsMasterKeyId"),
    ("JobsTable", "/SSESpecification/KMSMasterKeyId"),
    ("ReportsBucket", "/BucketEncryption/ServerSideEncryptionConfiguration/0/ServerSideEncryptionByDefault/KMSMasterKeyID"),
    ("SesFeedbackTopic", "/KmsMasterKeyId"),
    ("HttpApiLogGroup", "/KmsKeyId"),
    ("PaymentSecret", "/KmsKeyId"),
];

#[test]
fn with_a_key_everything_is_under_it_and_without_one_nothing_is() {
    let rule = keys::everything_is_under_the_key;
    holds(rule);
    for (resource, place) in UNDER_IT {
        notices_in(full_stack(), rule, resource, |stack| stack.remove(resource, place));
        notices_in(full_stack(), rule, resource, |stack| stack.set(resource, place, json!(KEY.replace("0f3a", "ffff"))));
    }
    for (resource, place) in [("EmailQueue", "/KmsMasterKeyId"), ("PaymentSecret", "/KmsKeyId")] {
        notices(rule, "EmailDeadLetterQueue", |stack| stack.set(resource, place, json!(KEY)));
    }
    notices_in(full_stack(), rule, "JobsTable", |stack| stack.remove("JobsTable", "/SSESpecification/SSEType"));
    let bucket_key = "/BucketEncryption/ServerSideEncryptionConfiguration/0/BucketKeyEnabled";
    notices_in(full_stack(), rule, "AssetsBucket", |stack| stack.set("AssetsBucket", bucket_key, json!(false)));
}

#[test]
fn functions_may_use_that_key_alone() {
    let rule = keys::everything_is_under_the_key;
    for role in ["ProducerApiRole", "EmailConsumerRole", "SesFeedbackRole", "DlqRedriveRole"] {
        let function = role.replace("Role", "Function");
        notices_in(full_stack(), rule, &function, |stack| set_in_statement(stack, role, "Key", "/Resource", json!("*")));
        notices_in(full_stack(), rule, &function, |stack| set_in_statement(stack, role, "Key", "/Action", json!("kms:Decrypt")));
        notices_in(full_stack(), rule, &function, |stack| {
            set_in_statement(stack, role, "Key", "/Action/0", json!("kms:CreateGrant"));
        });
        notices_in(full_stack(), rule, &function, |stack| remove_from_statement(stack, role, "Key", "/Action"));
        notices(rule, &function, |stack| {
            set_in_statement(stack, role, "OwnLogs", "/Action", json!(["kms:Decrypt"]));
        });
    }
}
