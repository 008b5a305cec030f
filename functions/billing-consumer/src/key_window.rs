//! Which idempotency key a charge goes out under, and when it has to be looked up before.
//!
//! ```text
//! age of the first try   0 ──────────── window ─── + settling ────────── 2 × window ─── + settling ───…
//! key                    job id       │ none yet  │ job id:r1           │ none yet     │ job id:r2
//! before charging        –            │ look up   │ look up             │ look up      │ look up
//! ```
//!
//! Inside the window the provider remembers the key: a repetition is answered with the first result and charges nothing. After it, the
//! old key would charge anew, and a provider that still remembers it would repeat a stale answer. So the charge is looked up first, by the
//! job id in its metadata; only if there is none it is asked for again, under a new key.
//!
//! Two charges cannot come of it. Requests under one key are one charge, because all of them are sent inside that key's window. Requests
//! under two keys are separated by the settling time: whatever was sent under the older key has either become visible in the lookup by
//! then, or will never happen. The settling time is as long as an invocation of Lambda can last, which is more than any request lives.

use std::time::Duration;

use ikkai::job::JobId;

/// After the end of a window no charge is begun for this long: 15 minutes, the longest invocation
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>). Clocks that differ by seconds do not matter either.
pub const SETTLING_TIME: Duration = Duration::from_secs(15 * 60);

/// How long the provider surely remembers an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyWindow(Duration);

/// Where an attempt stands, by the age of the first try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was tried before, or the provider remembers it.
    Remembered,
    /// Requests under the last key may still become visible, for this long: look up, charge nothing.
    Settling(Duration),
    /// The provider may have forgotten; look up, then charge under the key of this window, counted from one.
    Forgotten(u64),
}

/// The idempotency key of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderKey(String);

impl KeyWindow {
    /// Shortest window: it must be longer than the settling time by far.
    pub const MIN: Duration = Duration::from_secs(3_600);

    /// Longest window: what Stripe promises (<https://docs.stripe.com/api/idempotent_requests>).
    pub const MAX: Duration = Duration::from_secs(86_400);

    /// A window of this length, brought into the limits.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        Self(length.clamp(Self::MIN, Self::MAX))
    }

    /// How long it is.
    #[must_use]
    pub const fn length(self) -> Duration {
        self.0
    }

    /// The phase of an attempt; `age` is `None` when no earlier run can have charged.
    #[must_use]
    pub fn phase(self, age: Option<Duration>) -> Phase {
        let (age, window) = (age.unwrap_or_default().as_millis(), self.0.as_millis());
        let settling = SETTLING_TIME.as_millis();
        match (age / window, age % window) {
            (0, _) => Phase::Remembered,
            (_, since_end) if since_end < settling => Phase::Settling(millis(settling - since_end)),
            (round, _) => Phase::Forgotten(u64::try_from(round).unwrap_or(u64::MAX)),
        }
    }
}

fn millis(count: u128) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(u64::MAX))
}

impl ProviderKey {
    /// The key of a window, counted from zero: in the first one it is the job id itself.
    #[must_use]
    pub fn of_window(job_id: &JobId, window: u64) -> Self {
        match window {
            0 => Self(job_id.as_str().to_owned()),
            later => Self(format!("{}:r{later}", job_id.as_str())),
        }
    }

    /// The key as it is sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use ikkai::job::{IdempotencyKey, JobType};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn phase(age: Duration) -> Phase {
        KeyWindow::new(23 * HOUR).phase(Some(age))
    }

    #[test]
    fn inside_the_window_the_job_id_is_the_key() {
        let window = KeyWindow::new(23 * HOUR);
        assert_eq!(window.phase(None), Phase::Remembered);
        for age in [Duration::ZERO, HOUR, 23 * HOUR - Duration::from_millis(1)] {
            assert_eq!(phase(age), Phase::Remembered, "{age:?}");
        }
    }

    #[test]
    fn every_window_begins_with_a_time_in_which_nothing_is_charged() {
        for round in [1_u32, 2, 9] {
            let end = 23 * HOUR * round;
            assert_eq!(phase(end), Phase::Settling(SETTLING_TIME));
            assert_eq!(phase(end + Duration::from_secs(60)), Phase::Settling(SETTLING_TIME - Duration::from_secs(60)));
            assert_eq!(phase(end + SETTLING_TIME), Phase::Forgotten(u64::from(round)));
            assert_eq!(phase(end + 22 * HOUR), Phase::Forgotten(u64::from(round)));
        }
    }

    #[test]
    fn keys_of_different_windows_differ_and_fit_the_providers_limit() {
        let (job_type, key) = (JobType::parse("billing.charge").unwrap(), IdempotencyKey::parse("k").unwrap());
        let job_id = JobId::derive("caller", &job_type, &key);
        let keys = [0, 1, u64::MAX].map(|window| ProviderKey::of_window(&job_id, window));
        assert_eq!(keys[0].as_str(), job_id.as_str());
        assert_eq!(keys[1].as_str(), format!("{}:r1", job_id.as_str()));
        // <https://docs.stripe.com/api/idempotent_requests>
        assert!(keys[2].as_str().len() <= 255);
    }

    #[test]
    fn a_window_is_never_so_short_that_nothing_could_be_charged() {
        assert_eq!(KeyWindow::new(Duration::from_secs(1)).length(), KeyWindow::MIN);
        assert_eq!(KeyWindow::new(100 * HOUR).length(), KeyWindow::MAX);
        assert!(KeyWindow::MIN > 2 * SETTLING_TIME);
    }
}
