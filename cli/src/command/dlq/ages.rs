//! Spans of time as operators write and read them.

use std::time::{Duration, SystemTime};

use ikkai::clock::EpochMillis;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Reads `30s`, `10m`, `2h` or `7d`, in seconds.
pub(in crate::command) fn seconds(text: &str) -> Result<u64, String> {
    let unit = text.chars().last().and_then(|unit| match unit {
        's' => Some(1),
        'm' => Some(MINUTE),
        'h' => Some(HOUR),
        'd' => Some(DAY),
        _ => None,
    });
    let number = unit.and_then(|unit| text[..text.len() - 1].parse::<u64>().ok()?.checked_mul(unit));
    number.ok_or_else(|| "write a number and a unit: 30s, 10m, 2h or 7d".to_owned())
}

/// Reads a span of at least a minute, in seconds.
pub(in crate::command) fn at_least_a_minute(text: &str) -> Result<u64, String> {
    match seconds(text)? {
        time @ 60.. => Ok(time),
        _ => Err("it is at least a minute, 1m: below that jobs are merely at work".to_owned()),
    }
}

/// How long ago an instant was: `42 s`, `7 min`, `3 h`, `12 d`. What is no instant is shown as it is.
pub(in crate::command) fn ago(instant: &str) -> String {
    age(instant).map_or_else(|| instant.to_owned(), short)
}

/// How long ago an instant was; `None` for what is no instant.
pub(in crate::command) fn age(instant: &str) -> Option<Duration> {
    let then = EpochMillis::parse_rfc3339(instant).ok()?;
    Some(EpochMillis::from(SystemTime::now()).since(then))
}

/// A span in its largest unit, rounded down from two of it on: `119 s`, `2 min`.
pub(in crate::command) fn short(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / MINUTE),
        7_200..172_800 => format!("{} h", seconds / HOUR),
        _ => format!("{} d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_unit() {
        assert_eq!(["30s", "10m", "2h", "7d", "0s"].map(|text| seconds(text).unwrap()), [30, 600, 7_200, 604_800, 0]);
        for text in ["", "10", "m", "-1m", "1.5h", "10 m", "10min", "99999999999999999999d", "9999999999999999999d", "1ä"] {
            assert!(seconds(text).unwrap_err().contains("10m"), "{text}");
        }
    }

    #[test]
    fn stuck_means_longer_than_a_minute() {
        assert_eq!(at_least_a_minute("30m"), Ok(1_800));
        assert!(at_least_a_minute("59s").unwrap_err().contains("1m"));
    }

    #[test]
    fn spans_are_shown_in_one_unit() {
        let shown = [0, 119, 120, 7_199, 7_200, 172_799, 172_800].map(|seconds| short(Duration::from_secs(seconds)));
        assert_eq!(shown, ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 d"]);
        assert_eq!(ago("yesterday"), "yesterday");
        assert_eq!(ago("2999-01-01T00:00:00Z"), "0 s", "another machine's clock may be ahead");
    }
}
