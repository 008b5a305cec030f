//! What went through the proxy: calls, totals, connections, and effects counted from the engine's own answers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tokio::sync::watch;

use super::operation::{JOB_TAG, Subject, names_job, tag_value};
use super::rule::bare_address;

/// How many calls are kept; totals and effects are kept for all.
const CAPACITY: usize = 50_000;

/// One call through the proxy.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Call {
    /// Number in order of arrival, from 0.
    pub sequence: u64,
    /// When it arrived.
    #[serde(skip)]
    pub at: SystemTime,
    /// The client's connection, numbered from 0 in order of opening.
    pub connection: u64,
    /// `service.Operation`.
    pub operation: String,
    /// Table, queue, bucket, function, secret or topic.
    pub target: Option<String>,
    /// The key of an object in a bucket.
    pub object: Option<String>,
    /// The jobs it is about.
    pub job_ids: Vec<String>,
    /// Size of the request's body in bytes.
    pub request_bytes: u64,
    /// What became of it.
    pub ending: Ending,
    /// From arrival to the end; `None` while it is open.
    pub elapsed: Option<Duration>,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Ending {
    /// Not answered yet.
    Open,
    /// The engine answered with this status, and the client was told.
    Forwarded(u16),
    /// The proxy answered with this status; the engine was not asked.
    Refused(u16),
    /// The engine answered with this status, but the client was not told.
    AnswerLost(u16),
    /// The connection was closed without asking the engine.
    Dropped,
    /// The client went away before its call was forwarded.
    Abandoned,
    /// The engine could not be reached.
    Unreachable,
}

impl Ending {
    /// The engine's own answer, if it was asked.
    #[must_use]
    pub fn engine_status(self) -> Option<u16> {
        match self {
            Self::Forwarded(status) | Self::AnswerLost(status) => Some(status),
            _ => None,
        }
    }
}

/// Sums over the calls of one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Calls that arrived.
    pub calls: u64,
    /// Bytes of their bodies.
    pub request_bytes: u64,
    /// Bytes of the answers' bodies.
    pub response_bytes: u64,
}

/// A picture of the journal.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Calls {
    /// The latest calls, oldest first.
    pub calls: Vec<Call>,
    /// Sums by operation, over all calls.
    pub totals: BTreeMap<String, Totals>,
    /// TCP connections opened by clients.
    pub connections: u64,
    next_sequence: u64,
}

impl Calls {
    /// How often an operation was called.
    #[must_use]
    pub fn count(&self, operation: &str) -> u64 {
        self.totals.get(operation).map_or(0, |totals| totals.calls)
    }

    /// The calls of an operation.
    pub fn of<'a>(&'a self, operation: &'a str) -> impl Iterator<Item = &'a Call> {
        self.calls.iter().filter(move |call| call.operation == operation)
    }

    /// The calls about a job.
    pub fn about<'a>(&'a self, job_id: &'a str) -> impl Iterator<Item = &'a Call> {
        self.calls.iter().filter(move |call| names_job(&call.job_ids, job_id))
    }

    /// What came after an earlier picture: its calls, and the differences of the sums.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut totals = self.totals.clone();
        for (operation, before) in &earlier.totals {
            if let Some(now) = totals.get_mut(operation) {
                now.calls -= before.calls;
                now.request_bytes -= before.request_bytes;
                now.response_bytes -= before.response_bytes;
            }
        }
        totals.retain(|_, sums| sums.calls > 0);
        Self {
            calls: self.calls.iter().filter(|call| call.sequence >= earlier.next_sequence).cloned().collect(),
            totals,
            connections: self.connections - earlier.connections,
            next_sequence: self.next_sequence,
        }
    }
}

#[derive(Debug, Default)]
struct Entries {
    calls: VecDeque<(Call, Instant)>,
    next_sequence: u64,
    totals: BTreeMap<String, Totals>,
    connections: u64,
    mails_by_job: HashMap<String, u64>,
    mails_by_address: HashMap<String, u64>,
}

impl Entries {
    fn call(&mut self, sequence: u64) -> Option<&mut (Call, Instant)> {
        let first = self.calls.front()?.0.sequence;
        self.calls.get_mut(usize::try_from(sequence.checked_sub(first)?).ok()?)
    }

    fn count_mail(&mut self, subject: &Subject) {
        if let Some(job) = subject.tag(JOB_TAG) {
            *self.mails_by_job.entry(tag_value(job)).or_default() += 1;
        }
        for recipient in &subject.recipients {
            *self.mails_by_address.entry(bare_address(recipient).to_owned()).or_default() += 1;
        }
    }
}

/// The proxy's memory.
#[derive(Debug)]
pub(super) struct Journal {
    entries: Mutex<Entries>,
    changes: watch::Sender<u64>,
}

