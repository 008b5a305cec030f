//! A page of messages out of a dead-letter queue, with the records of their jobs.

use std::time::Duration;

use futures::future::join_all;
use ikkai::clock::EpochMillis;
use ikkai::consumer::contents;
use ikkai::idempotency::{JobRecord, Status, StoreError};
use ikkai::queue::{MAX_ENTRIES, QueueError, ReceivedMessage};

use super::part::{End, FAILURES_IN_A_ROW, PAGE, Part};
use crate::dead_letter::{DeadLetter, Place};
use crate::matching::is_meant;
use crate::protocol::{Stopped, VerdictCode};
use crate::queues::StackQueue;
use crate::sweep::Sweep;

/// A message that was sent less than this after the run's start counts as one that was there: clocks differ.
pub(super) const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);

/// A call that failed is repeated after this time.
pub(super) const PAUSE: Duration = Duration::from_millis(200);

/// A record that was not read before the invocation's last moments.
pub(super) const NOT_WAITED_FOR: StoreError =
    StoreError::Throttled { operation: "a call that took until the end of the invocation" };

/// Messages that the run means, out of one receive.
pub(super) struct Page<'q> {
    pub(super) queue: &'q StackQueue,
    /// The messages come out again from here on.
    pub(super) hidden_until: EpochMillis,
    pub(super) letters: Vec<DeadLetter>,
}

/// What a message is to the run, before its plan.
enum Standing {
    /// The filter means it.
    Meant,
    /// The filter does not, it came after the run's start, or an earlier part has judged it.
    NotMeant,
    /// This run has sent its job, and it failed again.
    CameBack,
    /// This run has sent it and could not delete it.
    SentBefore,
}

