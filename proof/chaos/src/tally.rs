//! How often what went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use ikkai_cli::local::proxy::RuleHandle;

use crate::fault::Fault;

/// Counts faults that have happened, not those that were planned: a rule that met no call has done nothing.
#[derive(Debug)]
pub struct Tally {
    wanted: BTreeSet<Fault>,
    counted: Mutex<BTreeMap<Fault, u64>>,
    rules: Mutex<Vec<(Fault, RuleHandle)>>,
}

impl Tally {
    /// With these kinds, and nothing counted.
    #[must_use]
    pub fn new(wanted: BTreeSet<Fault>) -> Self {
        Self { wanted, counted: Mutex::default(), rules: Mutex::default() }
    }

    /// Whether a kind is to happen.
    #[must_use]
    pub fn wants(&self, fault: Fault) -> bool {
        self.wanted.contains(&fault)
    }

    /// Something went wrong.
    pub fn happened(&self, fault: Fault) {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner).entry(fault).or_default() += 1;
    }

    /// A rule counts for itself.
    pub fn follow(&self, fault: Fault, rule: RuleHandle) {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).push((fault, rule));
    }

    /// The counts of all kinds that were to happen, those that did not included.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Fault, u64> {
        let mut counts: BTreeMap<Fault, u64> = self.wanted.iter().map(|fault| (*fault, 0)).collect();
        for (fault, count) in self.counted.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            *counts.entry(*fault).or_default() += count;
        }
        for (fault, rule) in self.rules.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            *counts.entry(*fault).or_default() += u64::from(rule.hits());
        }
        counts
    }
}
