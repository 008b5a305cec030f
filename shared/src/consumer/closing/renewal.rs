//! Renewal: messages that cannot come back much more often are sent again as fresh copies.

use std::time::Duration;

use super::{Closing, Folded, Settled};
use crate::clock::EpochMillis;
use crate::consumer::batch::Invocation;
use crate::consumer::body;
use crate::consumer::completion::Completion;
use crate::consumer::handler::Handler;
use crate::consumer::outcome::Disposition;
use crate::consumer::report;
use crate::idempotency::{PUT_BACK_MARGIN, Status, was_put_back};
use crate::job::JobId;
use crate::queue::{OutgoingMessage, copy_of, send_all};

/// What one job says about a copy of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It waits for another try.
    Waits,
    /// It is done or was taken back: a copy neither helps nor harms it.
    Done,
    /// It is done, its caller was never told, and a copy might outlive its record and run it again.
    Untold,
    /// It is dead or in doubt, and a copy is younger than its message: it would look put back.
    Ended,
    /// Its record did not answer.
    Unknown,
}

/// What becomes of a message that cannot come back much more often.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    /// A fresh copy takes its place.
    Copy,
    /// Some of its records wait, the others are done: a message of those that wait takes its place. A copy of the whole would carry what is done
    /// along for as long as the others wait, past the end of its records, and it would run again.
    CopyOf {
        /// Places of the records that wait.
        waiting: Vec<usize>,
        /// Done jobs whose callers are not told any more.
        untold: Vec<JobId>,
    },
    /// These of its records wait, others have ended: those that wait get a message of their own, the original goes to the DLQ.
    Split(Vec<usize>),
    /// All of its jobs are done or were taken back; the callers of these are not told any more.
    LetGo(Vec<JobId>),
    /// It is reported as failed.
    Report,
}

