//! Percentiles.

/// The smallest value that at least `percent` of 100 values do not exceed (nearest rank). `None` without values.
#[must_use]
pub fn percentile<T: Copy + PartialOrd>(values: impl IntoIterator<Item = T>, percent: usize) -> Option<T> {
    let mut sorted: Vec<T> = values.into_iter().collect();
    sorted.sort_unstable_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<u32> = (1..=20).rev().collect();
        assert_eq!(percentile(values.clone(), 50), Some(10));
        assert_eq!(percentile(values.clone(), 95), Some(19));
        assert_eq!(percentile(values.clone(), 100), Some(20));
        assert_eq!(percentile(values, 0), Some(1));
        assert_eq!(percentile([7], 95), Some(7));
        assert_eq!(percentile([0_u32; 0], 50), None);
        assert_eq!(percentile([0.3, 0.1, 0.2], 50), Some(0.2));
    }
}
