//! Whether a run may begin or go on: its id, its cursor, the locks of its queues, and SQS's own move tasks.

use std::time::Duration;

use ikkai::queue::QueueError;
use ikkai::token::{unique, unique_in_order};

use super::closing::journalled;
use super::order::{Cursor, Order};
use super::part::Part;
use super::patch;
use super::progress::{Canary, Progress};
use crate::journal::{Begun, JournalError, Locked, Run};
use crate::move_tasks::is_active;
use crate::protocol::{RedriveAnswer, Refusal, RefusalCode, RunState, RunSummary, Tally};
use crate::queues::StackQueue;
use crate::workbench::{Invocation, Workbench};

/// How long locks outlast the invocation that took them: clocks differ.
const LOCK_MARGIN: Duration = Duration::from_secs(30);

/// Verdicts that are given again with an answer that is given again.
pub(super) const MOST_VERDICTS: usize = 1_000;

/// Earlier verdicts that are read to find those of an answer; beyond that they are in the history only.
const MOST_EARLIER_VERDICTS: u64 = 10_000;

/// What a request leads to.
pub(super) enum Admitted<'a> {
    /// The answer to the same request before.
    Before(Box<RedriveAnswer>),
    /// A part of the run, to be worked on now.
    Now(Box<Part<'a>>),
}

/// Admits a request, or says why not. Nothing was changed when it does.
pub(super) async fn admit<'a>(
    workbench: &'a Workbench,
    order: &'a Order,
    invocation: &Invocation,
) -> Result<Admitted<'a>, Refusal> {
    let run_id = order.run_id.clone().unwrap_or_else(|| unique_in_order(workbench.clock.now()).to_string());
    let admission = Admission { workbench, order, invocation, run_id, worker: unique().to_string() };
    let admitted = match admission.lock_run().await {
        Ok(()) => admission.find().await,
        Err(refusal) => Err(refusal),
    };
    match admitted {
        Ok(Admitted::Now(part)) => Ok(Admitted::Now(part)),
        turned_away => {
            admission.unlock(&run_lock(&admission.run_id), &admission.worker).await;
            turned_away
        }
    }
}

/// The lock that keeps two invocations from working on the same run.
pub(super) fn run_lock(run_id: &str) -> String {
    format!("run/{run_id}")
}

struct Admission<'a, 'i> {
    workbench: &'a Workbench,
    order: &'a Order,
    invocation: &'i Invocation,
    run_id: String,
    /// Names this invocation: requests are repeated under one request id.
    worker: String,
}