impl Journal {
    pub(super) fn new() -> Self {
        Self { entries: Mutex::default(), changes: watch::Sender::new(0) }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> T {
        change(&mut self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Fires on every connection, and on every arrival and every end of a call.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn connected(&self) -> u64 {
        let connection = self.with(|entries| {
            entries.connections += 1;
            entries.connections - 1
        });
        self.changed();
        connection
    }

    pub(super) fn arrived(&self, subject: &Subject, request_bytes: usize, connection: u64) -> u64 {
        let request_bytes = request_bytes as u64;
        let sequence = self.with(|entries| {
            let sequence = entries.next_sequence;
            entries.next_sequence += 1;
            let totals = entries.totals.entry(subject.operation.clone()).or_default();
            totals.calls += 1;
            totals.request_bytes += request_bytes;
            if entries.calls.len() == CAPACITY {
                entries.calls.pop_front();
            }
            let call = Call {
                sequence,
                at: SystemTime::now(),
                connection,
                operation: subject.operation.clone(),
                target: subject.target.clone(),
                object: subject.object.clone(),
                job_ids: subject.job_ids.clone(),
                request_bytes,
                ending: Ending::Open,
                elapsed: None,
            };
            entries.calls.push_back((call, Instant::now()));
            sequence
        });
        self.changed();
        sequence
    }

    /// The client's side of the call is over.
    pub(super) fn ended(&self, sequence: u64, ending: Ending) {
        self.with(|entries| {
            let Some((call, started)) = entries.call(sequence) else { return };
            call.ending = match (ending, call.ending) {
                // The client left, but the engine had answered before.
                (Ending::Abandoned, Ending::AnswerLost(status)) => Ending::AnswerLost(status),
                (ending, _) => ending,
            };
            call.elapsed = Some(started.elapsed());
        });
        self.changed();
    }

    /// The engine answered. Until the client was told, its answer counts as lost.
    ///
    /// An accepted mail is counted here, by the engine's answer, whatever the client gets to know.
    pub(super) fn engine_answered(&self, sequence: u64, subject: &Subject, status: u16, response_bytes: usize) {
        self.with(|entries| {
            entries.totals.entry(subject.operation.clone()).or_default().response_bytes += response_bytes as u64;
            if let Some((call, _)) = entries.call(sequence) {
                call.ending = Ending::AnswerLost(status);
            }
            if subject.operation == "ses.SendEmail" && (200..300).contains(&status) {
                entries.count_mail(subject);
            }
        });
        self.changed();
    }

    pub(super) fn mails_of(&self, job_id: &str) -> u64 {
        self.with(|entries| entries.mails_by_job.get(&tag_value(job_id)).copied().unwrap_or(0))
    }

    pub(super) fn mails_to(&self, address: &str) -> u64 {
        self.with(|entries| entries.mails_by_address.get(address).copied().unwrap_or(0))
    }

    pub(super) fn snapshot(&self) -> Calls {
        self.with(|entries| Calls {
            calls: entries.calls.iter().map(|(call, _)| call.clone()).collect(),
            totals: entries.totals.clone(),
            connections: entries.connections,
            next_sequence: entries.next_sequence,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call_of(operation: &str) -> Subject {
        Subject { operation: operation.into(), ..Subject::default() }
    }

    #[test]
    fn a_later_picture_minus_an_earlier_one_is_what_came_in_between() {
        let journal = Journal::new();
        journal.connected();
        journal.arrived(&call_of("sqs.SendMessage"), 10, 0);
        let before = journal.snapshot();
        let sequence = journal.arrived(&call_of("sqs.SendMessage"), 7, 0);
        journal.engine_answered(sequence, &call_of("sqs.SendMessage"), 200, 3);
        journal.ended(sequence, Ending::Forwarded(200));
        let between = journal.snapshot().since(&before);
        assert_eq!(between.connections, 0);
        assert_eq!(between.calls.len(), 1);
        assert_eq!(between.totals["sqs.SendMessage"], Totals { calls: 1, request_bytes: 7, response_bytes: 3 });
    }

    #[test]
    fn an_answer_that_comes_after_the_client_left_is_a_lost_answer_and_its_mail_counts() {
        let journal = Journal::new();
        let mail = Subject {
            tags: vec![(JOB_TAG.into(), "email_send-1".into())],
            recipients: vec!["Zoë <zoe@example.com>".into()],
            ..call_of("ses.SendEmail")
        };
        let sequence = journal.arrived(&mail, 0, 0);
        journal.ended(sequence, Ending::Abandoned);
        journal.engine_answered(sequence, &mail, 200, 0);
        assert_eq!(journal.snapshot().calls[0].ending, Ending::AnswerLost(200));
        assert_eq!((journal.mails_of("email.send-1"), journal.mails_to("zoe@example.com")), (1, 1));
    }

    #[test]
    fn a_refused_mail_is_no_effect() {
        let journal = Journal::new();
        let mail = Subject { tags: vec![(JOB_TAG.into(), "j1".into())], ..call_of("ses.SendEmail") };
        let sequence = journal.arrived(&mail, 0, 0);
        journal.engine_answered(sequence, &mail, 400, 0);
        assert_eq!(journal.mails_of("j1"), 0);
    }

    #[test]
    fn the_journal_is_bounded_but_the_sums_are_not() {
        let journal = Journal::new();
        let last = (0..=CAPACITY).map(|_| journal.arrived(&call_of("x.Y"), 0, 0)).last().unwrap();
        journal.ended(0, Ending::Forwarded(200));
        journal.ended(last, Ending::Forwarded(201));
        let picture = journal.snapshot();
        assert_eq!(picture.calls.len(), CAPACITY);
        assert_eq!(picture.count("x.Y"), CAPACITY as u64 + 1);
        assert_eq!(picture.calls.last().unwrap().ending, Ending::Forwarded(201));
        assert_eq!(picture.calls[0].ending, Ending::Open, "an evicted call's end must not land on another call");
    }
}
