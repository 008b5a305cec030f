//! What happens in a move, in words: who tells whom what.

use crate::asking::{Known, Way};
use crate::what::{Claimed, Heard, Posted, Provider, Reset, Sending, Settled, What};
use crate::world::{End, Reply, Request};

/// Who takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// Who posts jobs.
    Client,
    /// The producer API.
    Producer,
    /// The consumer's queue.
    Queue,
    /// Its dead-letter queue.
    DeadLetters,
    /// A consumer.
    Worker(u8),
    /// The jobs table.
    Table,
    /// Whom the effect is asked of.
    Provider,
    /// Operators and their function.
    Operator,
}

/// A line of a sequence diagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Who acts.
    pub from: Party,
    /// On whom; the same for what happens to it by itself.
    pub to: Party,
    /// What it does.
    pub text: String,
}

fn line(from: Party, to: Party, text: impl Into<String>) -> Line {
    Line { from, to, text: text.into() }
}

const fn message(place: u8) -> char {
    ['M', 'N', 'O'][place as usize]
}

impl What {
    /// The move in words.
    pub fn words(self) -> Line {
        use Party::{Client, DeadLetters, Operator, Producer, Provider as TheProvider, Queue, Table, Worker};
        match self {
            Self::Receives(worker, place) => line(Queue, Worker(worker), format!("message {}", message(place))),
            Self::Claims(worker, claimed, heard) => line(Worker(worker), Table, claims("claim", claimed, heard)),
            Self::Takes(worker, claimed, heard) => line(Worker(worker), Table, claims("write what was decided", claimed, heard)),
            Self::Announces(worker, Heard::Yes) => line(Worker(worker), Table, "begin_effect"),
            Self::Announces(worker, Heard::Lost) => {
                line(Worker(worker), Table, "begin_effect: written, answer lost, the handler gives up")
            }
            Self::AnnouncesInVain(worker) => line(Worker(worker), Table, "begin_effect: refused, the lease is another worker's"),
            Self::Effect(worker, provider) => line(Worker(worker), TheProvider, effect(provider)),
            Self::EndsBefore(worker, end) => {
                line(Worker(worker), Worker(worker), format!("before its effect the handler {}", ends(end)))
            }
            Self::Settles(worker, end, settled, heard) => line(Worker(worker), Table, settles(end, settled, heard)),
            Self::Renews(worker) => line(Worker(worker), Table, "renew the lease"),
            Self::FindsLeaseLost(worker) => {
                line(Worker(worker), Table, "renew the lease: it is another worker's, the handler is stopped")
            }
            Self::FindsReceiptLost(worker) => {
                line(Worker(worker), Queue, "extend the visibility: the receipt is another worker's, the handler is stopped")
            }
            Self::Copies(worker, place) => line(Worker(worker), Queue, format!("send a copy of {}", message(place))),
            Self::Answers(worker, reply, place) => line(Worker(worker), Queue, answers(reply, message(place))),
            Self::WorkerDies(worker) => line(Worker(worker), Worker(worker), "dies"),
            Self::ComesOut(place) => line(Queue, Queue, format!("the visibility timeout of {} ends", message(place))),
            Self::DeadLetters(place) => line(Queue, DeadLetters, format!("{} has used its receives up", message(place))),
            Self::Purged(place) => line(Queue, Queue, format!("{} is purged, or its retention ends", message(place))),
            Self::LeaseEnds => line(Table, Table, "the lease ends"),
            Self::SendLeaseEnds => line(Table, Table, "the send lease ends"),
            Self::MinutePasses => line(Table, Table, "a minute passes"),
            Self::WindowPasses => line(Table, Table, "the window of the provider's key ends"),
            Self::ProviderForgets => line(TheProvider, TheProvider, "forgets the key"),
            Self::Expires => line(Table, Table, "the record expires"),
            Self::Posts(_, Posted::New) => line(Client, Producer, "POST: the record is new"),
            Self::Posts(_, Posted::Open) => line(Client, Producer, "POST: the job is accepted, and perhaps was not sent"),
            Self::Posts(_, Posted::Known) => line(Client, Producer, "POST: the job is known to be in the queue, or further"),
            Self::TakesOver(_, true) => line(Producer, Table, "take the sending over"),
            Self::TakesOver(_, false) => line(Producer, Table, "take the sending over: the record changed in between"),
            Self::Sends(_, Sending::Confirmed) => line(Producer, Queue, "send, then 202"),
            Self::Sends(_, Sending::Unclear) => line(Producer, Queue, "send: the message is in the queue, the answer is lost"),
            Self::Sends(_, Sending::Failed) => line(Producer, Queue, "send: fails"),
            Self::GivesUpSending(_, true) => line(Producer, Table, "give the sending up, then 503"),
            Self::GivesUpSending(_, false) => line(Producer, Table, "give the sending up: refused, then 503"),
            Self::Confirms(_) => line(Producer, Table, "note that the message was sent"),
            Self::ProducerDies(_, Request::Sending { .. }) => line(Producer, Producer, "dies before it sends"),
            Self::ProducerDies(..) => line(Producer, Producer, "dies"),
            Self::LooksAt(place) => line(Operator, DeadLetters, format!("look at {} and its record", message(place))),
            Self::Rebuilds => line(Operator, Table, "redrive by job id: there is no message, it is made from the record"),
            Self::Resets(reset, heard) => line(Operator, Table, resets(reset, heard)),
            Self::SendsCopy(Heard::Yes) => line(Operator, Queue, "send the message"),
            Self::SendsCopy(Heard::Lost) => line(Operator, Queue, "send the message: the answer is lost, the dead letter stays"),
            Self::FindsNoRoom => line(Queue, Queue, "no room for another message in this scope"),
            Self::Deletes(place) => line(Operator, DeadLetters, format!("delete {}", message(place))),
            Self::OperatorDies => line(Operator, Operator, "the redrive dies"),
            Self::NativeRedrive(place, true) => line(DeadLetters, Queue, format!("SQS's own redrive of {}", message(place))),
            Self::NativeRedrive(place, false) => {
                line(DeadLetters, Queue, format!("SQS's own redrive of {}, within a minute of the death", message(place)))
            }
            Self::Resolves(true) => line(Operator, Table, "resolve: it is done"),
            Self::Resolves(false) => line(Operator, Table, "resolve: it shall run again"),
            Self::Cancels => line(Client, Table, "cancel"),
        }
    }
}

