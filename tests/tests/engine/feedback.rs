//! Bounces and complaints, as SES publishes them to the topic.

use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::job::JobId;
use ikkai_cli::local::proxy::tag_value;
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
        let log = std::fs::read_to_string(lab.aws.log()).expect("a log");
        assert!(log.contains("contact suppressed"), "the function's lines are in it");
        assert!(!log.lines().any(|line| line.starts_with('{') && line.to_lowercase().contains("ida@")), "without the address");
    });
}

#[test]
fn a_late_bounce_does_not_silence_the_address_that_the_user_gave_since() {
    on_engine(async |lab| {
        put_contact(lab, "user-moves", "old@example.com").await;
        let first = lab.post_mail("moves", "user-moves").await;
        lab.succeeded(&first).await;
        put_contact(lab, "user-moves", "new@example.com").await;
        told(lab, &about(BOUNCE, &first, "old@example.com")).await;
        // Behind it on the same way, about somebody who is marked: once that is done, this one is too.
        put_contact(lab, "user-behind", "behind@example.com").await;
        let behind = lab.post_mail("behind", "user-behind").await;
        lab.succeeded(&behind).await;
        told(lab, &about(BOUNCE, &behind, "behind@example.com")).await;
        lab.eventually("the later report is taken", async || reason(lab, "user-behind").await).await;
        lab.eventually("the earlier report is taken", async || {
            let log = std::fs::read_to_string(lab.aws.log()).expect("a log");
            log.lines().any(|line| line.contains("other_address") && line.contains(first.as_str())).then_some(())
        })
        .await;
        assert_eq!(reason(lab, "user-moves").await, None);
        let second = lab.post_mail("moved", "user-moves").await;
        lab.succeeded(&second).await;
        assert_eq!(lab.aws.proxy().effects_of(second.as_str()), 1);
    });
}
