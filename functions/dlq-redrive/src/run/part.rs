//! One part of a run: what one invocation does of it.

use std::collections::HashSet;
use std::time::Duration;

use ikkai::clock::EpochMillis;
use ikkai::queue::ReceivedMessage;

use super::drafts::{Draft, handles};
use super::order::{Order, Task};
use super::pace::Pace;
use super::progress::{Canary, Progress};
use crate::journal::Run;
use crate::protocol::{MessageVerdict, Stopped};
use crate::queues::StackQueue;
use crate::sweep::Sweep;
use crate::workbench::{Invocation, Workbench};

/// Most messages of a page: what SQS hands out at once.
pub(super) const PAGE: u64 = 10;

/// Failures in a row that speak of a service and not of a message.
pub(super) const FAILURES_IN_A_ROW: u32 = 10;

/// Why a part ends before everything is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// Its invocation is nearly over. Going on makes sense after this time.
    OutOfTime { resume_in: Duration },
    /// The run must not go on.
    Stopped(Stopped, String),
}

/// One step of a part.
pub(super) type Step = Result<(), End>;

/// One part of a run.
pub(super) struct Part<'a> {
    pub(super) workbench: &'a Workbench,
    pub(super) order: &'a Order,
    pub(super) run: Run,
    pub(super) progress: Progress,
    /// Name of this invocation, which holds the run's lock.
    pub(super) worker: String,
    /// Nothing new is begun from here on.
    pub(super) end: EpochMillis,
    /// No call is waited for beyond this: what is left of the invocation is for writing down what happened.
    pub(super) last_call: EpochMillis,
    pub(super) pace: Pace,
    /// Jobs that this part has sent.
    pub(super) sent_here: HashSet<String>,
    /// Messages of this sweep that came after the run's start.
    pub(super) late: u64,
    /// Messages of this page that stay in the queue.
    pub(super) left: Vec<ReceivedMessage>,
    /// Messages that no canary can be made of, until the canary is well.
    pub(super) aside: Vec<Draft>,
    /// Verdicts for the answer.
    pub(super) verdicts: Vec<MessageVerdict>,
    /// Verdicts that the journal does not have yet.
    pub(super) unwritten: Vec<MessageVerdict>,
    /// Record reads and writes that failed in a row.
    pub(super) record_failures: u32,
    /// Sends that failed in a row in a way that may pass: what is refused speaks of its message.
    pub(super) send_failures: u32,
    /// What the caller has to know beside the numbers.
    pub(super) note: Option<String>,
}

impl<'a> Part<'a> {
    pub(super) fn new(
        workbench: &'a Workbench,
        order: &'a Order,
        invocation: &Invocation,
        run: Run,
        progress: Progress,
        worker: String,
    ) -> Self {
        let rate = order.putting_back().map_or(u32::MAX, |task| task.rate_per_second);
        Self {
            workbench,
            order,
            run,
            progress,
            worker,
            end: invocation.deadline - workbench.limits.reserve,
            last_call: invocation.deadline - workbench.limits.reserve / 2,
            pace: Pace::new(rate),
            sent_here: HashSet::new(),
            late: 0,
            left: Vec::new(),
            aside: Vec::new(),
            verdicts: Vec::new(),
            unwritten: Vec::new(),
            record_failures: 0,
            send_failures: 0,
            note: None,
        }
    }

    /// Works through the run's queues until they are through, or something ends the part.
    pub(super) async fn work(&mut self) -> Step {
        let canary = self.await_canary().await;
        self.before_going_on(canary).await?;
        while let Some(queue) = self.order.queues.get(self.progress.queue) {
            self.go_through(queue).await?;
            self.progress.queue += 1;
            self.progress.gone = 0;
        }
        let step = self.jobs_without_message().await;
        self.before_going_on(step).await
    }

    /// Looks at what came back before the caller is asked to go on.
    async fn before_going_on(&mut self, step: Step) -> Step {
        if matches!(step, Err(End::OutOfTime { .. })) {
            self.look_now().await?;
        }
        step
    }

    /// Goes through one dead-letter queue. What is left of it stays hidden when the run goes on, so that the next part does not
    /// read it again.
    async fn go_through(&mut self, queue: &StackQueue) -> Step {
        let gone_before = self.progress.gone;
        let mut sweep = Sweep::new(&*queue.dead_letters, self.workbench.limits.sweep);
        let outcome = self.pages(queue, &mut sweep).await;
        let outcome = self.before_going_on(outcome).await;
        self.leave_rest(&mut sweep);
        let aside = std::mem::take(&mut self.aside);
        if matches!(outcome, Err(End::OutOfTime { .. })) {
            self.give_back(queue, handles(&aside)).await;
            return outcome;
        }
        if !aside.is_empty() {
            self.tell("messages without a job cannot be a canary; they were left, put them back without one".to_owned());
        }
        aside.iter().for_each(|draft| sweep.leave(&draft.letter.message));
        if outcome.is_ok() {
            self.tell_of_hidden_groups(queue, gone_before + sweep.seen() as u64, sweep.groups_left());
        }
        sweep.release().await;
        outcome
    }

