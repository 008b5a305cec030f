//! What was asked of the stub.

use std::collections::BTreeMap;

/// Calls of one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Tally {
    pub(in super::super) calls: u64,
    /// Bodies of requests and answers; heads are the client's and the signature's.
    pub(in super::super) bytes: u64,
}

/// Calls by operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct Counts(BTreeMap<String, Tally>);

impl Counts {
    /// Adds a call.
    pub(in super::super) fn add(&mut self, operation: &str, bytes: usize) {
        if !self.0.contains_key(operation) {
            self.0.insert(operation.to_owned(), Tally::default());
        }
        if let Some(tally) = self.0.get_mut(operation) {
            tally.calls += 1;
            tally.bytes += bytes as u64;
        }
    }

    /// What came since `earlier`.
    pub(in super::super) fn since(&self, earlier: &Self) -> Self {
        let since = |(operation, now): (&String, &Tally)| {
            let before = earlier.0.get(operation).copied().unwrap_or_default();
            let tally = Tally { calls: now.calls - before.calls, bytes: now.bytes - before.bytes };
            (tally.calls > 0).then(|| (operation.clone(), tally))
        };
        Self(self.0.iter().filter_map(since).collect())
    }

    /// Every operation that was called.
    pub(in super::super) fn iter(&self) -> impl Iterator<Item = (&str, Tally)> {
        self.0.iter().map(|(operation, tally)| (operation.as_str(), *tally))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_then_is_told_and_nothing_else() {
        let mut counts = Counts::default();
        counts.add("GetItem", 10);
        counts.add("PutItem", 10);
        let then = counts.clone();
        counts.add("PutItem", 7);
        counts.add("UpdateItem", 5);
        let since = counts.since(&then);
        let expected = [("PutItem", Tally { calls: 1, bytes: 7 }), ("UpdateItem", Tally { calls: 1, bytes: 5 })];
        assert_eq!(since.iter().collect::<Vec<_>>(), expected);
    }
}
