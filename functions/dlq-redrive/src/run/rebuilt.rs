//! Jobs that were named and whose message is nowhere: their messages are made again from their records.

use std::time::Duration;

use ikkai::clock::EpochMillis;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::JobId;
use ikkai::queue::OutgoingMessage;

use super::drafts::Ready;
use super::order::Task;
use super::page::PAUSE;
use super::part::{End, Part, Step};
use super::preparing::Answered;
use crate::matching::is_job_meant;
use crate::protocol::{MessageVerdict, VerdictCode};
use crate::queues::StackQueue;

/// The message of a job that was written so recently may still be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(300);

/// Why such a job is left alone.
pub(super) const ON_ITS_WAY_DETAIL: &str =
    "its message may be on its way: its record was written, is due, or has lost its worker less than 5 minutes ago";

/// What is to be done about a job without a message.
pub(super) enum Fate {
    /// It can be run, or taken back.
    Open,
    /// It is not what the filter means.
    NotMeant,
    /// It stays as it is, for this reason.
    Stays(VerdictCode, Option<String>),
}

impl Part<'_> {
    /// Deals with the named jobs whose messages were not found.
    pub(super) async fn jobs_without_message(&mut self) -> Step {
        let missing =
            |part: &Self| part.order.filter.job_ids.iter().find(|job_id| !part.progress.found.contains(*job_id)).cloned();
        while let Some(job_id) = missing(self) {
            if self.room() == 0 {
                return Ok(());
            }
            self.in_time()?;
            self.job_without_message(&job_id).await?;
            self.progress.found.insert(job_id);
            if let Some(queue) = self.order.queues.last() {
                self.after_page(queue).await?;
            }
        }
        Ok(())
    }

    async fn job_without_message(&mut self, name: &str) -> Step {
        let Ok(job_id) = JobId::parse_stored(name) else { return Ok(()) };
        let job_type = job_id.job_type();
        let Some(queue) = self.order.queues.iter().find(|queue| queue.kind.job_type == job_type.as_str()) else {
            let detail = format!("jobs of type {} are not of the queue that was asked for", job_type.as_str());
            if let Some(queue) = self.order.queues.first() {
                self.judge_job(queue, name, VerdictCode::NotFound, Some(detail));
            }
            return Ok(());
        };
        let records = &self.workbench.ledger;
        let read = match records.get(&job_id).await {
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                records.get(&job_id).await
            }
            read => read,
        };
        let record = match read {
            Ok(Some(record)) => record,
            Ok(None) => {
                self.judge_job(queue, name, VerdictCode::NotFound, None);
                return Ok(());
            }
            Err(error) => {
                self.record_failures += 1;
                self.judge_job(queue, name, VerdictCode::RecordFailed, Some(error.to_string()));
                return self.in_order("the jobs table does not answer");
            }
        };
        self.record_failures = 0;
        match fate(self, &record) {
            Fate::NotMeant => Ok(()),
            Fate::Stays(verdict, detail) => {
                self.judge_job(queue, name, verdict, detail);
                Ok(())
            }
            Fate::Open => match self.order.task {
                Task::PutBack(_) => self.send_rebuilt(queue, &record).await,
                Task::Discard => {
                    self.count_in_advance(1).await?;
                    self.discard_job(queue, &record).await;
                    Ok(())
                }
            },
        }
    }

    async fn send_rebuilt(&mut self, queue: &StackQueue, record: &JobRecord) -> Step {
        let name = record.job_id.as_str();
        let problem = if record.envelope().is_none() {
            Some("its record does not hold all of the job")
        } else if queue.queue_name.is_fifo() {
            Some("nobody knows the message's group any more")
        } else {
            None
        };
        if let Some(problem) = problem {
            self.judge_job(queue, name, VerdictCode::NotRebuildable, Some(problem.to_owned()));
            return Ok(());
        }
        if self.order.dry_run {
            self.judge_job(queue, name, VerdictCode::Redriven, None);
            return Ok(());
        }
        if !self.pace.turn(1, self.time_left()).await {
            return Err(End::OutOfTime { resume_in: Duration::ZERO });
        }
        self.count_in_advance(1).await?;
        let late = || Err(Answered::Not(VerdictCode::RecordFailed, Some("no answer before the invocation's end".to_owned())));
        match self.waited_for(self.put_back_patched(record)).await.unwrap_or_else(late) {
            Ok(body) => {
                let ready = Ready {
                    received: None,
                    job_ids: vec![name.to_owned()],
                    running: vec![name.to_owned()],
                    target: queue.clone(),
                    message: OutgoingMessage::new(body),
                };
                self.send_ready(queue, vec![ready]).await
            }
            Err(Answered::Not(verdict, detail)) => {
                self.judge_job(queue, name, verdict, detail);
                Ok(())
            }
            Err(_) => {
                self.judge_job(queue, name, VerdictCode::AlreadyDone, None);
                Ok(())
            }
        }
    }

    /// Notes what became of a job without a message.
    pub(super) fn judge_job(&mut self, queue: &StackQueue, job_id: &str, verdict: VerdictCode, detail: Option<String>) {
        let job_ids = vec![job_id.to_owned()];
        self.note_verdict(queue, MessageVerdict { message_id: None, job_ids, verdict, detail });
    }
}

fn fate(part: &Part<'_>, record: &JobRecord) -> Fate {
    let now = part.workbench.clock.now();
    if !is_job_meant(&part.order.filter, record) {
        return Fate::NotMeant;
    }
    match record.status {
        Status::Succeeded | Status::Cancelled => Fate::Stays(VerdictCode::AlreadyDone, None),
        Status::InDoubt => Fate::Stays(VerdictCode::InDoubt, None),
        Status::Running if !record.lease_is_over(now) => Fate::Stays(VerdictCode::Running, None),
        Status::Accepted | Status::RetryScheduled if may_be_on_its_way(record, now) => {
            Fate::Stays(VerdictCode::Changed, Some(ON_ITS_WAY_DETAIL.to_owned()))
        }
        _ => Fate::Open,
    }
}

/// Whether a job that waits for a message, or whose worker died, may get one by itself.
pub(crate) fn may_be_on_its_way(record: &JobRecord, now: EpochMillis) -> bool {
    let due = if record.status == Status::Running { record.lease_until } else { record.retry_at };
    due.map_or(record.updated_at, |due| due.max(record.updated_at)) + ON_ITS_WAY > now
}
