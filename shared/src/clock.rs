//! Points in time with their unit in the type, and the clock that hands them out.
//!
//! Leases count in milliseconds, DynamoDB's time to live counts in seconds
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html>). A millisecond value written
//! where seconds belong never expires, a second value read as milliseconds has expired since 1970; so the two are different types, and
//! going from one to the other is always spelled out.
//!
//! ```
//! use std::time::Duration;
//! use ikkai::clock::EpochMillis;
//!
//! let now = EpochMillis::parse_rfc3339("2026-01-31T23:59:59.042Z")?;
//! let lease_until = now + Duration::from_secs(45);
//! assert_eq!(lease_until.since(now), Duration::from_secs(45));
//! // A record must not vanish early: its seconds round up.
//! assert_eq!(now.to_seconds_ceil().to_millis().rfc3339().to_string(), "2026-02-01T00:00:00.000Z");
//! # Ok::<(), ikkai::clock::Rfc3339Error>(())
//! ```

mod rfc3339;

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use self::rfc3339::{Rfc3339, Rfc3339Error};
pub(crate) use self::rfc3339::{civil_date, days_since_1970};

const MILLIS_PER_SECOND: i64 = 1_000;

/// Milliseconds since 1970-01-01T00:00:00Z: leases, deadlines, log lines. Arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EpochMillis(i64);

impl EpochMillis {
    /// A point in time from its count of milliseconds.
    #[must_use]
    pub const fn from_i64(millis: i64) -> Self {
        Self(millis)
    }

    /// A point in time from an unsigned count of milliseconds, as Lambda hands out deadlines. Counts beyond `i64::MAX` become `i64::MAX`.
    #[must_use]
    pub fn from_u64(millis: u64) -> Self {
        Self(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    /// The count of milliseconds.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        self.0
    }

    /// The first whole second that is not before this instant. Expiry rounds up: a record must not vanish early.
    #[must_use]
    pub const fn to_seconds_ceil(self) -> EpochSeconds {
        let floor = self.0.div_euclid(MILLIS_PER_SECOND);
        EpochSeconds(if self.0.rem_euclid(MILLIS_PER_SECOND) == 0 { floor } else { floor + 1 })
    }

    /// The last whole second that is not after this instant.
    #[must_use]
    pub const fn to_seconds_floor(self) -> EpochSeconds {
        EpochSeconds(self.0.div_euclid(MILLIS_PER_SECOND))
    }

    /// The time that passed since `earlier`; zero when `earlier` lies ahead, as it may between machines whose clocks differ.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The instant in RFC 3339, UTC, with milliseconds: `2026-01-31T23:59:59.042Z`.
    #[must_use]
    pub const fn rfc3339(self) -> Rfc3339 {
        Rfc3339(self)
    }

    /// Reads an instant in RFC 3339, with `Z` or an offset. What is finer than a millisecond is cut off.
    ///
    /// # Errors
    /// When the text is none, or names a day or a time that does not exist.
    pub fn parse_rfc3339(text: &str) -> Result<Self, Rfc3339Error> {
        rfc3339::parse(text)
    }
}

impl Add<Duration> for EpochMillis {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for EpochMillis {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl From<SystemTime> for EpochMillis {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(0) + after,
            Err(before) => Self(0) - before.duration(),
        }
    }
}

impl fmt::Display for EpochMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Seconds since 1970-01-01T00:00:00Z: what DynamoDB's time to live reads. Arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EpochSeconds(i64);

impl EpochSeconds {
    /// A point in time from its count of seconds.
    #[must_use]
    pub const fn from_i64(seconds: i64) -> Self {
        Self(seconds)
    }

    /// The count of seconds.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        self.0
    }

    /// The same instant in milliseconds.
    #[must_use]
    pub const fn to_millis(self) -> EpochMillis {
        EpochMillis(self.0.saturating_mul(MILLIS_PER_SECOND))
    }
}

impl Add<Duration> for EpochSeconds {
    type Output = Self;

