//! The days that something covers.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::{EpochMillis, civil_date, days_since_1970};

/// Most days of a period: a leap year.
pub const MAX_PERIOD_DAYS: u32 = 366;

/// The `format` of a period in our JSON Schemas.
pub(crate) const PERIOD_FORMAT: &str = "period";

const MILLIS_PER_DAY: i64 = 86_400_000;

/// Whole days in UTC, at most 366: a month (`2026-01`), or the first and the last day with a slash between them
/// (`2026-01-01/2026-01-31`), as ISO 8601 writes intervals. Both days belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Period {
    text: String,
    /// Days since 1970-01-01.
    first: i64,
    last: i64,
}

/// Why a text is not a [`Period`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeriodError {
    /// Neither form.
    #[error("must be a month (YYYY-MM) or two days (YYYY-MM-DD/YYYY-MM-DD)")]
    Malformed,
    /// A month or a day that the calendar does not have.
    #[error("must name a month and days that exist, from 1970 on")]
    NoSuchDay,
    /// The last day comes before the first.
    #[error("must end on its first day or later")]
    Reversed,
    /// Too many days.
    #[error("must cover at most 366 days")]
    TooLong,
}

impl Period {
    /// Reads a period.
    ///
    /// # Errors
    /// When the text breaks the rules of [`Period`].
    pub fn parse(text: &str) -> Result<Self, PeriodError> {
        let (first, last) = match text.split_once('/') {
            Some((first, last)) => (day(first)?, day(last)?),
            None => month(text)?,
        };
        if last < first {
            return Err(PeriodError::Reversed);
        }
        if last - first >= i64::from(MAX_PERIOD_DAYS) {
            return Err(PeriodError::TooLong);
        }
        Ok(Self { text: text.to_owned(), first, last })
    }

    /// The period as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its first instant.
    #[must_use]
    pub const fn starts_at(&self) -> EpochMillis {
        EpochMillis::from_i64(self.first * MILLIS_PER_DAY)
    }

    /// The first instant after it.
    #[must_use]
    pub const fn ends_before(&self) -> EpochMillis {
        EpochMillis::from_i64((self.last + 1) * MILLIS_PER_DAY)
    }

    /// How many days it has, from one.
    #[must_use]
    pub fn days(&self) -> usize {
        usize::try_from(self.last - self.first + 1).unwrap_or(1)
    }

    /// Which of its days, from zero, an instant belongs to.
    #[must_use]
    pub fn day_of(&self, at: EpochMillis) -> Option<usize> {
        let day = at.as_i64().div_euclid(MILLIS_PER_DAY);
        (self.first..=self.last).contains(&day).then(|| usize::try_from(day - self.first).ok()).flatten()
    }

    /// The date of one of its days, counted from zero: `2026-01-31`.
    #[must_use]
    pub fn date(&self, day: usize) -> String {
        let (year, month, day) = civil_date(self.first.saturating_add(i64::try_from(day).unwrap_or(0)));
        format!("{year:04}-{month:02}-{day:02}")
    }
}

fn month(text: &str) -> Result<(i64, i64), PeriodError> {
    let [year, month] = numbers(text, [4, 2])?;
    let first = existing_day(year, month, 1)?;
    let next = if month == 12 { existing_day(year + 1, 1, 1) } else { existing_day(year, month + 1, 1) };
    Ok((first, next? - 1))
}

fn day(text: &str) -> Result<i64, PeriodError> {
    let [year, month, day] = numbers(text, [4, 2, 2])?;
    existing_day(year, month, day)
}

/// Numbers of so many digits each, with dashes between them.
fn numbers<const N: usize>(text: &str, digits: [usize; N]) -> Result<[i64; N], PeriodError> {
    let mut parts = text.split('-');
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()));
        *number = part.and_then(|part| part.parse().ok()).ok_or(PeriodError::Malformed)?;
    }
    if parts.next().is_some() { Err(PeriodError::Malformed) } else { Ok(numbers) }
}

