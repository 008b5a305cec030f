//! What goes wrong with an SQS in memory: planned call by call, or by chance from a seed.

use std::collections::VecDeque;
use std::time::Duration;

use crate::queue::QueueError;

/// One kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqsOperation {
    /// Messages sent.
    Send,
    /// Messages received.
    Receive,
    /// Messages deleted.
    Delete,
    /// Visibility changed.
    ChangeVisibility,
    /// Depth read.
    Depth,
}

/// Whether something happens before a call takes effect, or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing is done.
    Before,
    /// All is done.
    After,
}

/// What shall go wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqsFault {
    /// The call fails; nothing is done.
    Refuse(QueueError),
    /// The call takes effect and fails all the same: its answer is lost.
    LoseAnswer,
    /// These entries fail, the others do not. [`QueueError::Refused`] is the sender's fault, [`QueueError::Unavailable`] passes.
    FailEntries(Vec<(usize, QueueError)>),
    /// The answer does not mention these entries.
    Unmentioned {
        /// Which ones.
        entries: Vec<usize>,
        /// Whether they were done.
        done: bool,
    },
    /// The call is held up, on tokio's clock, before it takes effect.
    Delay(Duration),
    /// A receive that finds nothing although there is something.
    FindNothing,
    /// A receive after which the messages stay visible: a standard queue may hand out a message twice.
    StayVisible,
    /// Whoever called never gets on: see [`MemorySqs::crashed`](super::MemorySqs::crashed).
    Crash(Moment),
}

/// What the call that has this fault does about one of its entries.
pub(super) enum EntryFate {
    /// It is done, and the answer says so.
    Done,
    /// It fails.
    Failed(QueueError),
    /// The answer does not mention it; whether it is done is in here.
    Unmentioned(bool),
}

impl SqsFault {
    pub(super) fn fate(fault: Option<&Self>, index: usize) -> EntryFate {
        match fault {
            Some(Self::FailEntries(failed)) => match failed.iter().find(|(entry, _)| *entry == index) {
                Some((_, error)) => EntryFate::Failed(error.clone()),
                None => EntryFate::Done,
            },
            Some(Self::Unmentioned { entries, done }) if entries.contains(&index) => EntryFate::Unmentioned(*done),
            _ => EntryFate::Done,
        }
    }
}

/// Faults that are still to come.
#[derive(Debug, Default)]
pub(super) struct Faults {
    planned: VecDeque<(String, SqsOperation, SqsFault)>,
    lasting: Vec<(String, SqsOperation, SqsFault)>,
    crash: Option<(u64, Moment)>,
    chance: Option<Chance>,
}

#[derive(Debug)]
struct Chance {
    dice: fastrand::Rng,
    per_mille: u32,
}

impl Faults {
    pub(super) fn plan(&mut self, queue: &str, operation: SqsOperation, fault: SqsFault) {
        self.planned.push_back((queue.to_owned(), operation, fault));
    }

    pub(super) fn last(&mut self, queue: &str, operation: SqsOperation, fault: SqsFault) {
        self.lasting.push((queue.to_owned(), operation, fault));
    }

    pub(super) fn crash_at(&mut self, call: u64, moment: Moment) {
        self.crash = Some((call, moment));
    }

    pub(super) fn by_chance(&mut self, seed: u64, per_mille: u32) {
        self.chance = (per_mille > 0).then(|| Chance { dice: fastrand::Rng::with_seed(seed), per_mille });
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The fault of the call that is made now: a crash that is due, else what was planned, else what lasts, else what chance brings.
    pub(super) fn draw(&mut self, queue: &str, operation: SqsOperation, entries: usize) -> Option<SqsFault> {
        if let Some(crash) = self.due_crash() {
            return Some(crash);
        }
        let fits = |(at, of, _): &(String, SqsOperation, SqsFault)| at == queue && *of == operation;
        if let Some(position) = self.planned.iter().position(fits) {
            return self.planned.remove(position).map(|(_, _, fault)| fault);
        }
        let lasting = self.lasting.iter().find(|lasting| fits(lasting)).map(|(_, _, fault)| fault.clone());
        lasting.or_else(|| self.chance.as_mut().and_then(|chance| chance.draw(operation, entries)))
    }

    fn due_crash(&mut self) -> Option<SqsFault> {
        let (calls, moment) = self.crash.take()?;
        if calls <= 1 {
            return Some(SqsFault::Crash(moment));
        }
        self.crash = Some((calls - 1, moment));
        None
    }
}

impl Chance {
    fn draw(&mut self, operation: SqsOperation, entries: usize) -> Option<SqsFault> {
        if self.dice.u32(0..1_000) >= self.per_mille {
            return None;
        }
        let passing = || QueueError::Unavailable { operation: "by chance", code: "ThrottlingException".to_owned() };
        let refused = || QueueError::Refused { operation: "by chance", code: "InternalFailure".to_owned() };
        let some: Vec<usize> = (0..entries).filter(|_| self.dice.bool()).collect();
        let kinds = match operation {
            SqsOperation::Send | SqsOperation::Delete | SqsOperation::ChangeVisibility => 6,
            SqsOperation::Receive => 4,
            SqsOperation::Depth => 1,
        };
        Some(match (self.dice.u8(0..kinds), operation) {
            (0, _) => SqsFault::Refuse(passing()),
            (1, _) => SqsFault::LoseAnswer,
            (2, SqsOperation::Receive) => SqsFault::FindNothing,
            (_, SqsOperation::Receive) => SqsFault::StayVisible,
            (2, _) => SqsFault::FailEntries(some.into_iter().map(|entry| (entry, passing())).collect()),
            (3, _) => SqsFault::FailEntries(some.into_iter().map(|entry| (entry, refused())).collect()),
            (4, _) => SqsFault::Unmentioned { entries: some, done: true },
            _ => SqsFault::Unmentioned { entries: some, done: false },
        })
    }
}
