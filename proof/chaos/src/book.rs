//! What the clients have posted, and where each job stood when it was last looked at.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ikkai::idempotency::Status;
use ikkai::job::JobId;
use ikkai_cli::local::stack::Consumer;
use serde::Serialize;

/// What a job asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A mail. Its provider forgets at once, so the policy is `hold`.
    Mail,
    /// A charge. Its provider remembers keys.
    Charge,
}

impl Kind {
    /// Who does it.
    #[must_use]
    pub const fn consumer(self) -> Consumer {
        match self {
            Self::Mail => Consumer::Email,
            Self::Charge => Consumer::Billing,
        }
    }
}

/// What the client of a job knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Heard {
    /// The API has taken the job: it must not get lost.
    Accepted,
    /// The client has given up without an answer. The job may be done; not twice.
    Nothing,
}

/// A job that somebody has posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Known before the answer: it follows from caller, type and key.
    pub job_id: JobId,
    /// What it asks for.
    pub kind: Kind,
    /// What its client knows.
    pub heard: Heard,
    /// Whether somebody wants to be told of its end.
    pub callback: bool,
    /// When it was posted first.
    pub at: SystemTime,
}

/// Where jobs stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The API has said 202.
    pub accepted: u64,
    /// Their clients have heard nothing.
    pub unheard: u64,
    /// They have not ended.
    pub in_flight: u64,
    /// Done.
    pub done: u64,
    /// Given up, until an operator puts them back.
    pub dead: u64,
    /// Nobody knows whether their effect happened.
    pub in_doubt: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    posted: Posted,
    status: Option<Status>,
}

/// All jobs, by id.
#[derive(Debug, Default)]
pub struct Book(Mutex<BTreeMap<String, Entry>>);

impl Book {
    fn with<T>(&self, look: impl FnOnce(&mut BTreeMap<String, Entry>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a job; what its client has heard may be noted anew.
    pub fn note(&self, posted: Posted) {
        self.with(|jobs| {
            let status = jobs.get(posted.job_id.as_str()).and_then(|entry| entry.status);
            jobs.insert(posted.job_id.to_string(), Entry { posted, status });
        });
    }

    /// Notes where a job stands.
    pub fn stands(&self, job_id: &str, status: Status) {
        self.with(|jobs| {
            if let Some(entry) = jobs.get_mut(job_id) {
                entry.status = Some(status);
            }
        });
    }

    /// What had ended otherwise than well is looked at again: an operator has been at work.
    pub fn look_again(&self) {
        let failed = |entry: &&mut Entry| matches!(entry.status, Some(Status::Dead | Status::InDoubt));
        self.with(|jobs| jobs.values_mut().filter(failed).for_each(|entry| entry.status = None));
    }

    /// The jobs that have not ended as far as is known. Those that no client heard of may not exist, so they are not waited for.
    #[must_use]
    pub fn open(&self) -> Vec<String> {
        self.with(|jobs| {
            let is_open = |entry: &&Entry| is_open(entry) && entry.posted.heard == Heard::Accepted;
            jobs.values().filter(is_open).map(|entry| entry.posted.job_id.to_string()).collect()
        })
    }

    /// How many jobs of a kind have not ended.
    #[must_use]
    pub fn in_flight(&self, kind: Kind) -> u64 {
        let is_one = |entry: &&Entry| is_open(entry) && entry.posted.heard == Heard::Accepted && entry.posted.kind == kind;
        self.with(|jobs| jobs.values().filter(is_one).count() as u64)
    }

    /// Where all of them stand.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.with(|jobs| {
            let mut standing = Standing::default();
            for entry in jobs.values() {
                let accepted = entry.posted.heard == Heard::Accepted;
                standing.accepted += u64::from(accepted);
                standing.unheard += u64::from(!accepted);
                match entry.status {
                    Some(Status::Succeeded | Status::Cancelled) => standing.done += 1,
                    Some(Status::Dead) => standing.dead += 1,
                    Some(Status::InDoubt) => standing.in_doubt += 1,
                    _ => standing.in_flight += u64::from(accepted),
                }
            }
            standing
        })
    }

    /// Everything that was posted.
    #[must_use]
    pub fn all(&self) -> Vec<Posted> {
        self.with(|jobs| jobs.values().map(|entry| entry.posted.clone()).collect())
    }
}

fn is_open(entry: &Entry) -> bool {
    !entry.status.is_some_and(Status::is_final)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(id: &str, heard: Heard) -> Posted {
        let job_id = JobId::parse_stored(id).unwrap();
        Posted { job_id, kind: Kind::Mail, heard, callback: false, at: SystemTime::UNIX_EPOCH }
    }

    const ONE: &str = "email.send-aaaqeayeaudaocajbifqydiob4";
    const TWO: &str = "email.send-baaqeayeaudaocajbifqydiob4";

    #[test]
    fn a_job_is_in_flight_from_its_202_to_its_end_and_again_when_it_was_put_back() {
        let book = Book::default();
        book.note(posted(ONE, Heard::Nothing));
        assert_eq!((book.open().len(), book.standing().in_flight), (0, 0), "nobody was promised anything");
        book.note(posted(ONE, Heard::Accepted));
        assert_eq!((book.open(), book.standing().in_flight), (vec![ONE.to_owned()], 1));
        book.stands(ONE, Status::Dead);
        assert_eq!((book.open().len(), book.standing().dead), (0, 1));
        book.look_again();
        assert_eq!((book.open().len(), book.standing().in_flight), (1, 1));
        book.stands(ONE, Status::Succeeded);
        assert_eq!(book.standing(), Standing { accepted: 1, done: 1, ..Standing::default() });
    }

    #[test]
    fn what_no_client_heard_of_is_counted_apart_and_not_waited_for() {
        let book = Book::default();
        book.note(posted(ONE, Heard::Accepted));
        book.note(posted(TWO, Heard::Nothing));
        assert_eq!(book.standing(), Standing { accepted: 1, unheard: 1, in_flight: 1, ..Standing::default() });
        assert_eq!(book.open(), [ONE]);
    }
}