impl Part<'_> {
    /// The next messages that are meant; `None` when the queue is through.
    pub(super) async fn next_page<'q>(&mut self, queue: &'q StackQueue, sweep: &mut Sweep<'_>) -> Result<Option<Page<'q>>, End> {
        let taken_at = self.workbench.clock.now();
        let messages = self.receive(sweep).await?;
        if messages.is_empty() {
            return Ok(None);
        }
        self.run.summary.tally.seen += messages.len() as u64;
        let letters = self.read(queue, messages, sweep).await;
        if let Err(end) = self.in_order("the jobs table does not answer") {
            self.left.extend(letters.into_iter().map(|letter| letter.message));
            return Err(end);
        }
        let letters = self.meant(queue, letters, sweep).await;
        Ok(Some(Page { queue, hidden_until: taken_at + self.workbench.limits.sweep.hidden_for, letters }))
    }

    async fn receive(&self, sweep: &mut Sweep<'_>) -> Result<Vec<ReceivedMessage>, End> {
        let room = usize::try_from(self.room().min(PAGE)).unwrap_or(MAX_ENTRIES);
        let received = self.waited_for(async {
            match sweep.next(room).await {
                Err(QueueError::Unavailable { .. }) => {
                    tokio::time::sleep(PAUSE).await;
                    sweep.next(room).await
                }
                received => received,
            }
        });
        // What was taken without an answer comes out by itself.
        let received = received.await.ok_or(End::OutOfTime { resume_in: Duration::ZERO })?;
        received.map_err(|error| End::Stopped(Stopped::Unavailable, format!("the dead-letter queue: {error}")))
    }

    /// Reads the records of each message's jobs, side by side.
    async fn read(&mut self, queue: &StackQueue, messages: Vec<ReceivedMessage>, sweep: &mut Sweep<'_>) -> Vec<DeadLetter> {
        let records = &*self.workbench.records;
        let this = &*self;
        let reads = join_all(messages.into_iter().map(|message| async move {
            let read = this.waited_for(async {
                match DeadLetter::read(message.clone(), queue, records).await {
                    Err(_) => {
                        tokio::time::sleep(PAUSE).await;
                        DeadLetter::read(message.clone(), queue, records).await
                    }
                    read => read,
                }
            });
            read.await.unwrap_or(Err(NOT_WAITED_FOR)).map_err(|error| (message, error))
        }));
        let mut letters = Vec::new();
        for read in reads.await {
            match read {
                Ok(letter) => {
                    self.record_failures = 0;
                    letters.push(letter);
                }
                Err((message, error)) => self.unreadable_record(queue, &message, &error, sweep),
            }
        }
        letters
    }

    /// Whether the message is meant cannot be said; as far as its jobs and their types tell, it is.
    fn unreadable_record(&mut self, queue: &StackQueue, message: &ReceivedMessage, error: &StoreError, sweep: &mut Sweep<'_>) {
        self.record_failures += 1;
        sweep.leave(message);
        let contents = contents(&message.body, queue.kind, queue.queue_name.as_str(), &message.message_id);
        let places = contents.into_iter().map(|content| Place { content, record: None }).collect();
        let letter = DeadLetter { message: message.clone(), places };
        let filter = crate::protocol::Filter { classes: Vec::new(), codes: Vec::new(), ..self.order.filter.clone() };
        if is_meant(&filter, &letter, queue, self.workbench.clock.now()) {
            self.judge(queue, &letter, VerdictCode::RecordFailed, Some(error.to_string()));
            self.hold_back(self.target_of(&letter, queue).as_ref(), message.group_id.as_deref());
        }
    }

    /// Leaves what is not meant, and what has come back.
    async fn meant(&mut self, queue: &StackQueue, letters: Vec<DeadLetter>, sweep: &mut Sweep<'_>) -> Vec<DeadLetter> {
        let mut meant = Vec::with_capacity(letters.len());
        let mut sent_before = Vec::new();
        for letter in letters {
            match self.standing(queue, &letter) {
                Standing::Meant => meant.push(letter),
                Standing::NotMeant => sweep.leave(&letter.message),
                Standing::SentBefore => sent_before.push(letter.message.receipt_handle.clone()),
                Standing::CameBack => {
                    sweep.leave(&letter.message);
                    self.note_returned(&letter);
                    self.judge(queue, &letter, VerdictCode::CameBack, None);
                }
            }
        }
        // The verdict on these was given before.
        self.delete(queue, &sent_before).await;
        meant
    }

    fn standing(&mut self, queue: &StackQueue, letter: &DeadLetter) -> Standing {
        let now = self.workbench.clock.now();
        if self.progress.undeleted.contains(&letter.message.message_id) {
            return Standing::SentBefore;
        }
        let is_late = self.is_late(letter);
        self.late += u64::from(is_late);
        let has_its_verdict = self.progress.judged.contains(&letter.message.message_id);
        if has_its_verdict || !is_meant(&self.order.filter, letter, queue, now) {
            return Standing::NotMeant;
        }
        let has_failed_again = letter.places.iter().any(|place| self.has_failed_again(place, is_late, now));
        match (has_failed_again, is_late) {
            (true, _) => Standing::CameBack,
            (false, true) => Standing::NotMeant,
            (false, false) => Standing::Meant,
        }
    }

    /// Whether the message came into the queue after the run's start: it was sent after it, or given up after it.
    fn is_late(&self, letter: &DeadLetter) -> bool {
        let began_at = self.run.began_at;
        let died_later =
            |place: &Place| place.record.as_ref().and_then(|record| record.died_at).is_some_and(|died| died > began_at);
        letter.message.sent_at.is_some_and(|sent| sent > began_at + CLOCK_TOLERANCE) || letter.places.iter().any(died_later)
    }

    /// The jobs of a message that has come back count as having failed again.
    fn note_returned(&mut self, letter: &DeadLetter) {
        let (is_late, now) = (self.is_late(letter), self.workbench.clock.now());
        for place in letter.places.iter().filter(|place| self.has_failed_again(place, is_late, now)).collect::<Vec<_>>() {
            if let Some(job_id) = place.job_id() {
                self.note_failed_again(job_id.as_str());
            }
        }
    }

    /// A job that this run has sent was neither dead nor in doubt then. Of what earlier parts sent only some are known by
    /// name: a message from after the start whose job was put back before is one of them too.
    fn has_failed_again(&self, place: &Place, is_late: bool, now: EpochMillis) -> bool {
        let Some(record) = place.record.as_ref().filter(|record| !record.is_expired(now)) else { return false };
        let was_sent = self.sent_here.contains(record.job_id.as_str())
            || self.progress.watched.iter().any(|job_id| job_id == record.job_id.as_str())
            || (is_late && record.generation > 0);
        was_sent && has_failed(record)
    }

    /// Ends the run when record after record could not be read or written.
    pub(super) fn in_order(&self, problem: &str) -> Result<(), End> {
        if self.record_failures < FAILURES_IN_A_ROW {
            return Ok(());
        }
        // What was not waited for says nothing about the table: the next part finds out.
        self.in_time()?;
        Err(End::Stopped(Stopped::Unavailable, format!("{problem}; the last {FAILURES_IN_A_ROW} tries failed")))
    }
}

/// Whether a job was given up, or nobody knows.
pub(super) fn has_failed(record: &JobRecord) -> bool {
    matches!(record.status, Status::Dead | Status::InDoubt)
}
