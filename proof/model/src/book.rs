//! Records, each kept once: a state of the model holds the very [`JobRecord`] that the kit would hold, by reference.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use ikkai::idempotency::{JobRecord, Status};

use crate::quick::QuickMap;
use crate::times::{Passing, passed, version, version_of, with_end};
use crate::token::Token;

/// A record that is kept. Equal records are the same one.
#[derive(Clone, Copy)]
pub struct Kept(&'static Entry);

struct Entry {
    record: JobRecord,
    digest: u64,
    names: Names,
}

/// Entries live as long as the process: a check meets some thousands of them, and millions of states refer to them.
static ENTRIES: Mutex<Option<HashMap<String, &'static Entry>>> = Mutex::new(None);

thread_local! {
    static RENAMED: RefCell<QuickMap<(Kept, Names), Kept>> = RefCell::default();
    static PASSED: RefCell<QuickMap<(Kept, Passing), Kept>> = RefCell::default();
}

/// Everything about a record that is a name and not a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Names {
    /// Owner of the lease.
    pub owner: Option<Token>,
    /// Owner of the sending.
    pub sender: Option<Token>,
    /// Which write it was left by.
    pub version: u8,
}

impl Kept {
    /// Keeps a record.
    pub fn keep(record: JobRecord) -> Self {
        let text = format!("{record:?}");
        let mut entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get_or_insert_default().entry(text).or_insert_with_key(|text| {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            let token = |text: &Option<String>| text.as_deref().map(Token::of);
            let names = Names {
                owner: token(&record.lease_token),
                sender: token(&record.accept_token),
                version: version_of(record.updated_at),
            };
            Box::leak(Box::new(Entry { digest: hasher.finish(), names, record }))
        });
        Self(entry)
    }

    /// The record.
    pub fn record(self) -> &'static JobRecord {
        &self.0.record
    }

    /// Where the job stands.
    pub fn status(self) -> Status {
        self.0.record.status
    }

    /// Owner of the current or last lease.
    pub fn owner(self) -> Option<Token> {
        self.0.names.owner
    }

    /// Owner of the sending.
    pub fn sender(self) -> Option<Token> {
        self.0.names.sender
    }

    /// Its names.
    pub fn names(self) -> Names {
        self.0.names
    }

    /// Whether it waits for a worker, or for its worker.
    pub fn is_unfinished(self) -> bool {
        !self.status().is_final()
    }

    /// Whether it has not ended for good.
    pub fn is_unended(self) -> bool {
        !matches!(self.status(), Status::Succeeded | Status::Cancelled)
    }

    /// The same record under other names.
    pub fn renamed(self, names: Names) -> Self {
        RENAMED.with_borrow_mut(|known| {
            *known.entry((self, names)).or_insert_with(|| {
                let text = |token: Option<Token>| token.map(|token| token.as_str().to_owned());
                Self::keep(JobRecord {
                    lease_token: text(names.owner),
                    accept_token: text(names.sender),
                    updated_at: version(names.version),
                    ..self.0.record.clone()
                })
            })
        })
    }

    /// The same record with an end, whatever its status: what a variant writes.
    pub fn ending(self) -> Self {
        Self::keep(with_end(&self.0.record))
    }

    /// The same record, later.
    pub fn after(self, passing: Passing) -> Self {
        PASSED
            .with_borrow_mut(|known| *known.entry((self, passing)).or_insert_with(|| Self::keep(passed(&self.0.record, passing))))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Kept {}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.digest.hash(state);
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let record = &self.0.record;
        write!(f, "{}/{}/{}", record.status, record.generation, record.attempts)
    }
}
