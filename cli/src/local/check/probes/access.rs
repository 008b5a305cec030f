//! Who may do what.

use aws_sdk_sqs::config::Credentials;
use aws_sdk_sqs::types::QueueAttributeName;
use futures::FutureExt;

use crate::local::check::finding::Finding;
use crate::local::check::lab::Lab;
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Doing, Trouble, part};

pub(super) const PROBES: [Probe; 1] = [Probe {
    id: "iam-enforcement",
    group: "permissions",
    feature: "policies of roles",
    aws: "What no policy of a role allows is refused with AccessDenied.",
    source: "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html",
    needs: Needs::Function,
    run: |lab| enforcement(lab).boxed_local(),
}];

async fn enforcement(lab: &Lab) -> Result<Finding, Trouble> {
    let role = lab.worker().await?.narrow_role.clone();
    let queue = lab.queue("access", Vec::new()).await?;
    // A new role cannot be assumed everywhere at once.
    let assumed = lab
        .eventually("a role to be assumed", async || {
            let call = lab.clients.sts.assume_role().role_arn(&role).role_session_name("ikkai-check");
            match call.send().await.doing("AssumeRole") {
                Err(trouble) if trouble.code() == Some("AccessDenied") => Ok(None),
                answer => answer.map(Some),
            }
        })
        .await?;
    let given = part(assumed.credentials, "AssumeRole", "credentials")?;
    let credentials =
        Credentials::new(given.access_key_id, given.secret_access_key, Some(given.session_token), None, "ikkai-check");
    let narrow = lab.clients.queues_as(credentials);
    let allowed = narrow.get_queue_attributes().queue_url(&queue.url).attribute_names(QueueAttributeName::QueueArn).send().await;
    if let Err(trouble) = allowed.doing("GetQueueAttributes") {
        return Ok(Finding::differs(format!("what the role allows was refused: {trouble}")));
    }
    match narrow.send_message().queue_url(&queue.url).message_body("not allowed").send().await.doing("SendMessage") {
        Ok(_) => Ok(Finding::differs("a call that no policy allows was carried out")),
        Err(trouble) if trouble.is_refusal() => {
            Ok(Finding::as_aws(format!("one action was allowed, another refused with {}", trouble.code().unwrap_or("no code"))))
        }
        Err(trouble) => Err(trouble),
    }
}
