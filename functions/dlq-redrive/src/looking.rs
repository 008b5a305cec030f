//! Looking at a dead-letter queue without using it up: every message is read with its records, and all of them are released at the end.

use std::ops::ControlFlow;
use std::time::Duration;

use futures::future::join_all;
use ikkai::queue::MAX_ENTRIES;

use crate::dead_letter::DeadLetter;
use crate::protocol::Refusal;
use crate::queues::StackQueue;
use crate::sweep::{Sweep, SweepRules};
use crate::workbench::{Invocation, Workbench};

/// A look that is cut off leaves its messages hidden for no longer than this and [`HIDDEN_A_MESSAGE`].
const HIDDEN_AT_LEAST: Duration = Duration::from_secs(30);

/// A look takes some thirty milliseconds for ten messages and their records.
const HIDDEN_A_MESSAGE: Duration = Duration::from_millis(20);

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Messages that were looked at.
    pub(crate) count: u64,
    /// Whether there may be more.
    pub(crate) more: bool,
}

impl Workbench {
    /// Shows `see` every message of a dead-letter queue, at most `most` of them, until it has seen enough, the queue gives no more, or the
    /// invocation has to come to its end.
    ///
    /// A FIFO queue gives out no further message of a group of which some are hidden
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html>): of each group a
    /// look sees what one receive brings.
    ///
    /// # Errors
    /// When the queue or the jobs table does not answer. What was taken is released all the same.
    pub(crate) async fn look_through(
        &self,
        queue: &StackQueue,
        most: usize,
        invocation: &Invocation,
        see: impl FnMut(DeadLetter) -> ControlFlow<()>,
    ) -> Result<Seen, Refusal> {
        let depth = queue.dead_letters.depth().await;
        let depth = depth.map_err(|error| Refusal::of_queue(&queue.dead_letter_queue_name, &error))?;
        let mut sweep = Sweep::new(queue.dead_letters.as_ref(), self.rules_of_look(most, invocation));
        let looked = self.look(&mut sweep, queue, most, invocation, see).await;
        let count = u64::try_from(sweep.seen()).unwrap_or(u64::MAX);
        sweep.release().await;
        looked.map(|end| Seen { count, more: end == End::CutOff || depth.total() > count })
    }

    async fn look(
        &self,
        sweep: &mut Sweep<'_>,
        queue: &StackQueue,
        most: usize,
        invocation: &Invocation,
        mut see: impl FnMut(DeadLetter) -> ControlFlow<()>,
    ) -> Result<End, Refusal> {
        loop {
            let left = most.saturating_sub(sweep.seen()).min(MAX_ENTRIES);
            if left == 0 || self.clock.now() + self.limits.reserve >= invocation.deadline {
                return Ok(End::CutOff);
            }
            let page = sweep.next(left).await;
            let page = page.map_err(|error| Refusal::of_queue(&queue.dead_letter_queue_name, &error))?;
            if page.is_empty() {
                return Ok(End::Empty);
            }
            page.iter().for_each(|message| sweep.leave(message));
            let read = page.into_iter().map(|message| DeadLetter::read(message, queue, self.records.as_ref()));
            for letter in join_all(read).await {
                if see(letter?).is_break() {
                    return Ok(End::CutOff);
                }
            }
        }
    }

    /// Hidden for as long as the look may take, and never beyond the invocation.
    fn rules_of_look(&self, most: usize, invocation: &Invocation) -> SweepRules {
        let needed = HIDDEN_AT_LEAST + HIDDEN_A_MESSAGE.saturating_mul(u32::try_from(most).unwrap_or(u32::MAX));
        let left = invocation.deadline.since(self.clock.now()).max(HIDDEN_AT_LEAST);
        SweepRules { hidden_for: needed.min(left).min(self.limits.sweep.hidden_for), ..self.limits.sweep }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The queue gave no more.
    Empty,
    /// Enough was seen, or the time was over.
    CutOff,
}
