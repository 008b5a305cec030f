//! A run from its first part to its end.
//!
//! A part that finds no time left ends with a cursor, and the same request with the cursor goes on. Between two parts the operator can stop. What
//! is done is watched meanwhile through the history, which a run writes as it goes.

use std::time::Duration;

use dlq_redrive::protocol::{Answer, Discard, HistoryRequest, Redrive, RedriveAnswer, RefusalCode, Request, RunState, Tally};
use serde_json::Value;
use tokio::time::sleep;

use super::desk::{Desk, DeskError, Reply};
use super::interrupt::Interrupt;

/// How often a part at work is looked at.
const EVERY: Duration = Duration::from_secs(2);

/// Looks that fail in a row before nobody looks any more: the function may have no concurrency to spare.
const BLIND_AFTER: u32 = 3;

/// Runs of a queue's history in which the own one is looked for.
const RECENT: u32 = 5;

/// How often a request whose answer was lost is repeated.
const REPEATS: u32 = 3;

/// Wait before the first repetition.
const REPEAT_AFTER: Duration = Duration::from_secs(5);

/// How often a repeated request is put off because its own earlier invocation is still at work. With at most 30 s each: longer than a function may
/// run.
const PUT_OFF: u32 = 40;

/// Longest wait before a request that was put off.
const PUT_OFF_FOR: Duration = Duration::from_secs(30);

/// What a run is asked with.
#[derive(Debug, Clone, PartialEq)]
pub enum RunRequest {
    /// Putting back.
    Redrive(Redrive),
    /// Removing.
    Discard(Discard),
}

impl RunRequest {
    /// As it is asked.
    #[must_use]
    pub fn request(&self) -> Request {
        match self {
            Self::Redrive(redrive) => Request::Redrive(redrive.clone()),
            Self::Discard(discard) => Request::Discard(discard.clone()),
        }
    }

    /// The run's name.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::Redrive(redrive) => redrive.run_id.as_deref(),
            Self::Discard(discard) => discard.run_id.as_deref(),
        }
    }

    /// Where the run goes on.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        match self {
            Self::Redrive(redrive) => redrive.cursor.as_deref(),
            Self::Discard(discard) => discard.cursor.as_deref(),
        }
    }

    /// Most messages that it touches.
    #[must_use]
    pub const fn max(&self) -> u32 {
        match self {
            Self::Redrive(redrive) => redrive.max,
            Self::Discard(discard) => discard.max,
        }
    }

    /// Whether every message of the queue is meant.
    #[must_use]
    pub fn means_all(&self) -> bool {
        match self {
            Self::Redrive(redrive) => redrive.filter.is_empty(),
            Self::Discard(discard) => discard.filter.is_empty(),
        }
    }

    /// The same, with a name: under it the request can be repeated without being done twice.
    #[must_use]
    pub fn named(mut self) -> Self {
        match &mut self {
            Self::Redrive(Redrive { run_id, .. }) | Self::Discard(Discard { run_id, .. }) => {
                run_id.get_or_insert_with(new_run_id);
            }
        }
        self
    }

    /// The same, only said and not done; under another name, because a name is for one request.
    #[must_use]
    pub fn dry(&self) -> Self {
        let mut dry = self.clone();
        match &mut dry {
            Self::Redrive(Redrive { dry_run, run_id, cursor, .. }) | Self::Discard(Discard { dry_run, run_id, cursor, .. }) => {
                *dry_run = true;
                *run_id = Some(new_run_id());
                *cursor = None;
            }
        }
        dry
    }

    /// The queue that its history is kept under; a discard names only a dead-letter queue.
    fn queue(&self) -> &str {
        match self {
            Self::Redrive(redrive) => &redrive.queue,
            Self::Discard(_) => "all",
        }
    }

    fn go_on_at(&mut self, at: String) {
        match self {
            Self::Redrive(redrive) => redrive.cursor = Some(at),
            Self::Discard(discard) => discard.cursor = Some(at),
        }
    }
}

