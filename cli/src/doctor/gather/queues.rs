//! A queue's attributes.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

use super::gap::fact;
use super::queue_policy::refuses_plain_requests;
use crate::doctor::facts::{AllowPolicy, Encryption, Fact, Gap, QueueFacts, RedrivePolicy};

/// The queue of this name.
pub(super) async fn queue(client: &Client, name: &str) -> Fact<QueueFacts> {
    // The stack's outputs do not name it.
    if name.is_empty() {
        return Fact::Unknown(Gap::Missing);
    }
    let found = client.get_queue_url().queue_name(name).send().await;
    let url = match fact("sqs:GetQueueUrl", found) {
        Fact::Known(found) => found.queue_url.unwrap_or_default(),
        Fact::Unknown(gap) => return Fact::Unknown(gap),
    };
    let answer = client.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::All).send().await;
    fact("sqs:GetQueueAttributes", answer).map(|answer| read(&answer.attributes.unwrap_or_default()))
}

fn read(attributes: &HashMap<QueueAttributeName, String>) -> QueueFacts {
    let text = |name| attributes.get(&name).map_or("", String::as_str);
    let number = |name| text(name).parse().unwrap_or(0);
    let document = |name| serde_json::from_str(text(name)).unwrap_or(Value::Null);
    QueueFacts {
        arn: text(QueueAttributeName::QueueArn).to_owned(),
        fifo: text(QueueAttributeName::FifoQueue) == "true",
        visibility_seconds: number(QueueAttributeName::VisibilityTimeout),
        retention_seconds: number(QueueAttributeName::MessageRetentionPeriod),
        max_message_bytes: number(QueueAttributeName::MaximumMessageSize),
        redrive_policy: redrive_policy(&document(QueueAttributeName::RedrivePolicy)),
        allow_policy: allow_policy(&document(QueueAttributeName::RedriveAllowPolicy)),
        encryption: match (text(QueueAttributeName::KmsMasterKeyId), text(QueueAttributeName::SqsManagedSseEnabled)) {
            ("", "true") => Encryption::Sqs,
            ("", _) => Encryption::Nothing,
            _ => Encryption::Kms,
        },
        tls_only: refuses_plain_requests(&document(QueueAttributeName::Policy)),
        visible: number(QueueAttributeName::ApproximateNumberOfMessages),
        in_flight: number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
    }
}

fn redrive_policy(policy: &Value) -> Option<RedrivePolicy> {
    // Old policies, and some engines, have the number as a text.
    let count = &policy["maxReceiveCount"];
    let max_receive_count = count.as_u64().or_else(|| count.as_str()?.parse().ok())?;
    Some(RedrivePolicy { target_arn: policy["deadLetterTargetArn"].as_str()?.to_owned(), max_receive_count })
}

fn allow_policy(policy: &Value) -> AllowPolicy {
    let arns = policy["sourceQueueArns"].as_array().into_iter().flatten();
    match policy["redrivePermission"].as_str() {
        Some("denyAll") => AllowPolicy::None,
        Some("byQueue") => AllowPolicy::Queues(arns.filter_map(|arn| arn.as_str().map(str::to_owned)).collect()),
        _ => AllowPolicy::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(pairs: &[(QueueAttributeName, &str)]) -> QueueFacts {
        read(&pairs.iter().map(|(name, value)| (name.clone(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_redrive_policy_is_read_with_numbers_and_texts() {
        for count in ["6", "\"6\""] {
            let policy = format!(r#"{{"deadLetterTargetArn":"arn:aws:sqs:r:1:q-dlq","maxReceiveCount":{count}}}"#);
            let found = attributes(&[(QueueAttributeName::RedrivePolicy, &policy)]).redrive_policy.unwrap();
            assert_eq!((found.target_arn.as_str(), found.max_receive_count), ("arn:aws:sqs:r:1:q-dlq", 6));
        }
        assert_eq!(attributes(&[]).redrive_policy, None);
    }

    #[test]
    fn who_may_dead_letter_here_is_read() {
        let allow = |policy: &str| attributes(&[(QueueAttributeName::RedriveAllowPolicy, policy)]).allow_policy;
        assert_eq!(allow(""), AllowPolicy::All);
        assert_eq!(allow(r#"{"redrivePermission":"allowAll"}"#), AllowPolicy::All);
        assert_eq!(allow(r#"{"redrivePermission":"denyAll"}"#), AllowPolicy::None);
        assert_eq!(allow(r#"{"redrivePermission":"byQueue","sourceQueueArns":["a"]}"#), AllowPolicy::Queues(vec!["a".into()]));
    }

    #[test]
    fn every_kind_of_encryption_is_read() {
        assert_eq!(attributes(&[(QueueAttributeName::SqsManagedSseEnabled, "true")]).encryption, Encryption::Sqs);
        assert_eq!(attributes(&[(QueueAttributeName::SqsManagedSseEnabled, "false")]).encryption, Encryption::Nothing);
        assert_eq!(attributes(&[(QueueAttributeName::KmsMasterKeyId, "alias/k")]).encryption, Encryption::Kms);
    }
}
