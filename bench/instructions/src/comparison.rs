//! Counts of now beside those that are kept.

use std::collections::BTreeSet;

use crate::counts::{Circumstances, Counts};

/// How much a count may grow, in percent. Runs of one program differ by far less (see `README.md`); compilers and C libraries may take the rest.
pub(crate) const TOLERANCE_PERCENT: u64 = 5;

/// The kept counts are of something else.
#[derive(Debug, thiserror::Error)]
#[error(
    "the kept counts are of {kept_target} in profile `{kept_profile}`, these of {target} in profile `{profile}`; they cannot be compared. \
     Run `cargo instructions` there, or keep these with `--record`"
)]
pub(crate) struct NotComparable {
    kept_target: String,
    kept_profile: String,
    target: String,
    profile: String,
}

/// What became of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Within the tolerance.
    AsKept,
    /// More than the tolerance allows.
    Grown,
    /// Less by more than the tolerance: worth keeping, so that it stays.
    Fallen,
    /// There is no count to compare with.
    NotKept,
    /// Counted once, and no more.
    Gone,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) case: String,
    pub(crate) kept: Option<u64>,
    pub(crate) now: Option<u64>,
    pub(crate) verdict: Verdict,
}

/// All cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    /// Compares.
    ///
    /// # Errors
    /// Processor, system or profile differ.
    pub(crate) fn new(kept: &Counts, now: &Counts) -> Result<Self, NotComparable> {
        let of = |circumstances: &Circumstances| (circumstances.target.clone(), circumstances.profile.clone());
        let ((kept_target, kept_profile), (target, profile)) = (of(&kept.circumstances), of(&now.circumstances));
        if (&kept_target, &kept_profile) != (&target, &profile) {
            return Err(NotComparable { kept_target, kept_profile, target, profile });
        }
        let cases: BTreeSet<_> = kept.cases.keys().chain(now.cases.keys()).collect();
        let count = |counts: &Counts, case: &String| counts.cases.get(case).map(|count| count.instructions);
        let rows = cases.into_iter().map(|case| {
            let (kept, now) = (count(kept, case), count(now, case));
            Row { case: case.clone(), kept, now, verdict: verdict(kept, now) }
        });
        Ok(Self { rows: rows.collect() })
    }

    /// Whether every case is kept and none has grown.
    pub(crate) fn holds(&self) -> bool {
        self.rows.iter().all(|row| matches!(row.verdict, Verdict::AsKept | Verdict::Fallen))
    }
}

fn verdict(kept: Option<u64>, now: Option<u64>) -> Verdict {
    match (kept, now) {
        (None, _) => Verdict::NotKept,
        (_, None) => Verdict::Gone,
        (Some(kept), Some(now)) if now * 100 > kept * (100 + TOLERANCE_PERCENT) => Verdict::Grown,
        (Some(kept), Some(now)) if now * 100 < kept * (100 - TOLERANCE_PERCENT) => Verdict::Fallen,
        _ => Verdict::AsKept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Count;

    fn counts(profile: &str, cases: &[(&str, u64)]) -> Counts {
        let circumstances = Circumstances {
            counted: "2031-01-31".to_owned(),
            target: "x86_64-linux".to_owned(),
            profile: profile.to_owned(),
            rustc: String::new(),
            valgrind: String::new(),
        };
        let count = |instructions: u64| Count { instructions, records: 1, nanoseconds: 1 };
        let cases = cases.iter().map(|(name, instructions)| ((*name).to_owned(), count(*instructions)));
        Counts { circumstances, cases: cases.collect() }
    }

    fn compare(kept: &[(&str, u64)], now: &[(&str, u64)]) -> (Vec<Verdict>, bool) {
        let comparison = Comparison::new(&counts("local", kept), &counts("local", now)).unwrap();
        (comparison.rows.iter().map(|row| row.verdict).collect(), comparison.holds())
    }

    #[test]
    fn more_than_five_percent_up_fails_and_five_do_not() {
        assert_eq!(compare(&[("a", 1_000)], &[("a", 1_050)]), (vec![Verdict::AsKept], true));
        assert_eq!(compare(&[("a", 1_000)], &[("a", 1_051)]), (vec![Verdict::Grown], false));
    }

    #[test]
    fn more_than_five_percent_down_is_told_and_passes() {
        assert_eq!(compare(&[("a", 1_000)], &[("a", 950)]), (vec![Verdict::AsKept], true));
        assert_eq!(compare(&[("a", 1_000)], &[("a", 949)]), (vec![Verdict::Fallen], true));
    }

    #[test]
    fn one_that_grew_fails_whatever_the_others_gained() {
        assert!(!compare(&[("a", 1_000), ("b", 1_000)], &[("a", 1), ("b", 2_000)]).1);
    }

    #[test]
    fn a_case_without_a_kept_count_and_a_count_without_a_case_fail() {
        assert_eq!(compare(&[], &[("a", 1)]), (vec![Verdict::NotKept], false));
        assert_eq!(compare(&[("a", 1)], &[]), (vec![Verdict::Gone], false));
    }

    #[test]
    fn counts_of_another_profile_are_not_compared() {
        let error = Comparison::new(&counts("local", &[]), &counts("release", &[])).unwrap_err().to_string();
        assert!(error.contains("`local`") && error.contains("`release`"), "{error}");
    }
}