    /// Adds whole seconds; a started second counts, as in [`EpochMillis::to_seconds_ceil`].
    fn add(self, duration: Duration) -> Self {
        let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
        Self(self.0.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for EpochSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where the kit gets the time from. Everything that compares times takes a clock, so that tests can set it.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> EpochMillis;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> EpochMillis {
        (**self).now()
    }
}

/// The machine's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> EpochMillis {
        SystemTime::now().into()
    }
}

/// A clock that stands still until it is moved. Clones share the time.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `start`.
    #[must_use]
    pub fn new(start: EpochMillis) -> Self {
        Self(Arc::new(AtomicI64::new(start.as_i64())))
    }

    /// Sets the time, backwards too.
    pub fn set(&self, now: EpochMillis) {
        self.0.store(now.as_i64(), Ordering::SeqCst);
    }

    /// Moves the time on and returns what it is then.
    pub fn advance(&self, duration: Duration) -> EpochMillis {
        let step = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        EpochMillis(self.0.fetch_add(step, Ordering::SeqCst).saturating_add(step))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> EpochMillis {
        EpochMillis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_up_so_that_nothing_expires_early() {
        for (millis, seconds) in [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (-1, 0), (-1_000, -1), (-1_001, -1)] {
            assert_eq!(EpochMillis::from_i64(millis).to_seconds_ceil(), EpochSeconds::from_i64(seconds), "{millis} ms");
        }
        assert_eq!(EpochMillis::from_i64(1_999).to_seconds_floor(), EpochSeconds::from_i64(1));
        assert_eq!(EpochMillis::from_i64(-1).to_seconds_floor(), EpochSeconds::from_i64(-1));
        assert_eq!(EpochSeconds::from_i64(7) + Duration::from_millis(1), EpochSeconds::from_i64(8));
    }

    #[test]
    fn a_clock_that_ran_backwards_gives_no_time_passed() {
        let (early, late) = (EpochMillis::from_i64(1_000), EpochMillis::from_i64(1_750));
        assert_eq!(late.since(early), Duration::from_millis(750));
        assert_eq!(early.since(late), Duration::ZERO);
    }

    #[test]
    fn arithmetic_stops_at_the_ends_of_time() {
        let end = EpochMillis::from_i64(i64::MAX);
        assert_eq!(end + Duration::MAX, end);
        assert_eq!(EpochMillis::from_i64(i64::MIN) - Duration::MAX, EpochMillis::from_i64(i64::MIN));
        assert_eq!(EpochMillis::from_u64(u64::MAX), end);
        assert_eq!(end.since(EpochMillis::from_i64(i64::MIN)), Duration::from_millis(i64::MAX.unsigned_abs()));
        assert_eq!(EpochSeconds::from_i64(i64::MAX).to_millis(), end);
    }

    #[test]
    fn times_are_written_as_bare_numbers() {
        assert_eq!(serde_json::to_string(&EpochMillis::from_i64(1_700_000_000_123)).unwrap(), "1700000000123");
        assert_eq!(serde_json::from_str::<EpochSeconds>("1700000000").unwrap(), EpochSeconds::from_i64(1_700_000_000));
    }

    #[test]
    fn a_manual_clock_moves_only_when_told_and_shares_its_time_with_clones() {
        let clock = ManualClock::new(EpochMillis::from_i64(5));
        let seen: Arc<dyn Clock> = Arc::new(clock.clone());
        assert_eq!(clock.advance(Duration::from_secs(1)), EpochMillis::from_i64(1_005));
        assert_eq!(seen.now(), EpochMillis::from_i64(1_005));
        clock.set(EpochMillis::from_i64(3));
        assert_eq!(seen.now(), EpochMillis::from_i64(3));
    }

    #[test]
    fn the_system_clock_shows_this_century() {
        let year_2020 = EpochMillis::from_i64(1_577_836_800_000);
        assert!(SystemClock.now() > year_2020);
    }
}
