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
// ikkai new consumer: module

pub(super) use self::provider::Provider;

use std::pin::Pin;

use futures::future::join_all;

use super::findings::{Findings, Missed};
use super::scene::{self, SceneOutcome};
use super::stage::Stage;
use crate::local::consumers::Consumer;

/// Plays every scene, side by side.
pub(super) async fn play(stage: &Stage<'_>) -> Vec<SceneOutcome> {
    let scenes: Vec<Pin<Box<dyn Future<Output = SceneOutcome> + '_>>> = vec![
        Box::pin(pictures::asked_for(stage)),
        Box::pin(pictures::uploaded(stage)),
        Box::pin(charges::paid(stage)),
        Box::pin(reports::over_an_account(stage)),
        Box::pin(webhooks::told(stage)),
        Box::pin(bounces::suppresses(stage)),
        Box::pin(outage::outlived(stage)),
        // ikkai new consumer: scene
    ];
    join_all(scenes).await
}

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
        // Mails are the jobs of the first section, which looks after their queues itself.
        let others = Consumer::ALL.iter().filter(|consumer| **consumer != Consumer::Email);
        let others: Vec<_> = others.map(|consumer| stack.consumer(*consumer)).collect();
        for queue in others.iter().map(|consumer| consumer.queue) {
            if all_well {
                // What is left in the end is counted below.
                let empty = async || stack.queue_counts(queue).await.is_ok_and(|counts| counts.all() == 0).then_some(());
                let _ = stage.eventually("the queue is empty", empty).await;
            }
            let counts = scene::works("the queues can be read", stack.queue_counts(queue).await)?;
            checks.equal(&format!("messages left in {queue}"), counts.all(), 0);
        }
        for queue in others.iter().map(|consumer| consumer.dead_letter_queue) {
            let counts = scene::works("the queues can be read", stack.queue_counts(queue).await)?;
            checks.equal(&format!("messages in {queue}"), counts.all(), 0);
            dead_letters.push((queue.to_owned(), counts.all()));
        }
    }
    Ok(dead_letters)
}
