//! How fast messages are sent.

use std::time::Duration;

use ikkai::queue::MAX_ENTRIES;
use tokio::time::Instant;

/// Spreads sends so that no more than a number of messages go out a second.
#[derive(Debug)]
pub(super) struct Pace {
    per_second: u32,
    free_at: Option<Instant>,
}

impl Pace {
    pub(super) const fn new(per_second: u32) -> Self {
        Self { per_second, free_at: None }
    }

    /// Messages that are sent at once: those of one second at most, so that a slow pace is not a burst now and then.
    pub(super) fn at_once(&self) -> usize {
        usize::try_from(self.per_second).unwrap_or(usize::MAX).clamp(1, MAX_ENTRIES)
    }

    /// Waits for the turn of `count` messages; `false`, and no wait, when it comes later than `most` from now.
    pub(super) async fn turn(&mut self, count: usize, most: Duration) -> bool {
        let now = Instant::now();
        let turn = self.free_at.map_or(now, |free_at| free_at.max(now));
        if turn.duration_since(now) > most {
            return false;
        }
        let share = Duration::from_secs(1).saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)) / self.per_second.max(1);
        self.free_at = Some(turn + share);
        tokio::time::sleep_until(turn).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    #[tokio::test(start_paused = true)]
    async fn a_thousand_messages_at_forty_a_second_take_twenty_five_seconds() {
        let (mut pace, start) = (Pace::new(40), Instant::now());
        for _ in 0..100 {
            assert!(pace.turn(10, LONG).await);
        }
        let took = start.elapsed();
        assert!(took > Duration::from_millis(24_500) && took < Duration::from_millis(25_500), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_was_not_used_is_not_made_up_for() {
        let mut pace = Pace::new(10);
        assert!(pace.turn(10, LONG).await);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let start = Instant::now();
        for _ in 0..3 {
            assert!(pace.turn(10, LONG).await);
        }
        assert_eq!(start.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_comes_too_late_is_not_waited_for() {
        let (mut pace, start) = (Pace::new(1), Instant::now());
        assert!(pace.turn(1, Duration::ZERO).await);
        assert!(!pace.turn(1, Duration::from_millis(999)).await);
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(pace.at_once(), 1);
    }
}
