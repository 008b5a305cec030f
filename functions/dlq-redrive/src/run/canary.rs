//! The first messages of a run, which the others wait for.

use std::time::Duration;

use futures::future::join_all;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::JobId;

use super::page::has_failed;
use super::part::{End, Part, Step};
use super::progress::Canary;
use crate::protocol::Stopped;

/// The first look at the canary comes after this time; later ones are further apart.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Looks are never further apart.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Part<'_> {
    /// Notes jobs that were sent as a canary, if one is wanted. A message that runs no job says nothing.
    pub(super) fn note_canary(&mut self, sent: &[String]) {
        if sent.is_empty() {
            return;
        }
        if let Canary::Sending { missing, jobs } = &mut self.progress.canary {
            *missing = missing.saturating_sub(1);
            jobs.extend_from_slice(sent);
        }
    }

    /// Waits until the canary is well, once it is complete.
    pub(super) async fn await_canary(&mut self) -> Step {
        let timeout = self.order.putting_back().map_or(Duration::ZERO, |task| task.canary_timeout);
        if let Canary::Sending { missing: 0, jobs } = &mut self.progress.canary {
            let jobs = std::mem::take(jobs);
            self.progress.canary = Canary::Waiting { jobs, until: self.workbench.clock.now() + timeout };
            // A part that dies while it waits must not make the next one send another canary.
            self.write_down().await?;
        }
        let mut pause = FIRST_PAUSE;
        while let Canary::Waiting { until, .. } = self.progress.canary {
            if self.is_canary_well().await? {
                self.progress.canary = Canary::Off;
                return Ok(());
            }
            let now = self.workbench.clock.now();
            if now >= until {
                let detail = "the first jobs had not ended in time; see whether consumers run, then begin another run";
                return Err(End::Stopped(Stopped::CanaryTimedOut, detail.to_owned()));
            }
            if self.time_left() <= pause {
                return Err(End::OutOfTime { resume_in: LONGEST_PAUSE });
            }
            tokio::time::sleep(pause.min(until.since(now))).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }

    /// Looks at the canary's jobs once; those that ended well need no second look.
    async fn is_canary_well(&mut self) -> Result<bool, End> {
        let Canary::Waiting { jobs, until } = self.progress.canary.clone() else { return Ok(true) };
        let records = self.records_of(&jobs).await;
        let mut waiting = Vec::new();
        let mut failed = None;
        for (job_id, record) in jobs.into_iter().zip(records) {
            match record {
                Some(record) if has_succeeded(&record) => self.note_over(&job_id, true),
                Some(record) if has_failed(&record) => {
                    self.note_over(&job_id, false);
                    failed = Some(job_id);
                }
                _ => waiting.push(job_id),
            }
        }
        let is_well = waiting.is_empty();
        self.progress.canary = Canary::Waiting { jobs: waiting, until };
        match failed {
            Some(job_id) => {
                let detail = format!("{job_id} was put back first and failed again; nothing else was put back");
                Err(End::Stopped(Stopped::CanaryFailed, detail))
            }
            None => Ok(is_well),
        }
    }

    /// The records of jobs, strongly consistent; `None` where there is none, or the table did not answer.
    pub(super) async fn records_of(&self, job_ids: &[String]) -> Vec<Option<JobRecord>> {
        let records = &self.workbench.records;
        join_all(job_ids.iter().map(|job_id| async move {
            let job_id = JobId::parse_stored(job_id).ok()?;
            self.waited_for(records.get(&job_id)).await?.ok().flatten()
        }))
        .await
    }
}

/// Whether nothing is left to do for a job.
pub(super) fn has_succeeded(record: &JobRecord) -> bool {
    matches!(record.status, Status::Succeeded | Status::Cancelled)
}
