//! The end of a part: what it did is written down, the locks go, and the caller is answered.

use std::time::Duration;

use super::admission::{refusal, run_lock};
use super::page::PAUSE;
use super::part::{End, Part, Step};
use crate::journal::JournalError;
use crate::protocol::{RedriveAnswer, Refusal, RunState};

/// How often the journal is asked before it counts as unreachable.
const TRIES: usize = 3;

impl Part<'_> {
    /// Ends the part.
    pub(super) async fn close(&mut self, outcome: Step) -> Result<RedriveAnswer, Refusal> {
        let (state, stopped, detail, resume_in) = match outcome {
            Ok(()) => (RunState::Finished, None, self.note.take().or_else(|| self.unseen()), None),
            Err(End::Stopped(stopped, detail)) => (RunState::Stopped, Some(stopped), Some(detail), None),
            Err(End::OutOfTime { resume_in }) => (RunState::Continues, None, self.note.take(), Some(resume_in)),
        };
        let written = self.write_verdicts().await;
        let parts = self.run.parts;
        self.progress.at_work = false;
        self.run.parts = parts.saturating_add(1);
        self.run.summary.state = state;
        self.run.summary.stopped = stopped;
        let mut answer = self.answer(detail, resume_in);
        self.run.last_answer = serde_json::to_value(&answer).ok();
        let saved = match written {
            Ok(()) => self.save(parts).await,
            failed => failed,
        };
        self.let_go(state).await;
        answer.verdicts = std::mem::take(&mut self.verdicts);
        match saved {
            Ok(()) => Ok(answer),
            Err(error) => Err(self.unsaved(error)),
        }
    }

    /// Messages that were counted at the start and never came out.
    fn unseen(&self) -> Option<String> {
        let tally = &self.run.summary.tally;
        let unseen = tally.snapshot.saturating_sub(tally.seen);
        let looked_everywhere = self.room() > 0 && self.order.filter.job_ids.is_empty();
        (unseen > 0 && looked_everywhere).then(|| {
            format!(
                "{unseen} of the {} messages that were counted at the start did not come out: somebody else has them, or a look \
                 hides them; run again later",
                tally.snapshot
            )
        })
    }

    /// Without verdicts: they are kept once, on pages of their own.
    fn answer(&self, detail: Option<String>, resume_in: Option<Duration>) -> RedriveAnswer {
        let summary = &self.run.summary;
        RedriveAnswer {
            run_id: summary.run_id.clone(),
            state: summary.state,
            stopped: summary.stopped,
            detail,
            dry_run: summary.dry_run,
            replayed: false,
            tally: summary.tally.clone(),
            verdicts: Vec::new(),
            cursor: resume_in.map(|_| self.run.parts.to_string()),
            continue_after_seconds: resume_in.map(|time| time.as_secs()),
        }
    }

    /// Saves the run, which had `parts` parts before.
    pub(super) async fn save(&mut self, parts: u32) -> Result<(), JournalError> {
        self.run.summary.updated_at = self.workbench.clock.now().rfc3339().to_string();
        self.run.progress = serde_json::to_value(&self.progress).expect("plain data");
        let journal = &self.workbench.journal;
        if journalled(|| journal.save(&self.run, parts)).await? {
            return Ok(());
        }
        // My own earlier write, whose answer was lost, or somebody else's.
        match journalled(|| journal.find(&self.run.summary.run_id)).await? {
            Some(found) if found == self.run => Ok(()),
            _ => Err(JournalError::Corrupt { problem: "the run was written by somebody else meanwhile".to_owned() }),
        }
    }

    async fn let_go(&self, state: RunState) {
        let (journal, run_id) = (&self.workbench.journal, &self.run.summary.run_id);
        let now = self.workbench.clock.now();
        let mut failed = None;
        for (index, queue) in self.order.queues.iter().enumerate().filter(|_| !self.order.dry_run) {
            let let_go = if state == RunState::Continues && index >= self.progress.queue {
                let until = now + self.workbench.limits.lock_between_parts;
                journalled(|| journal.lock(&queue.name, run_id, until, now)).await.map(drop)
            } else {
                journalled(|| journal.unlock(&queue.name, run_id)).await
            };
            failed = failed.or(let_go.err());
        }
        let own = run_lock(run_id);
        failed = failed.or(journalled(|| journal.unlock(&own, &self.worker)).await.err());
        if let Some(error) = failed {
            tracing::warn!(run_id, error = %error, "a lock could not be let go; it ends by itself");
        }
    }

    fn unsaved(&self, error: JournalError) -> Refusal {
        let run_id = &self.run.summary.run_id;
        let refusal = refusal(error);
        let message = format!(
            "{}; messages were worked on, see the log lines of the run {run_id}. Repeat the request with that runId and the same \
             cursor to go on",
            refusal.message
        );
        Refusal { message, ..refusal }
    }
}

/// Asks the journal again when it does not answer: every write is conditional or may be repeated.
pub(super) async fn journalled<T, F>(ask: impl Fn() -> F) -> Result<T, JournalError>
where
    F: Future<Output = Result<T, JournalError>>,
{
    for _ in 1..TRIES {
        match ask().await {
            Err(JournalError::Unavailable { .. }) => tokio::time::sleep(PAUSE).await,
            answered => return answered,
        }
    }
    ask().await
}
