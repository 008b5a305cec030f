//! A mail bounces, and nothing more is sent to its address.

use serde_json::Value;

use super::super::findings::Missed;
use super::super::scene::{Scene, SceneOutcome, works};
use super::super::stage::{Stage, welcome};
use crate::local::proxy::tag_value;
use crate::local::topics::publish;

/// A bounce as SES publishes it.
const BOUNCE: &str = include_str!("../../../../functions/ses-feedback/tests/events/bounce.json");

const USER: &str = "user-34";
const ADDRESS: &str = "margaret@example.com";

/// The first mail goes out and bounces; the second is not sent.
pub(super) async fn suppresses(stage: &Stage<'_>) -> SceneOutcome {
    let scene = Scene::new(stage, &stage.stacks.main, "bounce");
    scene
        .play(async |scene, notes| {
            let first = scene.post("bounces", &welcome(USER, "bounces")).await?;
            scene.succeeded(&first).await?;
            notes.findings.equal("mails before the bounce", stage.mailbox(Some(ADDRESS)).await?, 1);

            let topic = scene.output("SesFeedbackTopicArn")?;
            works("SES publishes the bounce", publish(stage.aws.address(), topic, &bounce(first.as_str())).await)?;
            scene.line.note("the mail bounced");
            let suppressed = async || contact(scene).await.filter(|contact| contact["suppressed"] == true);
            let contact = stage.eventually("the contact is suppressed", suppressed).await?;
            notes.findings.equal("reason", contact["suppressed_reason"].as_str(), Some("bounce"));

            let second = scene.post("after-bounce", &welcome(USER, "after-bounce")).await?;
            let record = scene.succeeded(&second).await?;
            notes.findings.equal("result of the next mail", record.result, Some(serde_json::json!({"suppressed": true})));
            let mails = stage.mailbox(Some(ADDRESS)).await?;
            notes.findings.equal("mails after it", mails, 1);
            notes.figure("mailsAfterTheBounce", mails.saturating_sub(1));
            Ok("bounced, contact suppressed, next mail not sent".to_owned())
        })
        .await
}

/// The recorded bounce, about this mail.
fn bounce(job_id: &str) -> String {
    let mut bounce: Value = serde_json::from_str(BOUNCE).unwrap_or_default();
    bounce["bounce"]["bouncedRecipients"][0]["emailAddress"] = ADDRESS.into();
    bounce["mail"]["destination"][0] = ADDRESS.into();
    bounce["mail"]["tags"]["ikkai-job"][0] = tag_value(job_id).into();
    bounce.to_string()
}

/// The contact's marks.
async fn contact(scene: &Scene<'_>) -> Option<Value> {
    let client = aws_sdk_dynamodb::Client::new(&scene.stage.aws.sdk_config());
    let key = aws_sdk_dynamodb::types::AttributeValue::S(USER.to_owned());
    let found = client.get_item().table_name(scene.stack.contacts_table()).key("user_id", key).consistent_read(true).send().await;
    let item = found.map_err(|error| Missed { what: "the contact can be read".into(), found: error.to_string() }).ok()?.item?;
    Some(serde_json::json!({
        "suppressed": item.get("suppressed").and_then(|value| value.as_bool().ok()),
        "suppressed_reason": item.get("suppressed_reason").and_then(|value| value.as_s().ok()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_bounce_becomes_one_about_this_mail() {
        let bounce: Value = serde_json::from_str(&bounce("email.send-abc")).unwrap();
        assert_eq!((&bounce["eventType"], &bounce["bounce"]["bounceType"]), (&"Bounce".into(), &"Permanent".into()));
        assert_eq!(bounce["mail"]["tags"]["ikkai-job"], serde_json::json!(["email_send-abc"]));
        assert_eq!(bounce["bounce"]["bouncedRecipients"][0]["emailAddress"], ADDRESS);
        assert_eq!(bounce["mail"]["destination"], serde_json::json!([ADDRESS]));
    }
}
