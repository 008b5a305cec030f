//! Expectations, each beside what was measured.

use std::fmt::Debug;

use serde::Serialize;

/// An expectation and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What is promised.
    pub(super) promise: String,
    /// What was measured.
    pub(super) found: String,
    /// Whether the promise was kept.
    pub(super) kept: bool,
}

/// Something that was waited for did not come.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}")]
pub(super) struct Missed {
    /// What, as a promise.
    pub(super) what: String,
    /// What there was instead.
    pub(super) found: String,
}

/// What was found out about one job, or about all together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    /// Notes whether `promise` was kept, and what was measured.
    pub(super) fn check(&mut self, promise: impl Into<String>, found: impl Into<String>, kept: bool) {
        self.0.push(Finding { promise: promise.into(), found: found.into(), kept });
    }

    /// `found` must be `wanted`.
    pub(super) fn equal<T: PartialEq + Debug>(&mut self, what: &str, found: T, wanted: T) {
        let kept = found == wanted;
        self.check(format!("{what}: {wanted:?}"), format!("{found:?}"), kept);
    }

    /// `found` must be `least` or more.
    pub(super) fn at_least<T: PartialOrd + Debug>(&mut self, what: &str, found: T, least: T) {
        let kept = found >= least;
        self.check(format!("{what}: at least {least:?}"), format!("{found:?}"), kept);
    }

    /// Takes the findings of something else over.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// What never came is a promise that was not kept.
    pub(super) fn missed(&mut self, missed: &Missed) {
        self.check(&missed.what, &missed.found, false);
    }

    /// Whether every promise was kept. Nothing checked is nothing proved.
    pub(super) fn all_kept(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|finding| finding.kept)
    }

    /// How many promises were checked.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The promises that were not kept.
    pub(super) fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter().filter(|finding| !finding.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_promise_is_enough_and_says_what_was_found() {
        let mut findings = Findings::default();
        findings.equal("mails", 1, 1);
        findings.at_least("receives", 5, 5);
        assert!(findings.all_kept());
        findings.equal("mails", 2, 1);
        assert!(!findings.all_kept());
        let broken: Vec<_> = findings.broken().collect();
        assert_eq!((broken.len(), broken[0].promise.as_str(), broken[0].found.as_str()), (1, "mails: 1", "2"));
    }

    #[test]
    fn less_than_the_least_is_a_broken_promise() {
        let mut findings = Findings::default();
        findings.at_least("receives", 4, 5);
        assert!(!findings.all_kept());
    }

    #[test]
    fn what_never_came_is_a_broken_promise() {
        let mut findings = Findings::default();
        findings.missed(&Missed { what: "the job ends".into(), found: "running".into() });
        assert_eq!((findings.count(), findings.all_kept()), (1, false));
    }

    #[test]
    fn nothing_checked_is_nothing_proved() {
        assert!(!Findings::default().all_kept());
    }
}
