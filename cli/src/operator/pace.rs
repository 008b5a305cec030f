//! How fast a run goes, and how long it will take.

use std::time::Duration;

use tokio::time::Instant;

/// Below this a rate is noise.
const LEAST: Duration = Duration::from_secs(1);

/// What was done when.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    began: (Instant, u64),
    last: (Instant, u64),
}

impl Pace {
    /// Begins to watch, with what is done already.
    #[must_use]
    pub fn begin(done: u64) -> Self {
        let now = (Instant::now(), done);
        Self { began: now, last: now }
    }

    /// So much is done now.
    pub fn observe(&mut self, done: u64) {
        self.last = (Instant::now(), done.max(self.last.1));
    }

    /// Done by now.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.last.1
    }

    /// Messages a second since the beginning; `None` while there is too little to tell.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        let (time, done) = (self.last.0 - self.began.0, self.last.1 - self.began.1);
        // Counts of messages are far below 2^52.
        #[allow(clippy::cast_precision_loss, reason = "counts of messages are far below 2^52")]
        (time >= LEAST && done > 0).then(|| done as f64 / time.as_secs_f64())
    }

    /// How long the rest of `total` will take at this pace.
    #[must_use]
    pub fn left(&self, total: u64) -> Option<Duration> {
        let rest = total.saturating_sub(self.done());
        #[allow(clippy::cast_precision_loss, reason = "counts of messages are far below 2^52")]
        let seconds = rest as f64 / self.per_second()?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_left_follows_from_what_was_seen() {
        let mut pace = Pace::begin(100);
        assert_eq!((pace.per_second(), pace.left(200)), (None, None));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(pace.per_second(), None, "nothing was done yet");
        pace.observe(150);
        assert_eq!(pace.per_second(), Some(5.0), "what was done before does not count");
        assert_eq!(pace.left(200), Some(Duration::from_secs(10)));
        assert_eq!(pace.left(120), Some(Duration::ZERO));
        pace.observe(140);
        assert_eq!(pace.done(), 150, "an older count that comes late is passed over");
    }
}
