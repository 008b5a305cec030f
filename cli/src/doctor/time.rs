//! Times as people say them.

/// `14 days`, `90 s`: whole days, hours or minutes where it is at least two of them.
#[must_use]
pub fn time(seconds: u64) -> String {
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    match units.iter().find(|(unit, _)| seconds >= 2 * unit) {
        Some((unit, name)) => format!("{} {name}", seconds / unit),
        None => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_the_largest_unit_of_which_there_are_two() {
        for (seconds, told) in [(30, "30 s"), (119, "119 s"), (120, "2 minutes"), (86_400, "24 hours"), (172_800, "2 days")] {
            assert_eq!(time(seconds), told);
        }
    }
}