impl<H: Handler> Closing<'_, H> {
    /// Messages that want to come back and whose receives or days run low are sent again as fresh copies, and so are those with a lost lease
    /// on their last receive; a copy that is confirmed lets its original go. FIFO queues have no renewal: a copy would lose its place.
    pub(super) async fn renew(&self, messages: &mut [Folded<'_>], invocation: &Invocation) {
        if self.core.is_fifo() {
            return;
        }
        // Visibility has to be set afterwards: renewals may use two thirds of what is left.
        let patience = self.core.patience(self.answer_by) * 2 / 3;
        let wanted = messages.iter_mut().filter_map(|message| self.wanted_copy(message).map(|due| (message, due)));
        let asked = wanted.map(|(message, due)| async move {
            let fate = self.fate(message, patience / 2).await;
            (message, due, fate)
        });
        let mut renewals = Vec::new();
        for (message, due, fate) in futures::future::join_all(asked).await {
            match (self.copy(message, due, &fate), fate) {
                (Some(copy), fate) => renewals.push((message, fate, copy)),
                (None, Fate::LetGo(untold)) => {
                    self.give_up(message, &untold, invocation);
                    message.disposition = Disposition::Acknowledge;
                }
                (None, _) => {}
            }
        }
        if renewals.is_empty() {
            return;
        }
        let copies: Vec<_> = renewals.iter().map(|(.., copy)| copy.clone()).collect();
        let Ok(verdicts) = tokio::time::timeout(patience / 2, send_all(self.core.queue.as_ref(), &copies)).await else {
            tracing::warn!(error = "no answer in time", "renewal failed");
            return;
        };
        for ((message, fate, _), verdict) in renewals.into_iter().zip(verdicts) {
            report::renewed(self.core, &self.received[message.message], &verdict, invocation);
            if verdict.is_ok() {
                if let Fate::CopyOf { untold, .. } = &fate {
                    self.give_up(message, untold, invocation);
                }
                message.disposition = match fate {
                    Fate::Split(_) => Disposition::ToDeadLetterQueue(self.core.clock.now()),
                    _ => Disposition::Acknowledge,
                };
            }
        }
    }

    /// The last thing that is said of done jobs whose callers were not told.
    fn give_up(&self, message: &Folded<'_>, untold: &[JobId], invocation: &Invocation) {
        for job_id in untold {
            report::untold(self.core, &self.received[message.message], Some(job_id), invocation);
        }
    }

    /// When a copy of the message is due, if it needs one.
    fn wanted_copy(&self, message: &Folded<'_>) -> Option<EpochMillis> {
        let received = &self.received[message.message];
        match message.disposition {
            Disposition::ComeBack(due) if self.core.must_be_renewed(received, due) => Some(due),
            Disposition::Leave if self.core.is_last_receive(received) => Some(self.core.clock.now()),
            _ => None,
        }
    }

    fn copy(&self, message: &Folded<'_>, due: EpochMillis, fate: &Fate) -> Option<OutgoingMessage> {
        let delay = due.since(self.core.clock.now());
        let received = &self.received[message.message];
        match fate {
            Fate::Copy => Some(copy_of(&received.message, delay)),
            Fate::CopyOf { waiting, .. } | Fate::Split(waiting) => {
                let body = body::with_records(received.body(), waiting)?;
                Some(OutgoingMessage { body, ..copy_of(&received.message, delay) })
            }
            Fate::LetGo(_) | Fate::Report => None,
        }
    }

    async fn fate(&self, message: &Folded<'_>, patience: Duration) -> Fate {
        let standings = futures::future::join_all(message.jobs.iter().map(|job| async move {
            let asked = tokio::time::timeout(patience, self.standing(job)).await;
            asked.unwrap_or_else(|_| self.standing_without_record(job))
        }))
        .await;
        let is = |wanted| standings.contains(&wanted);
        let that = |wanted| message.jobs.iter().zip(&standings).filter(move |(_, one)| **one == wanted).map(|(job, _)| job);
        let waiting = || that(Standing::Waits).filter_map(|job| self.entries[job.entry].place).collect();
        let untold = || that(Standing::Untold).filter_map(|job| job.job_id.clone()).collect();
        if is(Standing::Unknown) {
            return Fate::Report;
        }
        match (is(Standing::Waits), is(Standing::Ended)) {
            (true, false) if standings.iter().all(|standing| *standing == Standing::Waits) => Fate::Copy,
            (true, false) => Fate::CopyOf { waiting: waiting(), untold: untold() },
            // Once, and as late as possible: each copy of a part would add a message to the queue.
            (true, true) if self.core.is_last_receive(&self.received[message.message]) => Fate::Split(waiting()),
            (_, true) => Fate::Report,
            (false, false) => Fate::LetGo(untold()),
        }
    }

    /// A copy is younger than its original. Of a job that died in the meantime it would look like a put-back, so a message whose
    /// record was not asked in this receive, or a good while ago in a long batch, is not copied before the record says that the job
    /// still waits, or that this message is itself a put-back.
    async fn standing(&self, job: &Settled) -> Standing {
        match job.disposition {
            Disposition::Acknowledge => return Standing::Done,
            Disposition::ToDeadLetterQueue(_) => return Standing::Ended,
            Disposition::ComeBack(_) | Disposition::Leave => {}
        }
        if Self::is_done_but_untold(job) {
            return self.standing_of_done(job.completion.as_ref());
        }
        let is_fresh = job.at + PUT_BACK_MARGIN / 2 > self.core.clock.now();
        if is_fresh && !job.outcome.left_record_unread() {
            return Standing::Waits;
        }
        let Some(job_id) = &job.job_id else { return Standing::Unknown };
        let sent_at = self.message_of(job).sent_at;
        match self.core.ledger.get(job_id).await {
            Ok(None) => Standing::Waits,
            Ok(Some(record)) => match record.status {
                Status::Succeeded => {
                    self.standing_of_done(Completion::of_ended(&record).filter(|_| self.core.events.is_some()).as_ref())
                }
                Status::Cancelled => Standing::Done,
                Status::Dead if was_put_back(&record, sent_at, self.core.settings.max_generations) => Standing::Waits,
                Status::Dead | Status::InDoubt => Standing::Ended,
                _ => Standing::Waits,
            },
            Err(_) => self.standing_without_record(job),
        }
    }

    /// A done job whose caller may not be told yet waits for that. Its record keeps it from running again, so it is copied only while the
    /// record surely outlives the copy.
    fn standing_of_done(&self, to_tell: Option<&Completion>) -> Standing {
        let copy_ends = self.core.clock.now() + self.core.settings.queue_retention;
        match to_tell {
            None => Standing::Done,
            Some(completion) if completion.is_remembered_at(copy_ends) => Standing::Waits,
            Some(_) => Standing::Untold,
        }
    }

    /// The table does not answer. Its outage must not send jobs to the DLQ that were never tried, so the last receive is renewed unasked;
    /// before that the message comes back and asks again.
    fn standing_without_record(&self, job: &Settled) -> Standing {
        if self.core.is_last_receive(self.message_of(job)) { Standing::Waits } else { Standing::Unknown }
    }
}
