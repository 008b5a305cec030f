//! Runs: putting messages back, and removing them, in bounded parts that can be repeated.
//!
//! ```text
//! order ─▶ admission: run id, locks, move tasks, snapshot
//!              └─▶ part: queue by queue, page by page ─▶ canary, what comes back, checkpoint
//!                     ├─▶ jobs without a message
//!                     └─▶ closing: finished, stopped, or to be continued by cursor
//! ```
//!
//! A message is sent before it is deleted, and deleted only when its sending was confirmed: whatever breaks in between leaves a
//! copy too many of the same job, never one too few.

mod admission;
mod canary;
mod closing;
mod deleting;
mod discarding;
mod drafts;
mod order;
mod pace;
mod page;
mod part;
mod patch;
mod preparing;
mod progress;
mod putting_back;
mod rebuilt;
mod recording;
mod returned;
mod sending;

use self::admission::Admitted;
use self::order::Order;
pub(crate) use self::rebuilt::may_be_on_its_way;
use crate::protocol::{Discard, DiscardAnswer, Redrive, RedriveAnswer, Refusal};
use crate::workbench::{Invocation, Workbench};

/// Puts messages back into the queues that they came from.
///
/// # Errors
/// Why nothing was done. What happened to single messages stands in their verdicts.
pub async fn redrive(workbench: &Workbench, request: &Redrive, invocation: &Invocation) -> Result<RedriveAnswer, Refusal> {
    let order = Order::redrive(request, &workbench.queues)?;
    perform(workbench, &order, invocation).await
}

/// Archives messages with their records, and removes them; their jobs count as cancelled.
///
/// # Errors
/// Why nothing was done. What happened to single messages stands in their verdicts.
pub async fn discard(workbench: &Workbench, request: &Discard, invocation: &Invocation) -> Result<DiscardAnswer, Refusal> {
    let order = Order::discard(request, &workbench.queues)?;
    let run = perform(workbench, &order, invocation).await?;
    Ok(DiscardAnswer { run, archive: workbench.archive.place("") })
}

async fn perform(workbench: &Workbench, order: &Order, invocation: &Invocation) -> Result<RedriveAnswer, Refusal> {
    match admission::admit(workbench, order, invocation).await? {
        Admitted::Before(answer) => Ok(*answer),
        Admitted::Now(mut part) => {
            let outcome = part.work().await;
            part.close(outcome).await
        }
    }
}
