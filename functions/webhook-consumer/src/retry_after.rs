//! When a receiver wants to be asked again.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header::RETRY_AFTER};
use ikkai::clock::EpochMillis;

/// Longest `Retry-After` that is believed.
const MAX_WAIT: Duration = Duration::from_secs(3_600);

/// A receiver's `Retry-After`, in either of its forms: <https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// So much later.
    In(Duration),
    /// Not before this moment of the receiver's clock.
    At(EpochMillis),
}

impl RetryAfter {
    /// What an answer's header says; `None` for one that is missing or says something else.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        text.parse().map(Duration::from_secs).map(Self::In).ok().or_else(|| httpdate::parse_http_date(text).ok().and_then(moment))
    }

    /// How long that is from `now` on, an hour at most. Nothing for a moment that has passed.
    #[must_use]
    pub fn wait(self, now: EpochMillis) -> Duration {
        let wait = match self {
            Self::In(wait) => wait,
            Self::At(moment) => moment.since(now),
        };
        wait.min(MAX_WAIT)
    }
}

fn moment(date: SystemTime) -> Option<RetryAfter> {
    let since_epoch = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(RetryAfter::At(EpochMillis::from_u64(u64::try_from(since_epoch.as_millis()).ok()?)))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// Wed, 21 Oct 2026 07:28:00 GMT.
    const MOMENT: EpochMillis = EpochMillis::from_i64(1_792_567_680_000);

    fn read(value: &str) -> Option<RetryAfter> {
        let value = HeaderValue::from_str(value).unwrap();
        RetryAfter::read(&HeaderMap::from_iter([(RETRY_AFTER, value)]))
    }

    #[test]
    fn seconds_and_the_three_forms_of_a_date_are_read() {
        for seconds in ["120", " 120 "] {
            assert_eq!(read(seconds), Some(RetryAfter::In(Duration::from_secs(120))), "{seconds}");
        }
        for date in ["Wed, 21 Oct 2026 07:28:00 GMT", "Wednesday, 21-Oct-26 07:28:00 GMT", "Wed Oct 21 07:28:00 2026"] {
            assert_eq!(read(date), Some(RetryAfter::At(MOMENT)), "{date}");
        }
    }

    #[test]
    fn what_is_neither_is_not_read() {
        for odd in
            ["", "soon", "-1", "1.5", "2026-10-21T07:28:00Z", "Wed, 21 Oct 2026 07:28:00 +0200", "Wed, 32 Oct 2026 07:28:00 GMT"]
        {
            assert_eq!(read(odd), None, "{odd}");
        }
        assert_eq!(RetryAfter::read(&HeaderMap::new()), None);
    }

    #[test]
    fn a_wait_is_counted_from_now_and_ends_after_an_hour() {
        let seconds = |number| Duration::from_secs(number);
        assert_eq!(RetryAfter::In(seconds(90)).wait(MOMENT), seconds(90));
        assert_eq!(RetryAfter::In(seconds(u64::MAX)).wait(MOMENT), seconds(3_600));
        for (before, expected) in [(90, 90), (3_600, 3_600), (3_601, 3_600), (999_999, 3_600)] {
            let now = EpochMillis::from_i64(MOMENT.as_i64() - before * 1_000);
            assert_eq!(RetryAfter::At(MOMENT).wait(now), seconds(expected), "{before} s before it");
        }
        assert_eq!(RetryAfter::At(MOMENT).wait(MOMENT + seconds(5)), Duration::ZERO, "its time has passed");
    }
}
