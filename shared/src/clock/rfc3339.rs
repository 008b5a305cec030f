//! Instants as text: RFC 3339.

use std::fmt;

use super::{EpochMillis, MILLIS_PER_SECOND};

const SECONDS_PER_DAY: i64 = 86_400;
const DAYS_PER_ERA: i64 = 146_097;
const DAYS_FROM_MARCH_0000_TO_1970: i64 = 719_468;

/// Prints an instant as RFC 3339; made by [`EpochMillis::rfc3339`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rfc3339(pub(super) EpochMillis);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_i64().rem_euclid(MILLIS_PER_SECOND);
        let seconds = self.0.as_i64().div_euclid(MILLIS_PER_SECOND);
        let (year, month, day) = civil_date(seconds.div_euclid(SECONDS_PER_DAY));
        let second_of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
///
/// Years are counted from March, so that the leap day is a year's last day, inside eras of 400 years
/// (<https://howardhinnant.github.io/date_algorithms.html#civil_from_days>).
pub(crate) const fn civil_date(days_since_1970: i64) -> (i64, i64, i64) {
    let days = days_since_1970 + DAYS_FROM_MARCH_0000_TO_1970;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

/// The day counted from 1970-01-01: the inverse of [`civil_date`].
pub(crate) const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let year_of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    year.div_euclid(400) * DAYS_PER_ERA + day_of_era - DAYS_FROM_MARCH_0000_TO_1970
}

/// Why a text is no instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a date and a time with an offset, such as 2026-01-31T23:59:59Z or 2026-02-01T00:59:59+01:00 (RFC 3339)")]
pub struct Rfc3339Error;

/// `YYYY-MM-DDThh:mm:ss[.f…](Z|±hh:mm)`. No leap second: our clocks have none.
pub(super) fn parse(text: &str) -> Result<EpochMillis, Rfc3339Error> {
    let (moment, rest) = text.split_at_checked(19).ok_or(Rfc3339Error)?;
    let [year, month, day, hour, minute, second] = fields(moment, b"0000-00-00T00:00:00").ok_or(Rfc3339Error)?;
    let (millis, offset) = fraction(rest).ok_or(Rfc3339Error)?;
    let offset_seconds = match (offset, offset.as_bytes().first()) {
        ("Z" | "z", _) => 0,
        (_, Some(sign @ (b'+' | b'-'))) => {
            let [hours, minutes] = fields(&offset[1..], b"00:00").ok_or(Rfc3339Error)?;
            if hours > 23 || minutes > 59 {
                return Err(Rfc3339Error);
            }
            (hours * 3_600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return Err(Rfc3339Error),
    };
    let days = days_since_1970(year, month, day);
    // A day that does not exist, such as 30 February, is another one's count.
    if civil_date(days) != (year, month, day) || hour > 23 || minute > 59 || second > 59 {
        return Err(Rfc3339Error);
    }
    let seconds = days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second - offset_seconds;
    Ok(EpochMillis::from_i64(seconds * MILLIS_PER_SECOND + millis))
}

/// The numbers in a text of this shape, where `0` stands for a digit and anything else for itself, a letter in either case.
fn fields<const N: usize>(text: &str, shape: &[u8]) -> Option<[i64; N]> {
    let fits =
        |(given, wanted): (u8, &u8)| if *wanted == b'0' { given.is_ascii_digit() } else { given.eq_ignore_ascii_case(wanted) };
    if text.len() != shape.len() || !text.bytes().zip(shape).all(fits) {
        return None;
    }
    let mut numbers = text.split(|character: char| !character.is_ascii_digit()).map(|digits| digits.parse().ok());
    let mut found = [0; N];
    for slot in &mut found {
        *slot = numbers.next()??;
    }
    Some(found)
}

/// Milliseconds of a fraction, if there is one, and what follows.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let millis = rest[..digits].bytes().chain(*b"000").take(3).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (digits > 0).then(|| (millis, &rest[digits..]))
}

#[cfg(test)]
mod tests {
    use aws_smithy_types::date_time::{DateTime, Format};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_calendar_knows_leap_days_and_years_before_1970() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(EpochMillis::from_i64(millis).rfc3339().to_string(), text);
        }
    }

    #[test]
    fn the_same_instant_is_read_in_every_notation() {
        for text in [
            "2026-01-31T23:59:59.042Z",
            "2026-01-31t23:59:59.042z",
            "2026-01-31T23:59:59.0429999Z",
            "2026-02-01T00:59:59.042+01:00",
            "2026-01-31T18:29:59.042-05:30",
        ] {
            let read = EpochMillis::parse_rfc3339(text).unwrap();
            assert_eq!(read.rfc3339().to_string(), "2026-01-31T23:59:59.042Z", "{text}");
        }
        assert_eq!(EpochMillis::parse_rfc3339("1970-01-01T00:00:00.5Z"), Ok(EpochMillis::from_i64(500)));
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in [
            "",
            "soon",
            "2026-01-31",
            "2026-01-31T23:59:59",
            "2026-01-31 23:59:59Z",
            "2026-01-31T23:59Z",
            "2026-01-31T23:59:59.Z",
            "2026-01-31T23:59:59,5Z",
            "2026-01-31T23:59:60Z",
            "2026-01-31T24:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-31T23:59:59+0100",
            "2026-01-31T23:59:59+24:00",
            "2026-01-31T23:59:59+01:60",
            "2026-01-31T23:59:59Z[UTC]",
            "2026-01-31T23:59:59ZZ",
            "+026-01-31T23:59:59Z",
            "1800000000",
            "２０２６-01-31T23:59:59Z",
        ] {
            assert_eq!(EpochMillis::parse_rfc3339(text), Err(Rfc3339Error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn dates_agree_with_another_implementation(millis in -62_135_596_800_000_i64..253_402_300_800_000) {
            let ours = EpochMillis::from_i64(millis).rfc3339().to_string();
            let theirs = DateTime::from_str(&ours, Format::DateTime).expect("ours is a valid date");
            prop_assert_eq!(theirs.to_millis().expect("in range"), millis);
            prop_assert_eq!(EpochMillis::parse_rfc3339(&ours), Ok(EpochMillis::from_i64(millis)));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9]{0,5}.{0,24}") {
            let _read = EpochMillis::parse_rfc3339(&text);
        }
    }
}
