//! The end of a batch, message by message: completion events, renewals, visibility, and the report.

mod events;
mod renewal;

use std::collections::HashSet;

use aws_lambda_events::sqs::SqsBatchResponse;

use super::batch::{BatchError, Invocation};
use super::completion::Completion;
use super::core::Core;
use super::entry::Entry;
use super::handler::Handler;
use super::outcome::{Disposition, Outcome};
use super::received::Received;
use crate::clock::EpochMillis;
use crate::job::JobId;
use crate::queue::VisibilityChange;

/// What became of one job of the batch.
#[derive(Debug)]
pub(super) struct Settled {
    /// Its place in the batch.
    pub(super) entry: usize,
    /// As far as the message was understood.
    pub(super) job_id: Option<JobId>,
    pub(super) outcome: Outcome,
    /// What its caller is told, if anything.
    pub(super) completion: Option<Completion>,
    /// What the outcome means for its message.
    pub(super) disposition: Disposition,
    pub(super) follows: Follows,
    /// When that was decided.
    pub(super) at: EpochMillis,
}

/// Whether a job comes behind a failed one of its FIFO group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Nobody,
    FailedHead,
}

/// Everything that is left to do once all jobs are settled.
pub(super) struct Closing<'a, H: Handler> {
    core: &'a Core<H>,
    received: &'a [Received],
    entries: &'a [Entry],
    settled: Vec<Settled>,
    answer_by: EpochMillis,
}

/// A message all of whose jobs have a verdict.
struct Folded<'a> {
    /// Its place in the batch.
    message: usize,
    jobs: Vec<&'a Settled>,
    disposition: Disposition,
    follows: Follows,
}

impl<'a, H: Handler> Closing<'a, H> {
    pub(super) fn new(
        core: &'a Core<H>,
        received: &'a [Received],
        entries: &'a [Entry],
        mut settled: Vec<Settled>,
        answer_by: EpochMillis,
    ) -> Self {
        settled.sort_by_key(|settled| settled.entry);
        Self { core, received, entries, settled, answer_by }
    }

    pub(super) async fn close(mut self, invocation: &Invocation) -> Result<SqsBatchResponse, BatchError> {
        self.tell_callers(invocation).await;
        let mut messages = self.fold();
        self.renew(&mut messages, invocation).await;
        let failed: Vec<&Folded<'_>> =
            messages.iter().filter(|message| message.disposition != Disposition::Acknowledge).collect();
        self.set_visibility(&failed).await;
        let started = self.settled.iter().filter(|settled| settled.outcome.is_transient_failure()).count();
        if self.all_failed(&failed, started) {
            return Err(BatchError::AllFailed { started });
        }
        let mut response = SqsBatchResponse::default();
        // Whatever has no verdict is not known to be done.
        let silent = (0..self.received.len()).filter(|index| !messages.iter().any(|message| message.message == *index));
        // Equal ids over different bodies are two messages here and one for SQS.
        let mut reported = HashSet::new();
        for index in failed.iter().map(|message| message.message).chain(silent) {
            let message_id = &self.received[index].message_id;
            if reported.insert(message_id) {
                response.add_failure(message_id.clone());
            }
        }
        Ok(response)
    }

    fn message_of(&self, job: &Settled) -> &Received {
        &self.received[self.entries[job.entry].message]
    }

    /// One verdict a message out of those on its jobs. A message with a job that has none is left out.
    fn fold(&self) -> Vec<Folded<'_>> {
        let mut settled = self.settled.iter().peekable();
        let mut messages = Vec::with_capacity(self.received.len());
        for (message, entries) in self.entries.chunk_by(|one, next| one.message == next.message).enumerate() {
            let jobs: Vec<_> = std::iter::from_fn(|| settled.next_if(|job| self.entries[job.entry].message == message)).collect();
            if jobs.len() == entries.len()
                && let Some((disposition, follows)) = fold(&jobs)
            {
                messages.push(Folded { message, jobs, disposition, follows });
            }
        }
        messages
    }

    /// Followers in a FIFO group first, so that none of them is ever invisible for longer than its head.
    async fn set_visibility(&self, failed: &[&Folded<'_>]) {
        for follows in [Follows::FailedHead, Follows::Nobody] {
            let now = self.core.clock.now();
            let messages = failed.iter().filter(|message| message.follows == follows);
            let changes: Vec<_> = messages.filter_map(|message| self.visibility(message, now)).collect();
            self.core.change_visibility(&changes, self.answer_by).await;
        }
    }

    /// SQS counts from the call, so what is left of the wait is what it is told, rounded up to whole seconds there: whatever a job waits for,
    /// its message never comes out before, which would cost a receive for nothing.
    fn visibility(&self, message: &Folded<'_>, now: EpochMillis) -> Option<VisibilityChange> {
        let due = match message.disposition {
            Disposition::ComeBack(due) | Disposition::ToDeadLetterQueue(due) => due,
            Disposition::Acknowledge | Disposition::Leave => return None,
        };
        let receipt_handle = self.received[message.message].receipt_handle.clone()?;
        Some(VisibilityChange { receipt_handle, visible_in: due.since(now) })
    }

    /// Nothing to acknowledge, and everything that was started failed in a way that may go away.
    fn all_failed(&self, failed: &[&Folded<'_>], started: usize) -> bool {
        self.core.settings.error_when_all_fail
            && failed.len() == self.received.len()
            && started > 0
            && self.settled.iter().all(|settled| {
                settled.outcome.is_transient_failure() || matches!(settled.outcome, Outcome::NotStarted | Outcome::CircuitOpen(_))
            })
    }
}

/// The verdict on a message. Jobs that wait behind a failed one of the same message come back with it and do not hurry it.
fn fold(jobs: &[&Settled]) -> Option<(Disposition, Follows)> {
    let of = |follows| jobs.iter().filter(move |job| job.follows == follows).map(|job| job.disposition).reduce(Disposition::with);
    match (of(Follows::Nobody), of(Follows::FailedHead)) {
        (Some(Disposition::Acknowledge) | None, Some(followers)) => Some((followers, Follows::FailedHead)),
        (Some(heads), _) => Some((heads, Follows::Nobody)),
        (None, None) => None,
    }
}
