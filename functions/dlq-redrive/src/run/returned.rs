//! Jobs that fail again right after they were put back: when most of them do, the cause is not mended, and the run stops.

use super::canary::has_succeeded;
use super::page::has_failed;
use super::part::{End, Part, Step};
use crate::protocol::Stopped;

/// Jobs are looked at whenever so many more were sent.
const LOOK_EVERY: u32 = 50;

/// So many jobs have to be over before their share says anything.
const LEAST_OVER: u64 = 5;

/// The share at which a run never stops.
const NEVER: u32 = 100;

impl Part<'_> {
    /// Looks at the jobs that were sent, when many were sent since the last look, and stops the run when too many failed again.
    pub(super) async fn look_at_returned(&mut self) -> Step {
        if self.progress.sent_since_look >= LOOK_EVERY {
            return self.look_now().await;
        }
        self.check_share()
    }

    /// Looks at the jobs that are watched and not known to be over.
    pub(super) async fn look_now(&mut self) -> Step {
        if self.share().is_none_or(|share| share == NEVER) {
            return Ok(());
        }
        self.progress.sent_since_look = 0;
        let job_ids = self.progress.watched.clone();
        let records = self.records_of(&job_ids).await;
        for (job_id, record) in job_ids.iter().zip(records) {
            match record {
                Some(record) if has_succeeded(&record) => self.note_over(job_id, true),
                Some(record) if has_failed(&record) => self.note_over(job_id, false),
                _ => {}
            }
        }
        self.check_share()
    }

    /// A job that was watched is over.
    pub(super) fn note_over(&mut self, job_id: &str, well: bool) {
        match (well, self.progress.watched.iter().position(|watched| watched == job_id)) {
            (true, Some(place)) => {
                self.progress.watched.remove(place);
                self.run.summary.tally.succeeded_again += 1;
            }
            (false, Some(_)) => self.note_failed_again(job_id),
            (_, None) => {}
        }
    }

    /// A job that this run has sent failed again, watched or not.
    pub(super) fn note_failed_again(&mut self, job_id: &str) {
        let place = self.progress.watched.iter().position(|watched| watched == job_id);
        place.map(|place| self.progress.watched.remove(place));
        let tally = &self.run.summary.tally;
        // What was sent without an answer comes back too, and does not count as put back.
        let is_counted = tally.succeeded_again + tally.failed_again < tally.redriven;
        if is_counted && self.progress.note_failed(job_id) {
            self.run.summary.tally.failed_again += 1;
            self.progress.failed_unwatched += u64::from(place.is_none());
        }
    }

    /// Of who is watched, those that failed are compared with those that are over. Of the others only failures are seen: all
    /// failures are compared with all that were put back.
    fn check_share(&self) -> Step {
        let Some(share) = self.share() else { return Ok(()) };
        let is_too_much = |failed: u64, of: u64| of >= LEAST_OVER && failed * 100 > u64::from(share) * of;
        let tally = &self.run.summary.tally;
        let watched = tally.failed_again.saturating_sub(self.progress.failed_unwatched);
        let over = tally.succeeded_again + watched;
        let detail = if is_too_much(watched, over) {
            format!("{watched} of {over} jobs that were put back and are over have failed again; mend the cause first")
        } else if is_too_much(tally.failed_again, tally.redriven) {
            let (failed, sent) = (tally.failed_again, tally.redriven);
            format!("{failed} of {sent} messages that were put back have failed again; mend the cause first")
        } else {
            return Ok(());
        };
        Err(End::Stopped(Stopped::ComingBack, detail))
    }

    fn share(&self) -> Option<u32> {
        self.order.putting_back().map(|task| task.stop_at_returned)
    }
}
