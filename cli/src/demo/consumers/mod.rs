//! The consumers: pictures, charges, reports, webhooks, bounces, each compared with something that the functions do not share.
//!
//! Pictures are read by Pillow, charges counted at a provider that others wrote, a report is added up again out of the table, a webhook's
//! signature checked by code of the receiver's own.

mod bounces;
mod charges;
mod outage;
mod pictures;
mod provider;
mod reports;
mod table;
mod webhooks;

pub(super) use self::provider::Provider;

use super::findings::{Findings, Missed};
use super::scene::{self, SceneOutcome};
use super::stage::Stage;

/// Plays every scene, side by side.
pub(super) async fn play(stage: &Stage<'_>) -> Vec<SceneOutcome> {
    let (asked, uploaded, paid, report, told, bounce, outage) = tokio::join!(
        pictures::asked_for(stage),
        pictures::uploaded(stage),
        charges::paid(stage),
        reports::over_an_account(stage),
        webhooks::told(stage),
        bounces::suppresses(stage),
        outage::outlived(stage),
    );
    vec![asked, uploaded, paid, report, told, bounce, outage]
}

/// The queues of the consumers, by the stack's outputs.
const QUEUES: [&str; 4] = ["ImageQueueName", "BillingQueueName", "ReportQueueName", "WebhookQueueName"];

/// Their dead-letter queues.
const DEAD_LETTER_QUEUES: [&str; 4] =
    ["ImageDeadLetterQueueName", "BillingDeadLetterQueueName", "ReportDeadLetterQueueName", "WebhookDeadLetterQueueName"];

/// What holds for all scenes together: nothing is left in a queue, and nothing died. Returns how many messages each dead-letter queue
/// holds.
pub(super) async fn settled(
    stage: &Stage<'_>,
    outcomes: &[SceneOutcome],
    checks: &mut Findings,
) -> Result<Vec<(String, usize)>, Missed> {
    // Where something went wrong already, nothing is waited for.
    let all_well = outcomes.iter().all(|outcome| outcome.findings.all_kept());
    let mut dead_letters = Vec::new();
    for stack in [&stage.stacks.main, &stage.stacks.long] {
        let name = |output: &&str| stack.outputs().get(*output).cloned().unwrap_or_default();
        for queue in QUEUES.iter().map(name) {
            if all_well {
                // What is left in the end is counted below.
                let empty = async || stack.queue_counts(&queue).await.is_ok_and(|counts| counts.all() == 0).then_some(());
                let _ = stage.eventually("the queue is empty", empty).await;
            }
            let counts = scene::works("the queues can be read", stack.queue_counts(&queue).await)?;
            checks.equal(&format!("messages left in {queue}"), counts.all(), 0);
        }
        for queue in DEAD_LETTER_QUEUES.iter().map(name) {
            let counts = scene::works("the queues can be read", stack.queue_counts(&queue).await)?;
            checks.equal(&format!("messages in {queue}"), counts.all(), 0);
            dead_letters.push((queue, counts.all()));
        }
    }
    Ok(dead_letters)
}