impl<'a> Admission<'a, '_> {
    /// A caller that has lost patience asks again while its first request is still worked on.
    async fn lock_run(&self) -> Result<(), Refusal> {
        self.lock(&run_lock(&self.run_id), &self.worker, "this run is being worked on").await
    }

    async fn find(&self) -> Result<Admitted<'a>, Refusal> {
        let known = match &self.order.run_id {
            Some(run_id) => journalled(|| self.workbench.journal.find(run_id)).await.map_err(refusal)?,
            None => None,
        };
        match known {
            Some(run) => self.known(run).await,
            None if self.order.cursor == Cursor::After(0) => self.new_run().await,
            None => Err(Refusal::new(RefusalCode::UnknownRun, "there is no run of this id; leave the cursor out to begin one")),
        }
    }

    async fn known(&self, run: Run) -> Result<Admitted<'a>, Refusal> {
        if run.request_digest != self.order.digest {
            let message = "a run of this id was asked for something else; give another id, or repeat its request unchanged";
            return Err(Refusal::new(RefusalCode::RunIdTaken, message));
        }
        let is_over = run.summary.state != RunState::Continues;
        match self.order.cursor {
            Cursor::After(parts) if is_over && parts <= run.parts => self.answer_again(&run).await,
            Cursor::After(parts) if parts == run.parts => self.go_on(run).await,
            Cursor::After(parts) if parts.checked_add(1) == Some(run.parts) => self.answer_again(&run).await,
            _ => {
                let message = format!("the run's cursor is {}; go on with that one", run.parts);
                Err(Refusal::new(RefusalCode::StaleCursor, message))
            }
        }
    }

    async fn answer_again(&self, run: &Run) -> Result<Admitted<'a>, Refusal> {
        let unreadable = |problem: String| refusal(JournalError::Corrupt { problem });
        let stored = run.last_answer.clone().ok_or_else(|| unreadable("the run has no answer".to_owned()))?;
        let mut answer: RedriveAnswer = serde_json::from_value(stored).map_err(|error| unreadable(error.to_string()))?;
        let progress = progress_of(run)?;
        if progress.verdicts_before <= MOST_EARLIER_VERDICTS {
            let before = usize::try_from(progress.verdicts_before).unwrap_or(usize::MAX);
            let most = before.saturating_add(MOST_VERDICTS);
            let all = journalled(|| self.workbench.journal.verdicts(&self.run_id, most)).await.map_err(refusal)?;
            answer.verdicts = all.into_iter().skip(before).collect();
        }
        answer.replayed = true;
        Ok(Admitted::Before(Box::new(answer)))
    }

    async fn go_on(&self, mut run: Run) -> Result<Admitted<'a>, Refusal> {
        let mut progress = progress_of(&run)?;
        self.take_queues(&self.order.queues[progress.queue.min(self.order.queues.len())..]).await?;
        if progress.at_work {
            // The part before died. It may have written pages that the run does not know: what waits to be written is two at most.
            progress.pages = progress.pages.saturating_add(2);
        }
        let unwritten = progress.take_over();
        progress.verdicts_before = progress.verdicts;
        progress.at_work = true;
        run.summary.state = RunState::Continues;
        let parts = run.parts;
        let mut part = Part::new(self.workbench, self.order, self.invocation, run, progress, self.worker.clone());
        if unwritten > 0 {
            part.tell(format!(
                "an earlier part of the run died: up to {unwritten} messages that it may have dealt with count towards max, and have no verdict"
            ));
        }
        // If this part dies too, the next one skips the pages of both.
        part.save(parts).await.map_err(refusal)?;
        Ok(Admitted::Now(Box::new(part)))
    }

    async fn new_run(&self) -> Result<Admitted<'a>, Refusal> {
        self.take_queues(&self.order.queues).await?;
        match self.begin().await {
            Ok(part) => Ok(Admitted::Now(Box::new(part))),
            Err(refusal) => {
                self.let_queues_go(&self.order.queues).await;
                Err(refusal)
            }
        }
    }

    async fn begin(&self) -> Result<Part<'a>, Refusal> {
        if let Some(patch) = self.order.putting_back().and_then(|task| task.patch.as_ref()) {
            patch::check(self.workbench, &self.order.filter.job_ids, patch).await?;
        }
        let mut snapshots = Vec::with_capacity(self.order.queues.len());
        for queue in &self.order.queues {
            let depth = queue.dead_letters.depth().await.map_err(|error| queue_refusal(queue, &error))?;
            snapshots.push(depth.total());
        }
        let canary = match self.order.putting_back() {
            Some(task) if task.canary > 0 && !self.order.dry_run => Canary::Sending { missing: task.canary, jobs: Vec::new() },
            _ => Canary::Off,
        };
        let tally = Tally { snapshot: snapshots.iter().sum(), ..Tally::default() };
        let progress = Progress { snapshots, canary, at_work: true, ..Progress::default() };
        let run = self.blank(tally, &progress);
        match journalled(|| self.workbench.journal.begin(&run)).await.map_err(refusal)? {
            Begun::New => {}
            // An expired lock let two in, or the answer to an earlier try was lost: its own item is as good as a new one.
            Begun::Exists(found) if found.request_digest == run.request_digest && found.parts == 0 => {}
            Begun::Exists(_) => {
                return Err(Refusal::new(RefusalCode::RunIdTaken, "a run of this id has just begun; ask again under it"));
            }
        }
        Ok(Part::new(self.workbench, self.order, self.invocation, run, progress, self.worker.clone()))
    }

    fn blank(&self, tally: Tally, progress: &Progress) -> Run {
        let now = self.workbench.clock.now();
        let summary = RunSummary {
            run_id: self.run_id.clone(),
            action: self.order.action(),
            queues: self.order.queues.iter().map(|queue| queue.name.clone()).collect(),
            started_at: now.rfc3339().to_string(),
            updated_at: now.rfc3339().to_string(),
            state: RunState::Continues,
            stopped: None,
            dry_run: self.order.dry_run,
            by: self.invocation.caller.clone(),
            claimed_by: self.order.claimed_by.clone(),
            reason: self.order.reason.clone(),
            filter: (!self.order.filter.is_empty()).then(|| self.order.filter.clone()),
            tally,
        };
        Run {
            summary,
            request_digest: self.order.digest.clone(),
            parts: 0,
            began_at: now,
            progress: serde_json::to_value(progress).expect("plain data"),
            last_answer: None,
        }
    }

    /// Takes the queues for this run, or none of them.
    async fn take_queues(&self, queues: &[StackQueue]) -> Result<(), Refusal> {
        if self.order.dry_run {
            return Ok(());
        }
        for (taken, queue) in queues.iter().enumerate() {
            if let Err(refusal) = self.take(queue).await {
                self.let_queues_go(&queues[..=taken]).await;
                return Err(refusal);
            }
        }
        Ok(())
    }

    async fn take(&self, queue: &StackQueue) -> Result<(), Refusal> {
        let busy = format!("another run works on the queue {}", queue.name);
        self.lock(&queue.name, &self.run_id, &busy).await?;
        let tasks = match self.workbench.move_tasks.list(&queue.dead_letter_queue_name).await {
            // An engine without move tasks has none at work.
            Err(refusal) if refusal.code == RefusalCode::Unsupported => Vec::new(),
            tasks => tasks?,
        };
        if tasks.iter().any(is_active) {
            let message = format!(
                "SQS moves messages out of {} by itself; wait until that is over, or cancel it with moveTask",
                queue.dead_letter_queue_name.as_str()
            );
            return Err(Refusal { retry_after_seconds: Some(60), ..Refusal::new(RefusalCode::MoveTaskInProgress, message) });
        }
        Ok(())
    }

    async fn let_queues_go(&self, queues: &[StackQueue]) {
        if self.order.dry_run {
            return;
        }
        for queue in queues {
            self.unlock(&queue.name, &self.run_id).await;
        }
    }

    async fn lock(&self, name: &str, holder: &str, busy: &str) -> Result<(), Refusal> {
        let now = self.workbench.clock.now();
        let until = self.invocation.deadline.max(now) + LOCK_MARGIN;
        match journalled(|| self.workbench.journal.lock(name, holder, until, now)).await.map_err(refusal)? {
            Locked::Yes => Ok(()),
            Locked::HeldBy { run_id, until } => {
                let seconds = until.since(now).as_millis().div_ceil(1000);
                let other = if name == run_lock(&self.run_id) { String::new() } else { format!(" ({run_id})") };
                let message = format!("{busy}{other}; it is over in {seconds} seconds at the latest");
                let retry_after_seconds = Some(u64::try_from(seconds).unwrap_or(u64::MAX));
                Err(Refusal { retry_after_seconds, ..Refusal::new(RefusalCode::RunInProgress, message) })
            }
        }
    }

    async fn unlock(&self, name: &str, holder: &str) {
        if let Err(error) = journalled(|| self.workbench.journal.unlock(name, holder)).await {
            tracing::warn!(run_id = self.run_id, error = %error, "a lock could not be let go; it ends by itself");
        }
    }
}

fn progress_of(run: &Run) -> Result<Progress, Refusal> {
    serde_json::from_value(run.progress.clone())
        .map_err(|error| refusal(JournalError::Corrupt { problem: format!("the run's progress: {error}") }))
}

/// A journal that does not answer, as a refusal.
pub(super) fn refusal(error: JournalError) -> Refusal {
    let code = match error {
        JournalError::Denied { .. } => RefusalCode::AccessDenied,
        _ => RefusalCode::Unavailable,
    };
    Refusal::new(code, error.to_string())
}

fn queue_refusal(queue: &StackQueue, error: &QueueError) -> Refusal {
    let code = match error {
        QueueError::Refused { code, .. } if code.contains("AccessDenied") => RefusalCode::AccessDenied,
        _ => RefusalCode::Unavailable,
    };
    Refusal::new(code, format!("{}: {error}", queue.dead_letter_queue_name.as_str()))
}
