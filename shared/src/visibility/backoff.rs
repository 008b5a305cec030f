//! When a failed message comes back.

use std::time::Duration;

/// SQS lets a message be invisible for at most twelve hours
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html>).
pub const MAX_VISIBILITY: Duration = Duration::from_secs(43_200);

/// Exponential backoff with full jitter: uniform between zero and `min(cap, base · 2^(attempt − 1))`
/// (<https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Longest delay after the first attempt.
    pub base: Duration,
    /// Longest delay after any attempt.
    pub cap: Duration,
}

impl Backoff {
    /// Longest delay after `attempt` handler starts. A count of zero is garbage and read as one.
    #[must_use]
    pub fn ceiling(&self, attempt: u32) -> Duration {
        let doublings = attempt.max(1) - 1;
        let grown = 2u32.checked_pow(doublings).and_then(|factor| self.base.checked_mul(factor)).unwrap_or(self.cap);
        grown.min(self.cap).min(MAX_VISIBILITY)
    }

    /// The delay after `attempt` handler starts; `jitter` is uniform in `0.0..1.0`, anything else is pulled in.
    #[must_use]
    pub fn delay(&self, attempt: u32, jitter: f64) -> Duration {
        let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 1.0 };
        self.ceiling(attempt).mul_f64(jitter)
    }
}

/// The twelve hours are counted from the receive, so what an invocation may have used already is kept back: the longest takes 90
/// minutes (Lambda Managed Instances).
const LONGEST_VISIBILITY: Duration = Duration::from_secs(43_200 - 5_400);

/// A delay as SQS takes it: whole seconds, rounded up so that a message never comes back before its job is due, and never so long
/// that SQS refuses it.
#[must_use]
pub fn visibility_seconds(delay: Duration) -> i32 {
    let whole = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
    i32::try_from(whole.min(LONGEST_VISIBILITY.as_secs())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BACKOFF: Backoff = Backoff { base: Duration::from_secs(10), cap: Duration::from_secs(900) };

    #[test]
    fn the_ceiling_doubles_with_each_attempt_up_to_the_cap() {
        let ceilings: Vec<_> = (1..=9).map(|attempt| BACKOFF.ceiling(attempt).as_secs()).collect();
        assert_eq!(ceilings, [10, 20, 40, 80, 160, 320, 640, 900, 900]);
    }

    #[test]
    fn a_garbage_attempt_count_is_read_as_one() {
        assert_eq!(BACKOFF.ceiling(0), BACKOFF.ceiling(1));
    }

    #[test]
    fn a_delay_is_rounded_up_to_whole_seconds() {
        assert_eq!(visibility_seconds(Duration::from_millis(1)), 1);
        assert_eq!(visibility_seconds(Duration::from_secs(3)), 3);
        assert_eq!(visibility_seconds(Duration::ZERO), 0);
    }

    proptest! {
        #[test]
        fn a_delay_never_leaves_its_bounds(base in 0u64..u64::MAX, cap in 0u64..u64::MAX, attempt: u32, jitter: f64) {
            let backoff = Backoff { base: Duration::from_secs(base), cap: Duration::from_secs(cap) };
            let delay = backoff.delay(attempt, jitter);
            prop_assert!(delay <= Duration::from_secs(cap).min(MAX_VISIBILITY));
            prop_assert!((0..=37_800).contains(&visibility_seconds(delay)));
        }

        #[test]
        fn full_jitter_reaches_from_zero_to_the_ceiling(attempt in 1u32..20) {
            prop_assert_eq!(BACKOFF.delay(attempt, 0.0), Duration::ZERO);
            prop_assert_eq!(BACKOFF.delay(attempt, 1.0), BACKOFF.ceiling(attempt));
        }
    }
}
