//! How often handlers start: a share of the provider's rate for each sandbox.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Spaces handler starts evenly; unused time is not saved up beyond one start.
#[derive(Debug)]
pub(super) struct RateLimit {
    interval: Duration,
    next_free: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// A limit of `per_second` starts over `sandboxes` sandboxes together.
    pub(super) fn new(per_second: u32, sandboxes: u32) -> Self {
        let interval = Duration::from_secs(1) * sandboxes.max(1) / per_second.max(1);
        Self { interval, next_free: Mutex::new(None) }
    }

    /// Takes the next start if it comes within `patience`, and says how long to wait for it.
    ///
    /// # Errors
    /// How far away the next start is.
    pub(super) fn reserve(&self, now: Instant, patience: Duration) -> Result<Duration, Duration> {
        let mut next_free = self.next_free.lock().unwrap_or_else(PoisonError::into_inner);
        let start = next_free.map_or(now, |free| free.max(now));
        if start - now > patience {
            return Err(start - now);
        }
        *next_free = Some(start + self.interval);
        Ok(start - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_spaced_by_this_sandboxes_share_of_the_rate() {
        let (limit, now) = (RateLimit::new(10, 2), Instant::now());
        let waits: Vec<_> = (0..4).map(|_| limit.reserve(now, Duration::from_secs(9)).unwrap().as_millis()).collect();
        assert_eq!(waits, [0, 200, 400, 600]);
    }

    #[test]
    fn a_start_beyond_the_patience_is_not_taken() {
        let (limit, now) = (RateLimit::new(1, 1), Instant::now());
        assert_eq!(limit.reserve(now, Duration::ZERO), Ok(Duration::ZERO));
        assert_eq!(limit.reserve(now, Duration::from_millis(999)), Err(Duration::from_secs(1)));
        assert_eq!(limit.reserve(now, Duration::from_secs(1)), Ok(Duration::from_secs(1)));
    }
}