/// The day counted from 1970-01-01, where there is such a day.
fn existing_day(year: i64, month: i64, day: i64) -> Result<i64, PeriodError> {
    let days = days_since_1970(year, month, day);
    if days >= 0 && civil_date(days) == (year, month, day) { Ok(days) } else { Err(PeriodError::NoSuchDay) }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Period {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (month, day) = ("[0-9]{4}-(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])");
        json_schema!({
            "type": "string",
            "format": PERIOD_FORMAT,
            "pattern": format!("^{month}(-{day}/{month}-{day})?$"),
            "description": "Whole days in UTC, at most 366: a month (YYYY-MM), or a first and a last day (YYYY-MM-DD/YYYY-MM-DD)."
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bounds(text: &str) -> (String, String, usize) {
        let period = Period::parse(text).unwrap();
        (period.starts_at().rfc3339().to_string(), period.ends_before().rfc3339().to_string(), period.days())
    }

    #[test]
    fn a_month_has_its_days_and_two_days_include_both() {
        for (text, start, end, days) in [
            ("2026-01", "2026-01-01", "2026-02-01", 31),
            ("2026-12", "2026-12-01", "2027-01-01", 31),
            ("2028-02", "2028-02-01", "2028-03-01", 29),
            ("2026-02-28/2026-03-01", "2026-02-28", "2026-03-02", 2),
            ("2026-07-05/2026-07-05", "2026-07-05", "2026-07-06", 1),
            ("2028-01-01/2028-12-31", "2028-01-01", "2029-01-01", 366),
        ] {
            assert_eq!(bounds(text), (format!("{start}T00:00:00.000Z"), format!("{end}T00:00:00.000Z"), days), "{text}");
        }
    }

    #[test]
    fn what_is_no_period_is_refused_for_its_reason() {
        for text in ["", "2026", "2026-1", "2026-01-01", "26-01", "2026-01/2026-02", "2026-01-01/", "2026-01-01/2026-01-31/"] {
            assert_eq!(Period::parse(text), Err(PeriodError::Malformed), "{text:?}");
        }
        for text in ["２０２６-01", "+026-01", "2026-01-01 / 2026-01-31", "2026-01\n", "-2026-01", "2026-01-01/2026-01-31Z"] {
            assert_eq!(Period::parse(text), Err(PeriodError::Malformed), "{text:?}");
        }
        for text in ["2026-13", "2026-00", "2026-02-29/2026-03-01", "2026-04-31/2026-05-01", "2026-01-00/2026-01-01", "1969-12"] {
            assert_eq!(Period::parse(text), Err(PeriodError::NoSuchDay), "{text:?}");
        }
        assert_eq!(Period::parse("2026-01-02/2026-01-01"), Err(PeriodError::Reversed));
        assert_eq!(Period::parse("2026-01-01/2027-01-02"), Err(PeriodError::TooLong));
    }

    #[test]
    fn an_instant_belongs_to_one_of_its_days_or_to_none() {
        let period = Period::parse("2026-01").unwrap();
        let start = period.starts_at();
        for (at, day) in [(-1, None), (0, Some(0)), (86_399_999, Some(0)), (86_400_000, Some(1)), (31 * 86_400_000, None)] {
            assert_eq!(period.day_of(EpochMillis::from_i64(start.as_i64() + at)), day, "{at}");
        }
        assert_eq!((period.date(0), period.date(30)), ("2026-01-01".to_owned(), "2026-01-31".to_owned()));
    }

    proptest! {
        #[test]
        fn every_day_from_1970_on_is_read_as_the_day_it_is(days in 0_i64..2_932_000) {
            let (year, month, day) = civil_date(days);
            prop_assert_eq!(existing_day(year, month, day), Ok(days));
            let date = format!("{year:04}-{month:02}-{day:02}");
            prop_assert_eq!(Period::parse(&format!("{date}/{date}")).unwrap().date(0), date);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,30}") {
            let _ = Period::parse(&text);
        }
    }
}
