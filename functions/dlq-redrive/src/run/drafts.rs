//! Messages on their way back: each in its turn, still hidden, prepared, sent, and only then deleted.

use std::time::Duration;

use futures::future::join_all;
use ikkai::clock::EpochMillis;
use ikkai::job::JobId;
use ikkai::queue::{MAX_ENTRIES, OutgoingMessage, QueueError, ReceivedMessage, SendVerdict, VisibilityChange, change_each};

use super::part::{End, FAILURES_IN_A_ROW, Part, Step};
use super::preparing::Preparation;
use super::sending::{concerns_queue, deduplication_id, send_together, unanswered};
use crate::dead_letter::DeadLetter;
use crate::protocol::{MessageVerdict, Stopped, VerdictCode};
use crate::queues::StackQueue;

/// What the handling of some messages may take at most, three times over.
const HANDLING: Duration = Duration::from_secs(30);

/// Why a message stays whose group is held back.
const WAITS_FOR_ITS_GROUP: &str = "an earlier message of its group was not sent";

/// A message that shall be put back.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) letter: DeadLetter,
    /// Where it goes.
    pub(super) target: StackQueue,
    /// Jobs whose records are put back first, with the generation that was read.
    pub(super) resets: Vec<(JobId, u32)>,
    /// The body is made again from this job's record.
    pub(super) rebuilt_from: Option<JobId>,
    /// The message comes out of the dead-letter queue again from here on.
    pub(super) hidden_until: EpochMillis,
}

/// A message that is ready to be sent.
pub(super) struct Ready {
    /// Its message in the dead-letter queue; `None` for a job that has none any more.
    pub(super) received: Option<(ReceivedMessage, EpochMillis)>,
    pub(super) job_ids: Vec<String>,
    /// Those of them that run now.
    pub(super) running: Vec<String>,
    pub(super) target: StackQueue,
    pub(super) message: OutgoingMessage,
}

impl Draft {
    /// The group whose order it has a place in, if it has one.
    pub(super) fn group(&self) -> Option<String> {
        group(&self.target, self.letter.message.group_id.as_deref())
    }
}

/// The receipts of messages.
pub(super) fn handles(drafts: &[Draft]) -> Vec<String> {
    drafts.iter().map(|draft| draft.letter.message.receipt_handle.clone()).collect()
}

/// A group of a queue that keeps order.
fn group(target: &StackQueue, group_id: Option<&str>) -> Option<String> {
    target.queue_name.is_fifo().then(|| format!("{}/{}", target.queue_name.as_str(), group_id.unwrap_or_default()))
}

