//! An archive in memory, for tests and simulations.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::Value;

use super::{Archive, ArchiveError};

/// An [`Archive`] in memory. Faults are played in the order they were put in.
#[derive(Debug, Default)]
pub struct MemoryArchive {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    documents: BTreeMap<String, Value>,
    faults: VecDeque<ArchiveFault>,
}

/// What happens to the next document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveFault {
    /// Nothing: this one is kept.
    Pass,
    /// It is not kept.
    Refuse(ArchiveError),
    /// It is kept, and the answer is lost.
    LoseAnswer,
}

impl MemoryArchive {
    /// An empty archive.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Plays `fault` at the next document that has none yet.
    pub fn fail_next(&self, fault: ArchiveFault) {
        self.locked().faults.push_back(fault);
    }

    /// Every document by its key.
    #[must_use]
    pub fn documents(&self) -> BTreeMap<String, Value> {
        self.locked().documents.clone()
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Archive for MemoryArchive {
    async fn put(&self, key: &str, document: &Value) -> Result<(), ArchiveError> {
        let mut state = self.locked();
        let fault = state.faults.pop_front().unwrap_or(ArchiveFault::Pass);
        if let ArchiveFault::Refuse(error) = fault {
            return Err(error);
        }
        state.documents.insert(key.to_owned(), document.clone());
        match fault {
            ArchiveFault::LoseAnswer => Err(ArchiveError { code: "answer lost".to_owned() }),
            _ => Ok(()),
        }
    }

    fn place(&self, key: &str) -> String {
        format!("s3://archive/{key}")
    }
}
