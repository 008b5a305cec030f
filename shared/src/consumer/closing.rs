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
use crate::idempotency::{PUT_BACK_MARGIN, Status, was_put_back};
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

/// What becomes of a message that cannot come back much more often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// A fresh copy takes its place.
    Copy,
    /// Its job is done or was taken back.
    LetGo,
    /// It is reported as failed.
    Report,
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
        let let_go = self.renew(invocation).await;
        let failed: Vec<&Settled> = self
            .settled
            .iter()
            .filter(|settled| settled.outcome.disposition() != Disposition::Acknowledge && !let_go.contains(&settled.index))
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

    /// Messages that want to come back and whose receives or days run low are sent again as fresh copies; a copy that is confirmed lets
    /// its original go. FIFO queues have no renewal: a copy would lose its place. Returns the messages that may go.
    async fn renew(&self, invocation: &Invocation) -> Vec<usize> {
        if self.core.is_fifo() {
            return Vec::new();
        }
        // Visibility has to be set afterwards: renewals may use two thirds of what is left.
        let patience = self.core.patience(self.answer_by) * 2 / 3;
        let wanted = self.settled.iter().filter_map(|settled| match settled.outcome.disposition() {
            Disposition::ComeBack(after) if self.core.must_be_renewed(&self.received[settled.index], after) => {
                Some((settled, after))
            }
            _ => None,
        });
        let allowed = wanted.map(|(settled, after)| async move {
            let asked = tokio::time::timeout(patience / 2, self.fate(settled)).await;
            (settled.index, after, asked.unwrap_or_else(|_| self.fate_without_record(settled)))
        });
        let fates = futures::future::join_all(allowed).await;
        let mut let_go: Vec<usize> = fates.iter().filter(|(.., fate)| *fate == Fate::LetGo).map(|(index, ..)| *index).collect();
        let renewals: Vec<_> =
            fates.into_iter().filter(|(.., fate)| *fate == Fate::Copy).map(|(index, after, _)| (index, after)).collect();
        if renewals.is_empty() {
            return let_go;
        }
        let copies: Vec<_> = renewals.iter().map(|(index, after)| copy_of(&self.received[*index].message, *after)).collect();
        let Ok(verdicts) = tokio::time::timeout(patience / 2, send_all(self.core.queue.as_ref(), &copies)).await else {
            tracing::warn!(error = "no answer in time", "renewal failed");
            return let_go;
        };
        for ((index, _), verdict) in renewals.into_iter().zip(verdicts) {
            report::renewed(self.core, &self.received[index], &verdict, invocation);
            if verdict.is_ok() {
                let_go.push(index);
            }
        }
        let_go
    }

    /// A copy is younger than its original. Of a job that died in the meantime it would look like a put-back, so a message whose
    /// record was not asked in this receive, or a good while ago in a long batch, is not copied before the record says that the job
    /// still waits, or that this message is itself a put-back.
    async fn fate(&self, settled: &Settled) -> Fate {
        let is_fresh = settled.at + PUT_BACK_MARGIN / 2 > self.core.clock.now();
        if is_fresh && !settled.outcome.left_record_unread() {
            return Fate::Copy;
        }
        let Some(job_id) = &settled.job_id else { return Fate::Report };
        let sent_at = self.received[settled.index].sent_at;
        match self.core.ledger.get(job_id).await {
            Ok(None) => Fate::Copy,
            Ok(Some(record)) => match record.status {
                Status::Succeeded | Status::Cancelled => Fate::LetGo,
                Status::Dead if was_put_back(&record, sent_at, self.core.settings.max_generations) => Fate::Copy,
                Status::Dead | Status::InDoubt => Fate::Report,
                _ => Fate::Copy,
            },
            Err(_) => self.fate_without_record(settled),
        }
    }

    /// The table does not answer. Its outage must not send jobs to the DLQ that were never tried, so the last receive is renewed unasked;
    /// before that the message comes back and asks again.
    fn fate_without_record(&self, settled: &Settled) -> Fate {
        let received = &self.received[settled.index];
        if received.receive_count >= self.core.settings.max_receive_count { Fate::Copy } else { Fate::Report }
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