impl Part<'_> {
    /// A message stays behind for a reason that may pass: what follows it in its group waits for the next run too.
    pub(super) fn hold_back(&mut self, target: Option<&StackQueue>, group_id: Option<&str>) {
        if let Some(group) = target.and_then(|target| group(target, group_id)) {
            self.progress.block(group);
        }
    }

    /// Leaves messages whose group is held back, before anything is done to their records.
    fn without_held_back(&mut self, queue: &StackQueue, drafts: Vec<Draft>) -> Vec<Draft> {
        let is_held = |draft: &Draft| draft.group().is_some_and(|group| self.progress.blocked.contains(&group));
        let (held, free): (Vec<_>, Vec<_>) = drafts.into_iter().partition(is_held);
        for draft in held {
            self.judge(queue, &draft.letter, VerdictCode::SendFailed, Some(WAITS_FOR_ITS_GROUP.to_owned()));
            self.left.push(draft.letter.message);
        }
        free
    }

    /// Puts messages back at the run's pace.
    pub(super) async fn send_drafts(&mut self, queue: &StackQueue, drafts: Vec<Draft>) -> Step {
        let drafts = self.keep_hidden(queue, drafts).await;
        let mut waiting = self.without_held_back(queue, drafts);
        if let Err(end) = self.count_in_advance(waiting.len()).await {
            self.give_back(queue, handles(&waiting)).await;
            return Err(end);
        }
        while !waiting.is_empty() {
            let count = self.pace.at_once().min(waiting.len());
            if self.in_time().is_err() || !self.pace.turn(count, self.time_left()).await {
                self.give_back(queue, handles(&waiting)).await;
                return Err(End::OutOfTime { resume_in: Duration::ZERO });
            }
            waiting = self.keep_hidden(queue, waiting).await;
            waiting = self.without_held_back(queue, waiting);
            let later = waiting.split_off(count.min(waiting.len()));
            let ready = self.prepare_all(queue, waiting).await;
            let step = self.send_ready(queue, ready).await;
            if let Err(end) = step.and_then(|()| self.in_order("the jobs table takes no writes")) {
                match end {
                    End::OutOfTime { .. } => self.give_back(queue, handles(&later)).await,
                    End::Stopped(..) => self.release_now(queue, handles(&later)).await,
                }
                return Err(end);
            }
            waiting = later;
        }
        Ok(())
    }

    /// The next part shall find them at once: they were not seen yet.
    pub(super) async fn give_back(&mut self, queue: &StackQueue, handles: Vec<String>) {
        let seen = &mut self.run.summary.tally.seen;
        *seen = seen.saturating_sub(handles.len() as u64);
        self.release_now(queue, handles).await;
    }

    /// Makes received messages visible again.
    async fn release_now(&self, queue: &StackQueue, handles: Vec<String>) {
        let to_change = |receipt_handle| VisibilityChange { receipt_handle, visible_in: Duration::ZERO };
        let changes: Vec<_> = handles.into_iter().map(to_change).collect();
        for changes in changes.chunks(MAX_ENTRIES) {
            if let Err(error) = change_each(&*queue.dead_letters, changes).await {
                tracing::warn!(error = %error, "messages stay hidden until their time is over");
            }
        }
    }

    /// Hides messages for longer that would be visible again before they are dealt with. One that somebody else may have by now
    /// is left: it comes out again.
    async fn keep_hidden(&mut self, queue: &StackQueue, drafts: Vec<Draft>) -> Vec<Draft> {
        let hidden_for = self.workbench.limits.sweep.hidden_for;
        let now = self.workbench.clock.now();
        let is_late = |draft: &&Draft| draft.hidden_until <= now + HANDLING.min(hidden_for / 3);
        let handles = drafts.iter().filter(is_late).map(|draft| draft.letter.message.receipt_handle.clone());
        let changes: Vec<_> = handles.map(|receipt_handle| VisibilityChange { receipt_handle, visible_in: hidden_for }).collect();
        if changes.is_empty() {
            return drafts;
        }
        let mut verdicts = Vec::with_capacity(changes.len());
        for changes in changes.chunks(MAX_ENTRIES) {
            verdicts.extend(match change_each(&*queue.dead_letters, changes).await {
                Ok(verdicts) => verdicts,
                Err(error) => vec![Err(error); changes.len()],
            });
        }
        let mut verdicts = verdicts.into_iter();
        let mut hidden = Vec::with_capacity(drafts.len());
        for mut draft in drafts {
            if is_late(&&draft) {
                if !matches!(verdicts.next(), Some(Ok(()))) {
                    let detail = "the message was visible again before its turn; the next run finds it";
                    self.judge(queue, &draft.letter, VerdictCode::Changed, Some(detail.to_owned()));
                    self.hold_back(Some(&draft.target), draft.letter.message.group_id.as_deref());
                    continue;
                }
                draft.hidden_until = now + hidden_for;
            }
            hidden.push(draft);
        }
        hidden
    }

    /// Prepares the records, side by side. What cannot be sent has its verdict afterwards.
    async fn prepare_all(&mut self, queue: &StackQueue, drafts: Vec<Draft>) -> Vec<Ready> {
        let this = &*self;
        let prepared = join_all(drafts.iter().map(|draft| async move {
            // A record that was put back all the same waits for its message, which the next run sends.
            let late = || Preparation::Left(VerdictCode::RecordFailed, Some("no answer before the invocation's end".to_owned()));
            this.waited_for(this.prepare(draft)).await.unwrap_or_else(late)
        }));
        let prepared = prepared.await;
        let (mut ready, mut done) = (Vec::new(), Vec::new());
        for (draft, preparation) in drafts.into_iter().zip(prepared) {
            self.record_failures = match &preparation {
                Preparation::Left(VerdictCode::RecordFailed, _) => self.record_failures + 1,
                _ => 0,
            };
            match preparation {
                Preparation::Send { message, running } => ready.push(Ready {
                    job_ids: draft.letter.job_ids().map(|job_id| job_id.as_str().to_owned()).collect(),
                    received: Some((draft.letter.message, draft.hidden_until)),
                    running,
                    target: draft.target,
                    message: *message,
                }),
                Preparation::Done => done.push(draft.letter),
                Preparation::Left(verdict, detail) => {
                    self.judge(queue, &draft.letter, verdict, detail);
                    if matches!(verdict, VerdictCode::RecordFailed | VerdictCode::Changed) {
                        self.hold_back(Some(&draft.target), draft.letter.message.group_id.as_deref());
                    }
                    self.left.push(draft.letter.message);
                }
            }
        }
        self.delete_done(queue, done).await;
        ready
    }

    /// Sends what is ready, each to its target, and deletes what was confirmed.
    pub(super) async fn send_ready(&mut self, queue: &StackQueue, ready: Vec<Ready>) -> Step {
        let (mut waiting, mut step) = (ready, Ok(()));
        while let Some(first) = waiting.first() {
            let target = first.target.clone();
            let (batch, others): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|ready| ready.target.queue_name == target.queue_name);
            waiting = others;
            let messages: Vec<_> = batch.iter().map(|ready| ready.message.clone()).collect();
            let verdicts = match target.queue_name.is_fifo() {
                true => self.send_in_order(&target, &batch).await,
                false => self.send_in_time(&target, &messages).await,
            };
            // One target that cannot be sent to does not keep the others from what is prepared for them.
            step = step.and(self.after_sending(queue, batch, &verdicts).await);
        }
        step
    }

    /// One by one, each under a deduplication id that no earlier sending had. What follows a message of its group that could not
    /// be sent waits for the next run.
    async fn send_in_order(&mut self, target: &StackQueue, batch: &[Ready]) -> Vec<SendVerdict> {
        let mut verdicts = Vec::with_capacity(batch.len());
        for ready in batch {
            let group_id = ready.message.group_id.as_deref();
            if group(target, group_id).is_some_and(|group| self.progress.blocked.contains(&group)) {
                verdicts.push(Err(QueueError::Refused { operation: "SendMessage", code: WAITS_FOR_ITS_GROUP.to_owned() }));
                continue;
            }
            let former = ready
                .received
                .as_ref()
                .map_or("", |(received, _)| received.deduplication_id.as_deref().unwrap_or(&received.message_id));
            let deduplication_id = Some(deduplication_id(former, &self.run.summary.run_id));
            let message = OutgoingMessage { deduplication_id, ..ready.message.clone() };
            let verdict =
                self.send_in_time(target, std::slice::from_ref(&message)).await.pop().unwrap_or_else(|| Err(unanswered()));
            if verdict.is_err() {
                self.hold_back(Some(target), group_id);
            }
            verdicts.push(verdict);
        }
        verdicts
    }

    /// What was not waited for may have gone out: it counts as unanswered.
    async fn send_in_time(&self, target: &StackQueue, messages: &[OutgoingMessage]) -> Vec<SendVerdict> {
        let sent = self.waited_for(send_together(target, messages)).await;
        sent.unwrap_or_else(|| messages.iter().map(|_| Err(unanswered())).collect())
    }

    async fn after_sending(&mut self, queue: &StackQueue, batch: Vec<Ready>, verdicts: &[SendVerdict]) -> Step {
        let (mut sent, mut stop) = (Vec::new(), Ok(()));
        for (ready, verdict) in batch.into_iter().zip(verdicts) {
            match verdict {
                Ok(()) => {
                    self.send_failures = 0;
                    self.note_sent(&ready);
                    sent.push(ready);
                }
                Err(error) => {
                    let ended = self.note_unsent(queue, ready, error);
                    stop = stop.and(ended);
                }
            }
        }
        self.delete_sent(queue, sent).await;
        stop
    }

    fn note_sent(&mut self, ready: &Ready) {
        self.sent_here.extend(ready.running.iter().cloned());
        self.progress.watch(&ready.running);
        self.note_canary(&ready.running);
    }

    fn note_unsent(&mut self, queue: &StackQueue, ready: Ready, error: &QueueError) -> Step {
        if matches!(error, QueueError::Unavailable { .. }) {
            self.send_failures += 1;
            // It may have gone out, so it counts, and a run never exceeds its `max`.
            self.progress.counted += 1;
            self.sent_here.extend(ready.running);
        }
        let message_id = ready.received.as_ref().map(|(received, _)| received.message_id.clone());
        self.left.extend(ready.received.map(|(received, _)| received));
        let verdict = VerdictCode::SendFailed;
        self.note_verdict(queue, MessageVerdict { message_id, job_ids: ready.job_ids, verdict, detail: Some(error.to_string()) });
        let has_failed_often = self.send_failures >= FAILURES_IN_A_ROW;
        if has_failed_often && !concerns_queue(error) {
            // What was not waited for says nothing about the target: the next part finds out.
            self.in_time()?;
        }
        if concerns_queue(error) || has_failed_often {
            let detail = format!("{}: {error}", ready.target.queue_name.as_str());
            return Err(End::Stopped(Stopped::TargetUnavailable, detail));
        }
        Ok(())
    }

    /// A handle whose time is over is accepted, and may delete nothing: such a message counts as not deleted
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html>).
    async fn delete_sent(&mut self, queue: &StackQueue, sent: Vec<Ready>) {
        let handles: Vec<_> = sent.iter().filter_map(|ready| Some(ready.received.as_ref()?.0.receipt_handle.clone())).collect();
        let mut deleted = self.delete(queue, &handles).await.into_iter();
        let now = self.workbench.clock.now();
        for ready in sent {
            let (message_id, problem) = match ready.received {
                None => (None, None),
                Some((received, hidden_until)) => {
                    let problem = match deleted.next() {
                        Some(Ok(())) if now < hidden_until => None,
                        Some(Err(error)) => Some(error.to_string()),
                        _ => Some("the message was visible again before it could be deleted".to_owned()),
                    };
                    (Some(received.message_id), problem)
                }
            };
            let verdict = match (&problem, &message_id) {
                (Some(_), Some(message_id)) => {
                    self.progress.remember_undeleted(message_id);
                    VerdictCode::SentNotDeleted
                }
                _ => VerdictCode::Redriven,
            };
            self.note_verdict(queue, MessageVerdict { message_id, job_ids: ready.job_ids, verdict, detail: problem });
        }
    }

    /// Deletes messages for which nothing is left to do.
    pub(super) async fn delete_done(&mut self, queue: &StackQueue, done: Vec<DeadLetter>) {
        let handles: Vec<_> = done.iter().map(|letter| letter.message.receipt_handle.clone()).collect();
        let deleted = self.delete(queue, &handles).await;
        for (letter, deleted) in done.into_iter().zip(deleted) {
            match deleted {
                Ok(()) => self.judge(queue, &letter, VerdictCode::AlreadyDone, None),
                Err(error) => self.judge(queue, &letter, VerdictCode::NotDeleted, Some(error.to_string())),
            }
        }
    }
}