/// A name for a run, that nobody else gives.
#[must_use]
fn new_run_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// What is seen of a run on its way.
#[derive(Debug, Clone, Copy)]
pub enum Sight<'a> {
    /// Counts, so far.
    Counts(&'a Tally),
    /// A part is over and the run goes on, after this time.
    Part {
        /// Counts, so far.
        tally: &'a Tally,
        /// What is going on, where the run says so.
        detail: Option<&'a str>,
        /// Until the next part.
        wait: Duration,
    },
    /// The answer was lost, and the same is asked again.
    Again(&'a DeskError),
}

/// The history could not be read.
struct Unseen;

/// How it ended.
#[derive(Debug)]
pub enum Outcome {
    /// Over, or refused: the last answer, with the verdicts of all parts.
    Answered(Reply),
    /// The operator stopped it: the last answer. It goes on at the request's cursor.
    Interrupted(Reply),
    /// There is no last answer.
    Lost(DeskError),
}

/// A run on its way.
#[derive(Debug)]
pub struct Course {
    /// The request; its cursor is where the run goes on.
    pub request: RunRequest,
    verdicts: Vec<Value>,
    parts: u32,
    may_be_done: bool,
}

impl Course {
    /// A run that begins, or goes on at its request's cursor.
    #[must_use]
    pub fn new(request: RunRequest) -> Self {
        Self { request, verdicts: Vec::new(), parts: 0, may_be_done: false }
    }

    /// Whether something of the run was done, or may be: then it can be gone on with.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.may_be_done || self.request.cursor().is_some()
    }

    /// Asks until the run is over, the operator stops it, or there is no answer. `told` hears of it meanwhile.
    pub async fn follow(
        &mut self,
        desk: &dyn Desk,
        interrupt: &mut Interrupt,
        told: &mut (dyn FnMut(Sight<'_>) + Send),
    ) -> Outcome {
        loop {
            let reply = match self.part(desk, interrupt, told).await {
                Ok(reply) => reply,
                Err(error) => return Outcome::Lost(error),
            };
            self.parts += 1;
            let Some(run) = run_of(&reply.answer) else { return Outcome::Answered(reply) };
            let (state, wait) = (run.state, run.continue_after_seconds.unwrap_or(0));
            let (cursor, tally, detail) = (run.cursor.clone(), run.tally.clone(), run.detail.clone());
            let reply = self.merged(reply);
            let (RunState::Continues, Some(cursor)) = (state, cursor) else { return Outcome::Answered(reply) };
            self.request.go_on_at(cursor);
            let wait = Duration::from_secs(wait);
            told(Sight::Part { tally: &tally, detail: detail.as_deref(), wait });
            if interrupted_within(interrupt, wait).await {
                return Outcome::Interrupted(reply);
            }
        }
    }

    /// One part, asked again where its answer was lost: under the same run id and cursor it is not done twice.
    /// Once the operator wants to stop, nothing is asked again.
    async fn part(
        &mut self,
        desk: &dyn Desk,
        interrupt: &mut Interrupt,
        told: &mut (dyn FnMut(Sight<'_>) + Send),
    ) -> Result<Reply, DeskError> {
        let (mut repeats, mut put_off) = (0, 0);
        loop {
            match self.watched(desk, told).await {
                Ok(reply) => match at_work_still(&reply.answer).filter(|_| repeats > 0 && put_off < PUT_OFF) {
                    Some(wait) => {
                        put_off += 1;
                        if interrupted_within(interrupt, wait).await {
                            return Ok(reply);
                        }
                    }
                    None => return Ok(reply),
                },
                Err(error) => {
                    self.may_be_done |= error.may_be_done();
                    if !error.is_lost() || repeats == REPEATS || self.request.run_id().is_none() {
                        return Err(error);
                    }
                    repeats += 1;
                    told(Sight::Again(&error));
                    if interrupted_within(interrupt, REPEAT_AFTER * repeats).await {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Asks, and looks at the history while there is no answer.
    async fn watched(&self, desk: &dyn Desk, told: &mut (dyn FnMut(Sight<'_>) + Send)) -> Result<Reply, DeskError> {
        let request = self.request.request();
        let mut answer = std::pin::pin!(desk.ask(&request));
        let mut blind = 0;
        while blind < BLIND_AFTER {
            let look = async {
                sleep(EVERY).await;
                self.look(desk).await
            };
            tokio::select! {
                biased;
                reply = &mut answer => return reply,
                seen = look => match seen {
                    Ok(tally) => {
                        blind = 0;
                        tally.iter().for_each(|tally| told(Sight::Counts(tally)));
                    }
                    Err(Unseen) => blind += 1,
                },
            }
        }
        answer.await
    }

    /// The counts of this run by the history, once it stands there.
    async fn look(&self, desk: &dyn Desk) -> Result<Option<Tally>, Unseen> {
        let run_id = self.request.run_id().ok_or(Unseen)?;
        let recent = HistoryRequest { queue: self.request.queue().to_owned(), run_id: None, max: RECENT };
        match desk.ask(&Request::History(recent)).await {
            Ok(Reply { answer: Answer::History(history), .. }) => {
                Ok(history.runs.into_iter().find(|run| run.run_id == run_id).map(|run| run.tally))
            }
            _ => Err(Unseen),
        }
    }

    /// The answer with the verdicts of all parts so far. The answer of the only part is left as it came.
    fn merged(&mut self, mut reply: Reply) -> Reply {
        if let Some(verdicts) = reply.json.get("verdicts").and_then(Value::as_array) {
            self.verdicts.extend(verdicts.iter().cloned());
        }
        if self.parts < 2 {
            return reply;
        }
        reply.json["verdicts"] = Value::Array(self.verdicts.clone());
        // It was readable before, and verdicts are what every part had.
        Reply::read(reply.json.clone()).unwrap_or(reply)
    }
}

/// Waits, and no longer than the operator does. `true`: the operator wants to stop.
async fn interrupted_within(interrupt: &mut Interrupt, wait: Duration) -> bool {
    tokio::select! {
        biased;
        () = interrupt.wanted() => true,
        () = sleep(wait) => false,
    }
}

/// The run that an answer tells of.
fn run_of(answer: &Answer) -> Option<&RedriveAnswer> {
    match answer {
        Answer::Redrive(run) => Some(run),
        Answer::Discard(discard) => Some(&discard.run),
        _ => None,
    }
}

/// How long to wait for an earlier invocation of the same run.
fn at_work_still(answer: &Answer) -> Option<Duration> {
    match answer {
        Answer::Refused(_, refusal) if refusal.code == RefusalCode::RunInProgress => {
            Some(Duration::from_secs(refusal.retry_after_seconds.unwrap_or(10)).min(PUT_OFF_FOR))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
