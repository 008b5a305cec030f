//! The table of probes.

use futures::future::LocalBoxFuture;

use super::finding::Finding;
use super::lab::Lab;
use super::probes;
use super::trouble::Trouble;

/// What a probe cannot be carried out without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The engine alone.
    Nothing,
    /// The function, which has to be built.
    Function,
}

/// One thing that AWS does, and how to see whether an engine does it too.
#[derive(Clone, Copy)]
pub struct Probe {
    /// Its name, such as `partial-batch-failure`.
    pub id: &'static str,
    /// What belongs together, such as `answers of a batch`.
    pub group: &'static str,
    /// The feature, in a few words.
    pub feature: &'static str,
    /// What AWS does, in one sentence.
    pub aws: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// What it cannot be carried out without.
    pub needs: Needs,
    pub(super) run: for<'a> fn(&'a Lab) -> LocalBoxFuture<'a, Result<Finding, Trouble>>,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Probe").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Every probe, in the order of the table.
#[must_use]
pub fn all() -> Vec<Probe> {
    probes::GROUPS.concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_probe_has_a_name_of_its_own_and_says_who_says_what_aws_does() {
        let probes = all();
        let names: BTreeSet<_> = probes.iter().map(|probe| probe.id).collect();
        assert_eq!(names.len(), probes.len(), "a name is there twice");
        for probe in probes {
            let name = probe.id;
            assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'), "{name}");
            // The longest name of a queue is 80 characters, and the prefix and what a probe puts behind its name need some of them.
            assert!(name.len() <= 40, "{name}");
            assert!(probe.aws.ends_with('.') && probe.source.starts_with("https://docs.aws.amazon.com/"), "{name}");
        }
    }
}
