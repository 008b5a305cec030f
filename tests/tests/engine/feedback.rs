//! Bounces and complaints, as SES publishes them to the topic.

use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::job::JobId;
use ikkai_cli::local::logs::LogReader;
use ikkai_cli::local::proxy::{Rule, tag_value};
use ikkai_cli::local::topics::publish;
use serde_json::{Value, json};

use crate::harness::{Lab, on_engine};

const BOUNCE: &str = include_str!("../../../functions/ses-feedback/tests/events/bounce.json");
const TRANSIENT: &str = include_str!("../../../functions/ses-feedback/tests/events/transient-bounce.json");
const OF_IDENTITY: &str = include_str!("../../../functions/ses-feedback/tests/events/identity-bounce.json");

/// A contact that no other test knows.
async fn put_contact(lab: &Lab, user: &str, address: &str) {
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let client = aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config());
    let put = client.put_item().table_name(lab.stack.contacts_table()).item("user_id", text(user)).item("email", text(address));
    put.send().await.expect("the table takes a contact");
}

async fn reason(lab: &Lab, user: &str) -> Option<String> {
    let client = aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config());
    let key = AttributeValue::S(user.to_owned());
    let found = client.get_item().table_name(lab.stack.contacts_table()).key("user_id", key).consistent_read(true).send().await;
    let item = found.expect("the table answers").item.expect("a contact");
    assert_eq!(item.contains_key("suppressed"), item.contains_key("suppressed_reason"), "both or none");
    item.get("suppressed_reason").and_then(|reason| reason.as_s().ok()).cloned()
}

/// A recorded event, about this job's mail.
fn about(event: &str, job_id: &JobId, address: &str) -> String {
    let mut event: Value = serde_json::from_str(event).expect("a recorded event");
    event["bounce"]["bouncedRecipients"][0]["emailAddress"] = address.into();
    event["bounce"]["feedbackId"] = format!("{job_id}-{}", event["bounce"]["bounceType"]).into();
    event["mail"]["destination"] = json!([address]);
    if event["mail"]["tags"].is_object() {
        event["mail"]["tags"]["ikkai-job"] = json!([tag_value(job_id.as_str())]);
    }
    event.to_string()
}

async fn told(lab: &Lab, event: &str) {
    publish(lab.aws.address(), lab.output("SesFeedbackTopicArn"), event).await.expect("the topic takes it");
}

#[test]
fn a_mail_that_bounces_for_good_is_the_last_to_its_address() {
    on_engine(async |lab| {
        put_contact(lab, "user-bounces", "ida@example.com").await;
        let first = lab.post_mail("bounces", "user-bounces").await;
        lab.succeeded(&first).await;
        assert_eq!(lab.aws.proxy().effects_of(first.as_str()), 1);

        // What suppresses nobody comes before it, and the bounce itself twice.
        for event in [TRANSIENT, OF_IDENTITY, BOUNCE, BOUNCE] {
            told(lab, &about(event, &first, "Ida@Example.com")).await;
        }
        lab.eventually("the contact is suppressed", async || reason(lab, "user-bounces").await).await;
        assert_eq!(reason(lab, "user-bounces").await.as_deref(), Some("bounce"));

        let second = lab.post_mail("after-bounce", "user-bounces").await;
        assert_eq!(lab.succeeded(&second).await.result, Some(json!({"suppressed": true})));
        assert_eq!(lab.aws.proxy().effects_of(second.as_str()), 0);
        let log = LogReader::new(lab.aws.address(), lab.output("SesFeedbackFunctionName")).next().await.expect("a log");
        assert!(log.iter().any(|line| line.message.contains("contact suppressed")), "the function's lines are in it: {log:?}");
        assert!(!log.iter().any(|line| line.message.to_lowercase().contains("ida@")), "without the address");
    });
}

#[test]
fn a_late_bounce_does_not_silence_the_address_that_the_user_gave_since() {
    on_engine(async |lab| {
        put_contact(lab, "user-moves", "old@example.com").await;
        let first = lab.post_mail("moves", "user-moves").await;
        lab.succeeded(&first).await;
        put_contact(lab, "user-moves", "new@example.com").await;
        let calls = |operation: &str| Rule::on(operation).target(lab.stack.contacts_table()).text("user-moves");
        let (read, written) = (lab.aws.proxy().add(calls("dynamodb.GetItem")), lab.aws.proxy().add(calls("dynamodb.UpdateItem")));
        told(lab, &about(BOUNCE, &first, "old@example.com")).await;
        read.arrived().await;
        let second = lab.post_mail("moved", "user-moves").await;
        lab.succeeded(&second).await;
        assert_eq!(lab.aws.proxy().effects_of(second.as_str()), 1);
        assert_eq!((written.hits(), reason(lab, "user-moves").await), (0, None));
        read.remove();
    });
}
