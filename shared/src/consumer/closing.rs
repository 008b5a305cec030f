//! The end of a batch: renewals, visibility, and the report.

use std::collections::HashSet;

use aws_lambda_events::sqs::SqsBatchResponse;

use super::batch::{BatchError, Invocation};
use super::core::Core;
use super::handler::Handler;
use super::outcome::{Disposition, Outcome};
use super::received::Received;
use super::report;
use crate::clock::EpochMillis;
use crate::idempotency::PUT_BACK_MARGIN;
use crate::job::JobId;
use crate::queue::{VisibilityChange, copy_of, send_all};

/// What became of one record of the batch.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) index: usize,
    /// As far as the message was understood.
    pub(super) job_id: Option<JobId>,
    pub(super) outcome: Outcome,
    pub(super) follows: Follows,
    /// When that was decided.
    pub(super) at: EpochMillis,
}

/// Whether a record comes behind a failed one of its FIFO group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Nobody,
    FailedHead,
}

/// Everything that is left to do once all records are settled.
pub(super) struct Closing<'a, H: Handler> {
    core: &'a Core<H>,
    received: &'a [Received],
    settled: Vec<Settled>,
    answer_by: EpochMillis,
}

impl<'a, H: Handler> Closing<'a, H> {
    pub(super) fn new(core: &'a Core<H>, received: &'a [Received], mut settled: Vec<Settled>, answer_by: EpochMillis) -> Self {
        settled.sort_by_key(|settled| settled.index);
        Self { core, received, settled, answer_by }
    }

    pub(super) async fn close(self, invocation: &Invocation) -> Result<SqsBatchResponse, BatchError> {
        let renewed = self.renew(invocation).await;
        let failed: Vec<&Settled> = self
            .settled
            .iter()
            .filter(|settled| settled.outcome.disposition() != Disposition::Acknowledge && !renewed.contains(&settled.index))
            .collect();
        self.set_visibility(&failed).await;
        let started = self.settled.iter().filter(|settled| settled.outcome.is_transient_failure()).count();
        if self.all_failed(&failed, started) {
            return Err(BatchError::AllFailed { started });
        }
        let mut response = SqsBatchResponse::default();
        // Whatever has no verdict is not known to be done.
        let silent = (0..self.received.len()).filter(|index| !self.settled.iter().any(|settled| settled.index == *index));
        // SQS may deliver a message twice in one batch; it is reported once.
        let mut reported = HashSet::new();
        for index in failed.iter().map(|settled| settled.index).chain(silent) {
            let message_id = &self.received[index].message_id;
            if reported.insert(message_id) {
                response.add_failure(message_id.clone());
            }
        }
        Ok(response)
    }

    /// Messages that want to come back and whose receives run low are sent again as fresh copies; a copy that is confirmed lets its
    /// original go. FIFO queues have no renewal: a copy would lose its place.
    async fn renew(&self, invocation: &Invocation) -> Vec<usize> {
        if self.core.is_fifo() {
            return Vec::new();
        }
        // Visibility has to be set afterwards: renewals may use two thirds of what is left.
        let patience = self.core.patience(self.answer_by) * 2 / 3;
        let wanted = self.settled.iter().filter_map(|settled| match settled.outcome.disposition() {
            Disposition::ComeBack(after) if self.core.receives_run_low(self.received[settled.index].receive_count) => {
                Some((settled, after))
            }
            _ => None,
        });
        let allowed = wanted.map(|(settled, after)| async move {
            let asked = tokio::time::timeout(patience / 2, self.may_be_renewed(settled)).await;
            // An outage of the table must not send jobs to the DLQ that were never tried.
            asked.unwrap_or(true).then_some((settled.index, after))
        });
        let renewals: Vec<_> = futures::future::join_all(allowed).await.into_iter().flatten().collect();
        if renewals.is_empty() {
            return Vec::new();
        }
        let copies: Vec<_> = renewals.iter().map(|(index, after)| copy_of(&self.received[*index].message, *after)).collect();
        let Ok(verdicts) = tokio::time::timeout(patience / 2, send_all(self.core.queue.as_ref(), &copies)).await else {
            tracing::warn!(error = "no answer in time", "renewal failed");
            return Vec::new();
        };
        let mut renewed = Vec::new();
        for ((index, _), verdict) in renewals.into_iter().zip(verdicts) {
            report::renewed(self.core, &self.received[index], &verdict, invocation);
            if verdict.is_ok() {
                renewed.push(index);
            }
        }
        renewed
    }

    /// A copy is younger than its original. Of a job that died in the meantime it would look like a put-back, so a message whose
    /// record was not asked in this receive, or a good while ago in a long batch, is not copied before the record says that the job
    /// still waits.
    async fn may_be_renewed(&self, settled: &Settled) -> bool {
        let is_fresh = settled.at + PUT_BACK_MARGIN / 2 > self.core.clock.now();
        if is_fresh && !settled.outcome.left_record_unread() {
            return true;
        }
        let Some(job_id) = &settled.job_id else { return false };
        match self.core.ledger.get(job_id).await {
            Ok(record) => record.is_none_or(|record| !record.status.is_final()),
            // An outage of the table must not send jobs to the DLQ that were never tried.
            Err(_) => true,
        }
    }

    /// Followers in a FIFO group first, so that none of them is ever invisible for longer than its head.
    async fn set_visibility(&self, failed: &[&Settled]) {
        let change = |settled: &&&Settled| {
            let visible_in = match settled.outcome.disposition() {
                Disposition::ComeBack(after) => after,
                Disposition::ToDeadLetterQueue => std::time::Duration::ZERO,
                Disposition::Acknowledge | Disposition::Leave => return None,
            };
            let receipt_handle = self.received[settled.index].receipt_handle.clone()?;
            Some(VisibilityChange { receipt_handle, visible_in })
        };
        let followers: Vec<_> = failed
            .iter()
            .filter(|settled| settled.follows == Follows::FailedHead)
            .filter_map(|settled| change(&settled))
            .collect();
        let heads: Vec<_> =
            failed.iter().filter(|settled| settled.follows == Follows::Nobody).filter_map(|settled| change(&settled)).collect();
        self.core.change_visibility(&followers, self.answer_by).await;
        self.core.change_visibility(&heads, self.answer_by).await;
    }

    /// Nothing to acknowledge, and everything that was started failed in a way that may go away.
    fn all_failed(&self, failed: &[&Settled], started: usize) -> bool {
        self.core.settings.error_when_all_fail
            && failed.len() == self.received.len()
            && started > 0
            && self.settled.iter().all(|settled| {
                settled.outcome.is_transient_failure() || matches!(settled.outcome, Outcome::NotStarted | Outcome::CircuitOpen(_))
            })
    }
}
