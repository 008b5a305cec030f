//! What is kept of each message's fate: the verdict, the counts, a log line, metrics, and the journal's pages.

use ikkai::observability::Metric;

use super::admission::MOST_VERDICTS;
use super::closing::journalled;
use super::part::{End, Part, Step};
use super::progress::COUNTED_CLOSELY;
use crate::dead_letter::DeadLetter;
use crate::journal::JournalError;
use crate::protocol::{MessageVerdict, Stopped, VerdictCode};
use crate::queues::StackQueue;

/// Verdicts on a page of the journal.
const PAGE_OF_VERDICTS: usize = 100;

impl Part<'_> {
    /// Notes what became of a message.
    pub(super) fn judge(&mut self, queue: &StackQueue, letter: &DeadLetter, verdict: VerdictCode, detail: Option<String>) {
        let job_ids = letter.job_ids().map(|job_id| job_id.as_str().to_owned()).collect();
        self.note_verdict(
            queue,
            MessageVerdict { message_id: Some(letter.message.message_id.clone()), job_ids, verdict, detail },
        );
    }

    /// Notes what became of a message, or of a job without one.
    pub(super) fn note_verdict(&mut self, queue: &StackQueue, verdict: MessageVerdict) {
        self.count(queue, verdict.verdict);
        self.log(&verdict);
        self.note_found(&verdict.job_ids);
        if let Some(message_id) = verdict.message_id.as_deref().filter(|_| self.stays(verdict.verdict)) {
            self.progress.remember_judged(message_id);
        }
        self.unwritten.push(verdict.clone());
        if self.verdicts.len() < MOST_VERDICTS {
            self.verdicts.push(verdict);
        }
    }

    fn count(&mut self, queue: &StackQueue, verdict: VerdictCode) {
        let tally = &mut self.run.summary.tally;
        tally.matched += 1;
        *tally.by_verdict.entry(verdict).or_default() += 1;
        if matches!(verdict, VerdictCode::Redriven | VerdictCode::SentNotDeleted | VerdictCode::Discarded) {
            self.progress.counted += 1;
        }
        if matches!(verdict, VerdictCode::Redriven | VerdictCode::SentNotDeleted) {
            tally.redriven += 1;
        }
        if self.order.dry_run {
            return;
        }
        let metric = match verdict {
            VerdictCode::Redriven | VerdictCode::SentNotDeleted => Metric::JobsRedriven,
            VerdictCode::Quarantined => Metric::RedriveQuarantined,
            failed if failed.is_failure() => Metric::RedriveFailed,
            _ => return,
        };
        self.workbench.metrics.count(metric, queue.kind.job_type, 1);
    }

    /// Whether a message with this verdict is still in the queue; what was sent and not deleted is remembered by itself.
    fn stays(&self, verdict: VerdictCode) -> bool {
        let is_dealt_with = matches!(
            verdict,
            VerdictCode::Redriven | VerdictCode::SentNotDeleted | VerdictCode::Discarded | VerdictCode::AlreadyDone
        );
        self.order.dry_run || !is_dealt_with
    }

    /// What has a verdict need not be looked for any more.
    fn note_found(&mut self, job_ids: &[String]) {
        let named = &self.order.filter.job_ids;
        self.progress.found.extend(job_ids.iter().filter(|job_id| named.contains(job_id)).cloned());
    }

    fn log(&self, verdict: &MessageVerdict) {
        tracing::info!(
            run_id = self.run.summary.run_id,
            message_id = verdict.message_id.as_deref(),
            job_id = verdict.job_ids.first().map(String::as_str),
            verdict = code(verdict.verdict),
            dry_run = self.order.dry_run,
            "dead letter handled"
        );
    }

    /// Writes the verdicts down whenever there is a page of them, and how far the run is. At first it does after everything: a part
    /// that dies must not make much more of a small `max`.
    pub(super) async fn checkpoint(&mut self) -> Step {
        let is_at_its_beginning = self.progress.counted <= COUNTED_CLOSELY && !self.unwritten.is_empty();
        if self.unwritten.len() < PAGE_OF_VERDICTS && !is_at_its_beginning {
            return Ok(());
        }
        self.progress.settle();
        self.write_down().await
    }

    /// Counts messages that are about to be sent or removed, so that a part that dies does not make more of `max`.
    pub(super) async fn count_in_advance(&mut self, messages: usize) -> Step {
        if self.order.dry_run || !self.progress.reserve(messages as u64, self.order.max) {
            return Ok(());
        }
        self.write_down().await
    }

    /// Writes down how far the run is.
    pub(super) async fn write_down(&mut self) -> Step {
        let saved = match self.write_verdicts().await {
            Ok(()) => self.save(self.run.parts).await,
            failed => failed,
        };
        saved.map_err(|error| End::Stopped(Stopped::Unavailable, error.to_string()))
    }

    /// Writes down the verdicts that the journal does not have yet.
    pub(super) async fn write_verdicts(&mut self) -> Result<(), JournalError> {
        for verdicts in std::mem::take(&mut self.unwritten).chunks(PAGE_OF_VERDICTS) {
            let (journal, run_id, page) = (&self.workbench.journal, &self.run.summary.run_id, self.progress.pages);
            let written = journalled(|| journal.add_verdicts(run_id, page, verdicts)).await;
            if let Err(error) = written {
                self.unwritten.extend_from_slice(verdicts);
                return Err(error);
            }
            self.progress.pages += 1;
            self.progress.verdicts += verdicts.len() as u64;
        }
        Ok(())
    }
}

/// The verdict's name in answers and logs.
fn code(verdict: VerdictCode) -> String {
    serde_json::to_value(verdict).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}
