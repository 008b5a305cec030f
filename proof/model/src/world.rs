//! A state of the model: the table, the queue, the processes that are at work, and what an outsider remembers.

use ikkai::idempotency::Status;

use crate::asking::{Known, Sent, Way};
use crate::book::Kept;
use crate::scope::{Budget, MOST_MESSAGES, MOST_REQUESTS, MOST_WORKERS};
use crate::times;
use crate::token::Token;

/// Place of a message that is there no more.
pub const NOWHERE: u8 = 3;

/// Everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct World {
    /// The job's item in the table. The second place is used by one variant alone, which keys records by message.
    pub records: [Option<Kept>; 2],
    /// Messages of the job.
    pub messages: [Option<Message>; MOST_MESSAGES],
    /// Consumers.
    pub workers: [Worker; MOST_WORKERS],
    /// A client's requests at the producer.
    pub requests: [Request; MOST_REQUESTS],
    /// The operators' function.
    pub operator: Operator,
    /// What an outsider remembers.
    pub memory: Memory,
    /// What may still happen.
    pub left: Budget,
}

/// A message of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// Where it is.
    pub place: Place,
    /// Whether it can be received.
    pub is_visible: bool,
    /// How often it was received.
    pub receives: u8,
    /// Who has the newest receipt.
    pub holder: Option<u8>,
    /// It was sent well after the job's last death.
    pub is_late: bool,
    /// An operator put it there, or it is a copy of such a message.
    pub is_put_back: bool,
    /// Which record it belongs to; always the first, but for one variant.
    pub key: u8,
}

/// Queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The consumer's.
    Source,
    /// The dead-letter queue.
    Dead,
}

/// A consumer, at one message after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Worker {
    /// What it does next.
    pub step: Step,
    /// Place of its message.
    pub message: u8,
}

/// The next step of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Waits for a message.
    Idle,
    /// Claims; `Some`: once more, because the first answer was lost, and whether that one noted a first try.
    Claiming(Option<bool>),
    /// The one-write claim was refused with this record; the decision about it, and about a message sent then, is about to be written.
    Taking(Option<Kept>, Sent),
    /// The handler runs, before its announcement.
    Running {
        /// The claim noted the first try of the effect.
        noted: bool,
    },
    /// The effect is announced.
    Begun,
    /// About to settle, or once more because the first answer was lost.
    Settling {
        /// How the run ended.
        end: End,
        /// The claim noted the first try of the effect.
        noted: bool,
        /// The first answer was lost.
        again: bool,
    },
    /// About to answer SQS.
    Answering(Reply),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The handler is done.
    Done,
    /// The handler failed.
    Failed(Way, Known),
    /// The receipt is another worker's; the handler was stopped.
    ReceiptLost,
}

/// What a consumer does about its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Acknowledge it.
    Acknowledge,
    /// Let it come back. The record was asked in this receive, and the job waits.
    ComeBack,
    /// Let it come back. Nobody knows how the record stands.
    ComeBackUnasked,
    /// Let it go to the dead-letter queue.
    GiveUp,
    /// Leave it alone: the newer receipt rules.
    Leave,
}

/// A request at the producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Request {
    /// Not made, or made again because its client got no 202.
    New,
    /// About to take the sending over from what this record says.
    TakingOver(Seen),
    /// About to send.
    Sending {
        /// The record was there before.
        again: bool,
    },
    /// The send failed, or nobody knows.
    Failing,
    /// The repeated send is about to be confirmed in the record.
    Confirming,
    /// Answered.
    Answered,
}

/// A record that somebody read a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seen(pub Kept);

impl PartialOrd for Seen {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Seen {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// The operators' function, at one message after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Waits for somebody to call it.
    Idle,
    /// About to put the record back.
    Resetting {
        /// Its message; `None`: there is none, and it is made from the record.
        message: Option<u8>,
        /// The record as it was read, or as it was found when a write was refused.
        view: Kept,
        /// The generation that was looked at.
        generation: u32,
    },
    /// About to send the copy.
    Sending {
        /// Its message.
        message: Option<u8>,
        /// The job was dead or abandoned, and was put back for it.
        was_reset: bool,
    },
    /// About to delete the message from the dead-letter queue.
    Deleting {
        /// Its message.
        message: u8,
        /// The copy is still to be sent: a variant's order.
        then_send: bool,
    },
}

/// What an outsider remembers about the job: it decides nothing, properties speak of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Effects that may still happen: one, and one more for each time that an operator resolved to run the job again.
    pub effects_left: u8,
    /// The provider knows the job's key.
    pub key_is_known: bool,
    /// A client got 202.
    pub was_told: bool,
    /// The producer recorded private data.
    pub has_data: bool,
    /// Somebody put the job back, and it has not run since.
    pub is_awaited: bool,
    /// The message of an unfinished job was purged, or its sender died before it was sent: somebody has to look.
    pub is_orphaned: bool,
    /// A rule was broken by the step that led here.
    pub breach: Option<Breach>,
}

