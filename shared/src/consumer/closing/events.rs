//! Completion events of a batch, sent before its messages are answered for.

use super::{Closing, Settled};
use crate::consumer::batch::Invocation;
use crate::consumer::handler::Handler;
use crate::consumer::outcome::Disposition;
use crate::consumer::report;
use crate::queue::send_all;

impl<H: Handler> Closing<'_, H> {
    /// Sends the events of all jobs that ended and whose callers want to be told. Where one is not confirmed its message comes back: the
    /// record answers that the job has ended, and the event is sent again. So it arrives at least once, without a write of its own. Only a
    /// done job whose message cannot come back is let go untold: it does not belong into the DLQ.
    pub(super) async fn tell_callers(&mut self, invocation: &Invocation) {
        let ended: Vec<usize> =
            self.settled.iter().enumerate().filter(|(_, job)| job.completion.is_some()).map(|(index, _)| index).collect();
        if ended.is_empty() {
            return;
        }
        let Some((name, queue)) = &self.core.events else {
            tracing::warn!(jobs = ended.len(), "completion events are off");
            return;
        };
        let (told, events): (Vec<usize>, Vec<_>) = ended
            .into_iter()
            .filter_map(|index| {
                let job = &self.settled[index];
                let trace_header = self.message_of(job).message.attributes.get("AWSTraceHeader");
                Some((index, job.completion.as_ref()?.message(name, trace_header)?))
            })
            .unzip();
        // Renewals and visibility come afterwards.
        let patience = self.core.patience(self.answer_by) / 3;
        let unconfirmed: Vec<usize> = match tokio::time::timeout(patience, send_all(queue.as_ref(), &events)).await {
            Ok(verdicts) => {
                let failed: Vec<_> =
                    told.into_iter().zip(verdicts).filter_map(|(index, verdict)| Some((index, verdict.err()?))).collect();
                if let Some((_, first)) = failed.first() {
                    tracing::warn!(jobs = failed.len(), error = %first, "completion event not sent");
                }
                failed.into_iter().map(|(index, _)| index).collect()
            }
            Err(_) => {
                tracing::warn!(jobs = told.len(), error = "no answer in time", "completion event not sent");
                told
            }
        };
        for index in unconfirmed {
            let job = &self.settled[index];
            let due =
                self.core.clock.now() + self.core.settings.backoff.delay(self.message_of(job).receive_count, fastrand::f64());
            self.settled[index].disposition = match job.disposition {
                Disposition::Acknowledge if self.core.is_last_chance(self.message_of(job)) => {
                    report::untold(self.core, self.message_of(job), job.job_id.as_ref(), invocation);
                    Disposition::Acknowledge
                }
                Disposition::Acknowledge => Disposition::ComeBack(due),
                Disposition::ToDeadLetterQueue(_) => Disposition::ToDeadLetterQueue(due),
                other => other,
            };
        }
    }

    /// Whether the job is done and only its caller is not told yet: its record cannot run again, whatever a copy looks like.
    pub(super) fn is_done_but_untold(job: &Settled) -> bool {
        job.outcome.is_done() && job.disposition != Disposition::Acknowledge
    }
}
