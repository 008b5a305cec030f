//! How long jobs took, in bounded memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts of durations, each rounded down to its two leading digits: 1,234 ms counts as 1,200 ms. So there are at most some thousand
/// different ones, whatever comes in, and a percentile is at most a tenth too small.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Latencies {
    count_by_millis: BTreeMap<u64, u64>,
}

/// Durations from here on, up to the next one, are shown together.
const BANDS: [(u64, &str); 6] = [
    (0, "under 1 s"),
    (1_000, "1 s to 10 s"),
    (10_000, "10 s to 1 min"),
    (60_000, "1 to 10 min"),
    (600_000, "10 min to 1 h"),
    (3_600_000, "1 h and more"),
];

impl Latencies {
    pub(crate) fn add(&mut self, millis: u64) {
        *self.count_by_millis.entry(two_digits(millis)).or_default() += 1;
    }

    /// The shortest duration, rounded down, that so many percent of all do not exceed.
    pub(crate) fn percentile(&self, percent: u64) -> Option<u64> {
        let total: u64 = self.count_by_millis.values().sum();
        let rank = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        self.count_by_millis.iter().find_map(|(millis, count)| {
            seen += count;
            (seen >= rank).then_some(*millis)
        })
    }

    /// How many lie in each band, by the band's name.
    pub(crate) fn bands(&self) -> Vec<(&'static str, u64)> {
        let ends = BANDS.iter().skip(1).map(|(start, _)| *start).chain([u64::MAX]);
        let counted = |(start, end): (u64, u64)| self.count_by_millis.range(start..end).map(|(_, count)| count).sum();
        BANDS.iter().zip(ends).map(|((start, name), end)| (*name, counted((*start, end)))).collect()
    }
}

fn two_digits(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    number / unit * unit
}

/// A duration as people say it: `340 ms`, `1.2 s`, `12 min`, `3.4 h`.
pub(crate) fn spoken(millis: u64) -> String {
    let (unit, name) = match millis {
        0..1_000 => return format!("{millis} ms"),
        1_000..60_000 => (1_000, "s"),
        60_000..3_600_000 => (60_000, "min"),
        _ => (3_600_000, "h"),
    };
    let (whole, tenth) = (millis / unit, millis % unit * 10 / unit);
    if whole >= 10 || tenth == 0 { format!("{whole} {name}") } else { format!("{whole}.{tenth} {name}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_rounded_to_two_digits_and_bands_begin_at_round_ones() {
        for (millis, rounded) in [(0, 0), (9, 9), (99, 99), (100, 100), (1_234, 1_200), (59_999, 59_000), (60_000, 60_000)] {
            assert_eq!(two_digits(millis), rounded);
        }
        let mut latencies = Latencies::default();
        for millis in [999, 1_000, 9_999, 10_000, 60_000, 600_000, 3_599_999, 3_600_000, u64::MAX] {
            latencies.add(millis);
        }
        assert_eq!(latencies.bands().iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 2, 1, 1, 2, 2]);
    }

    #[test]
    fn durations_are_spoken_in_the_unit_that_fits() {
        for (millis, text) in [
            (0, "0 ms"),
            (340, "340 ms"),
            (1_000, "1 s"),
            (1_200, "1.2 s"),
            (59_000, "59 s"),
            (90_000, "1.5 min"),
            (12_600_000, "3.5 h"),
        ] {
            assert_eq!(spoken(millis), text);
        }
    }

    #[test]
    fn no_durations_have_no_percentile() {
        assert_eq!(Latencies::default().percentile(50), None);
    }

    proptest! {
        #[test]
        fn a_percentile_is_at_most_a_tenth_too_small(mut millis in proptest::collection::vec(0_u64..10_000_000_000, 1..300), percent in 1_u64..=100) {
            let mut latencies = Latencies::default();
            millis.iter().for_each(|millis| latencies.add(*millis));
            millis.sort_unstable();
            let rank = (millis.len() as u64 * percent).div_ceil(100).max(1);
            let exact = millis[usize::try_from(rank).unwrap() - 1];
            let ours = latencies.percentile(percent).unwrap();
            prop_assert!(ours <= exact && exact - ours <= exact / 10, "{} for {}", ours, exact);
            prop_assert!(latencies.count_by_millis.len() < 1_000);
        }
    }
}