/// A rule that a single step breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Breach {
    /// The effect happened once too often.
    SecondEffect,
    /// Who does not own the job changed it.
    StrangerWrote,
    /// An operator's wish about a former life of the job changed a newer one.
    StaleWish,
    /// A handler started on a job that its worker does not run.
    StartedUnowned,
    /// A dead job ran that nobody had put back.
    RanUnasked,
    /// A worker took its own settlement for another's.
    DeniedItself,
    /// A job that was never given up went to the dead-letter queue, without a fault.
    DeadLetteredUntried,
}

impl World {
    /// The record of `key`.
    pub fn record(&self, key: u8) -> Option<Kept> {
        self.records[usize::from(key)]
    }

    /// The message at `place`.
    pub fn message(&self, place: u8) -> Option<Message> {
        self.messages.get(usize::from(place)).copied().flatten()
    }

    /// Puts another message where one was. Whoever had a receipt of the former one has it of none.
    pub fn replace_message(&mut self, place: u8, message: Message) {
        for worker in self.workers.iter_mut().filter(|worker| worker.step != Step::Idle && worker.message == place) {
            worker.message = NOWHERE;
        }
        self.messages[usize::from(place)] = Some(message);
    }

    /// Writes a record. A death makes every message older than it.
    pub fn write(&mut self, key: u8, next: Kept) {
        let was_dead = self.record(key).is_some_and(|before| before.status() == Status::Dead);
        // Of a job that is not dead it does not matter when its messages were sent: any death to come is later.
        if next.status() != Status::Dead || !was_dead {
            for message in self.messages.iter_mut().flatten() {
                (message.is_late, message.is_put_back) = (false, false);
            }
        }
        if matches!(next.status(), Status::Succeeded | Status::Cancelled | Status::InDoubt) {
            self.memory.is_awaited = false;
        }
        self.records[usize::from(key)] = Some(next);
    }

    /// Notes a broken rule.
    pub fn breaks(&mut self, breach: Breach) {
        self.memory.breach = self.memory.breach.or(Some(breach));
    }

    /// A place for another message.
    pub fn free_place(&self, slots: u8) -> Option<u8> {
        let is_used = |place: u8| {
            self.workers.iter().any(|worker| worker.step != Step::Idle && worker.message == place)
                || matches!(self.operator, Operator::Resetting { message: Some(at), .. }
                    | Operator::Sending { message: Some(at), .. }
                    | Operator::Deleting { message: at, .. } if at == place)
        };
        (0..slots).find(|place| self.message(*place).is_none() && !is_used(*place))
    }

    /// Whether every worker waits.
    pub fn workers_rest(&self) -> bool {
        self.workers.iter().all(|worker| worker.step == Step::Idle)
    }

    /// Whether nothing happens any more by itself.
    pub fn is_quiet(&self) -> bool {
        self.workers_rest()
            && self.operator == Operator::Idle
            && self.requests.iter().all(|request| *request == Request::Answered)
            && !self.messages.iter().flatten().any(|message| message.place == Place::Source)
    }

    /// Whether nothing has gone wrong but the provider.
    pub fn is_undisturbed(&self, granted: &Budget) -> bool {
        let left = Budget { unclear_effects: granted.unclear_effects, windows: granted.windows, ..self.left };
        let granted =
            Budget { native_redrives: left.native_redrives, cancels: left.cancels, expiries: left.expiries, ..*granted };
        left == granted
    }

    /// Whether there is a message of the job anywhere.
    pub fn has_message(&self) -> bool {
        self.messages.iter().any(Option::is_some)
    }

    /// Whether the token is in somebody's hands.
    pub fn is_held(&self, token: Token) -> bool {
        match token {
            Token::Worker(number) => !matches!(self.workers[usize::from(number)].step, Step::Idle | Step::Answering(_)),
            Token::Request(number) => {
                matches!(
                    self.requests[usize::from(number)],
                    Request::TakingOver(_) | Request::Sending { .. } | Request::Failing | Request::Confirming
                )
            }
            Token::Gone(_) => false,
        }
    }

    /// The record as whoever asks finds it: an expired one counts as absent.
    pub fn live_record(&self, key: u8) -> Option<Kept> {
        self.record(key).filter(|kept| !kept.record().is_expired(times::NOW))
    }
}