fn lost(text: &str, heard: Heard) -> String {
    match heard {
        Heard::Yes => text.to_owned(),
        Heard::Lost => format!("{text}, the answer is lost"),
    }
}

fn claims(deed: &str, claimed: Claimed, heard: Heard) -> String {
    let answer = match claimed {
        Claimed::Started => "started",
        Claimed::WasStarted => "its own token stands there, go on",
        Claimed::Refused => "not to be run",
        Claimed::Undecided => "refused with the stored record",
        Claimed::Changed => "the record changed in between",
        Claimed::Died => "dead",
        Claimed::Doubted => "in doubt",
    };
    lost(&format!("{deed}: {answer}"), heard)
}

fn ends(end: End) -> &'static str {
    match end {
        End::Done => "is done",
        End::Failed(Way::Retry, Known::MayBeDone) => "fails, and does not know whether it happened",
        End::Failed(Way::Retry, _) => "fails in a way that may pass",
        End::Failed(Way::Defer, _) => "is told to come later",
        End::Failed(Way::Die, _) => "fails for good",
        End::ReceiptLost => "is stopped",
    }
}

fn effect(provider: Provider) -> String {
    match provider {
        Provider::Does => "the effect happens".to_owned(),
        Provider::DoesUnheard => "the effect happens, the answer is lost".to_owned(),
        Provider::FailsUnheard => "nothing happens, the answer is lost".to_owned(),
        Provider::Refuses(end) => format!("refused: the handler {}", ends(end)),
    }
}

fn settles(end: End, settled: Settled, heard: Heard) -> String {
    let deed = match end {
        End::Done => "complete",
        End::Failed(..) => "fail",
        End::ReceiptLost => "give the job back",
    };
    let answer = match settled {
        Settled::Written => "written",
        Settled::WasWritten => "was written before",
        Settled::Refused => "refused, the lease is another's",
    };
    lost(&format!("{deed}: {answer}"), heard)
}

fn answers(reply: Reply, message: char) -> String {
    match reply {
        Reply::Acknowledge => format!("{message} is done with: SQS deletes it"),
        Reply::ComeBack | Reply::ComeBackUnasked => format!("{message} failed: it comes back"),
        Reply::GiveUp => format!("{message} failed: the job has ended, it is on its way to the dead-letter queue"),
        Reply::Leave => format!("{message} is left alone"),
    }
}

fn resets(reset: Reset, heard: Heard) -> String {
    let answer = match reset {
        Reset::Done => "accepted again",
        Reset::Waiting => "it waits for its message anyway",
        Reset::Over => "it is over",
        Reset::Refused => "refused",
        Reset::Changed => "the record changed in between",
    };
    lost(&format!("put the record back: {answer}"), heard)
}
