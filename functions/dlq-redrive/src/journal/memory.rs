//! A journal in memory, for tests and simulations.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ikkai::clock::EpochMillis;

use super::{Begun, Journal, JournalError, Locked, Run};
use crate::protocol::{MessageVerdict, RunSummary};

/// A [`Journal`] in memory with the semantics of the real table. Faults are played in the order they were put in.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    runs: HashMap<String, Run>,
    verdicts: BTreeMap<(String, u32), Vec<MessageVerdict>>,
    locks: HashMap<String, (String, EpochMillis)>,
    faults: VecDeque<JournalFault>,
    calls: Vec<&'static str>,
}

/// What happens to the next call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalFault {
    /// Nothing: this one call passes.
    Pass,
    /// The call fails; nothing is done.
    Refuse(JournalError),
    /// The call takes effect and fails all the same: its answer is lost.
    LoseAnswer,
}

impl MemoryJournal {
    /// An empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Plays `fault` at the next call that has none yet.
    pub fn fail_next(&self, fault: JournalFault) {
        self.locked().faults.push_back(fault);
    }

    /// The names of the calls so far.
    #[must_use]
    pub fn calls(&self) -> Vec<&'static str> {
        self.locked().calls.clone()
    }

    /// Every run, in the order in which they began.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<_> = self.locked().runs.values().cloned().collect();
        runs.sort_by(|left, right| (left.began_at, &left.summary.run_id).cmp(&(right.began_at, &right.summary.run_id)));
        runs
    }

    /// Who has a queue, and until when, whether that time is over or not.
    #[must_use]
    pub fn lock_of(&self, queue: &str) -> Option<(String, EpochMillis)> {
        self.locked().locks.get(queue).cloned()
    }

    fn play<T>(&self, operation: &'static str, effect: impl FnOnce(&mut State) -> T) -> Result<T, JournalError> {
        let mut state = self.locked();
        state.calls.push(operation);
        match state.faults.pop_front() {
            Some(JournalFault::Refuse(error)) => Err(error),
            Some(JournalFault::LoseAnswer) => {
                effect(&mut state);
                Err(JournalError::Unavailable { operation, code: "answer lost".to_owned() })
            }
            Some(JournalFault::Pass) | None => Ok(effect(&mut state)),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn begin(&self, run: &Run) -> Result<Begun, JournalError> {
        self.play("begin", |state| match state.runs.get(&run.summary.run_id) {
            Some(found) => Begun::Exists(Box::new(found.clone())),
            None => {
                state.runs.insert(run.summary.run_id.clone(), run.clone());
                Begun::New
            }
        })
    }

    async fn save(&self, run: &Run, parts: u32) -> Result<bool, JournalError> {
        self.play("save", |state| match state.runs.get_mut(&run.summary.run_id) {
            Some(found) if found.parts == parts => {
                *found = run.clone();
                true
            }
            _ => false,
        })
    }

    async fn find(&self, run_id: &str) -> Result<Option<Run>, JournalError> {
        self.play("find", |state| state.runs.get(run_id).cloned())
    }

    async fn add_verdicts(&self, run_id: &str, page: u32, verdicts: &[MessageVerdict]) -> Result<(), JournalError> {
        self.play("add_verdicts", |state| {
            state.verdicts.insert((run_id.to_owned(), page), verdicts.to_vec());
        })
    }

    async fn verdicts(&self, run_id: &str, max: usize) -> Result<Vec<MessageVerdict>, JournalError> {
        self.play("verdicts", |state| {
            let pages = state.verdicts.range((run_id.to_owned(), 0)..=(run_id.to_owned(), u32::MAX));
            pages.flat_map(|(_, verdicts)| verdicts).take(max).cloned().collect()
        })
    }

    async fn history(&self, queue: &str, max: usize) -> Result<Vec<RunSummary>, JournalError> {
        self.play("history", |state| {
            let on_queue = |run: &&Run| run.summary.queues.iter().any(|name| name == queue);
            let mut runs: Vec<_> = state.runs.values().filter(on_queue).collect();
            runs.sort_by(|left, right| (right.began_at, &right.summary.run_id).cmp(&(left.began_at, &left.summary.run_id)));
            runs.into_iter().take(max).map(|run| run.summary.clone()).collect()
        })
    }

    async fn lock(&self, queue: &str, run_id: &str, until: EpochMillis, now: EpochMillis) -> Result<Locked, JournalError> {
        self.play("lock", |state| match state.locks.get(queue) {
            Some((holder, end)) if holder != run_id && *end > now => Locked::HeldBy { run_id: holder.clone(), until: *end },
            _ => {
                state.locks.insert(queue.to_owned(), (run_id.to_owned(), until));
                Locked::Yes
            }
        })
    }

    async fn unlock(&self, queue: &str, run_id: &str) -> Result<(), JournalError> {
        self.play("unlock", |state| {
            if state.locks.get(queue).is_some_and(|(holder, _)| holder == run_id) {
                state.locks.remove(queue);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::journal::conformance;

    #[tokio::test]
    async fn the_journal_in_memory_conforms() {
        conformance::suite(Arc::new(MemoryJournal::new()), "memory").await;
    }

    #[tokio::test]
    async fn faults_are_played_in_order() {
        let journal = MemoryJournal::new();
        let unavailable = JournalError::Unavailable { operation: "any", code: "busy".to_owned() };
        for fault in [JournalFault::Pass, JournalFault::Refuse(unavailable.clone()), JournalFault::LoseAnswer] {
            journal.fail_next(fault);
        }
        let run = conformance::run("r", &["email"], EpochMillis::from_i64(1));
        assert_eq!(journal.find("r").await, Ok(None));
        assert_eq!(journal.begin(&run).await, Err(unavailable));
        assert!(journal.runs().is_empty());
        journal.begin(&run).await.unwrap_err();
        assert_eq!(journal.runs(), [run]);
        assert_eq!(journal.calls(), ["find", "begin", "begin"]);
    }
}