    /// A FIFO queue gives out nothing more of a group while one of its messages is hidden, and what was left is hidden until the end. To show it
    /// earlier would only bring it again.
    fn tell_of_hidden_groups(&mut self, queue: &StackQueue, known: u64, groups: usize) {
        let snapshot = self.progress.snapshots.get(self.progress.queue).copied().unwrap_or(0);
        let unseen = snapshot.saturating_sub(known);
        if queue.dead_letter_queue_name.is_fifo() && groups > 0 && unseen > 0 && self.room() > 0 && !self.has_found_all() {
            self.tell(format!(
                "{unseen} of the {snapshot} messages in {} did not come out: they stand behind messages that were left, in {groups} groups of a \
                 FIFO queue at most. Deal with what was left, see the verdicts and the filter, then run again",
                queue.dead_letter_queue_name.as_str()
            ));
        }
    }

    /// Something that the caller has to know.
    pub(super) fn tell(&mut self, news: String) {
        self.note = Some(match self.note.take() {
            Some(note) => format!("{note}; {news}"),
            None => news,
        });
    }

    async fn pages(&mut self, queue: &StackQueue, sweep: &mut Sweep<'_>) -> Step {
        let gone_before = self.progress.gone;
        self.late = 0;
        while self.room() > 0 && !self.has_found_all() && !self.is_through(gone_before, sweep.seen() as u64) {
            self.in_time()?;
            let Some(page) = self.next_page(queue, sweep).await? else { break };
            if let Err(end) = self.in_time() {
                self.give_back(queue, page.letters.into_iter().map(|letter| letter.message.receipt_handle).collect()).await;
                return Err(end);
            }
            match self.order.task {
                Task::PutBack(_) => self.put_back(page).await?,
                Task::Discard => self.discard(page).await?,
            }
            let step = self.after_page(queue).await;
            self.leave_rest(sweep);
            step?;
        }
        Ok(())
    }

    /// What stays in the queue stays hidden until the sweep is over.
    fn leave_rest(&mut self, sweep: &mut Sweep<'_>) {
        for message in self.left.drain(..) {
            sweep.leave(&message);
        }
    }

    /// What stands between two pages.
    pub(super) async fn after_page(&mut self, queue: &StackQueue) -> Step {
        self.await_canary().await?;
        if self.progress.canary == Canary::Off && !self.aside.is_empty() {
            let aside = std::mem::take(&mut self.aside);
            self.send_drafts(queue, aside).await?;
        }
        self.look_at_returned().await?;
        self.checkpoint().await
    }

    /// Whether the snapshot's messages are gone or were seen: what is in the queue beyond them came later. Jobs that are named
    /// are looked for to the end.
    fn is_through(&self, gone_before: u64, seen: u64) -> bool {
        let snapshot = self.progress.snapshots.get(self.progress.queue).copied().unwrap_or(0);
        let is_bounded = snapshot > 0 && self.order.filter.job_ids.is_empty();
        is_bounded && gone_before + seen.saturating_sub(self.late) >= snapshot
    }

    /// How many more messages may be taken at once.
    pub(super) fn room(&self) -> u64 {
        let left = self.order.max.saturating_sub(self.progress.counted + self.aside.len() as u64);
        match &self.progress.canary {
            Canary::Sending { missing, .. } => left.min(u64::from(*missing)),
            _ => left,
        }
        .min(PAGE)
    }

    /// Whether every job that the filter names was found.
    fn has_found_all(&self) -> bool {
        let named = &self.order.filter.job_ids;
        !named.is_empty() && named.iter().all(|job_id| self.progress.found.contains(job_id))
    }

    pub(super) fn in_time(&self) -> Step {
        if self.workbench.clock.now() < self.end { Ok(()) } else { Err(End::OutOfTime { resume_in: Duration::ZERO }) }
    }

    /// Waits for a call, but not into the time that is kept for the end. What was not waited for may have been done all the same.
    pub(super) async fn waited_for<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(self.last_call.since(self.workbench.clock.now()), call).await.ok()
    }

    /// The time until nothing new is begun.
    pub(super) fn time_left(&self) -> Duration {
        self.end.since(self.workbench.clock.now())
    }
}
