//! An amount of money as a sender writes it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The `format` of an amount in our JSON Schemas.
pub(crate) const AMOUNT_FORMAT: &str = "decimal-amount";

/// Most digits before the point.
const MAX_WHOLE_DIGITS: usize = 15;

/// Most decimals that a currency has.
const MAX_DECIMALS: usize = 3;

/// A positive decimal number in a currency's major unit, as a string: `"19.99"`.
///
/// A string, because a JSON number passes through floats in many languages, where 19.99 is not 19.99. Digits with at most one point between
/// them: no sign, no exponent, no blanks, no separators, no leading zeros. How many decimals are allowed is the currency's business, see
/// [`Money`](super::Money).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Amount(String);

/// Why a text is not an [`Amount`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AmountError {
    /// Zero or less.
    #[error("must be more than zero")]
    NotPositive,
    /// Not digits with at most one point.
    #[error(
        "must be written with digits and at most one point, such as \"19.99\": no sign, exponent, blanks, separators or leading zeros"
    )]
    NotDecimal,
    /// More digits than any currency needs.
    #[error("must have at most 15 digits before the point and 3 after it")]
    TooManyDigits,
}

impl Amount {
    /// Reads an amount.
    ///
    /// # Errors
    /// When the text breaks the rules of [`Amount`].
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole.strip_prefix('-').unwrap_or(whole)) || !is_digits(decimals) {
            return Err(AmountError::NotDecimal);
        }
        if whole.starts_with('-') || text.bytes().all(|byte| b"0.".contains(&byte)) {
            return Err(AmountError::NotPositive);
        }
        if whole.len() > 1 && whole.starts_with('0') {
            return Err(AmountError::NotDecimal);
        }
        if whole.len() > MAX_WHOLE_DIGITS || decimals.len() > MAX_DECIMALS {
            return Err(AmountError::TooManyDigits);
        }
        Ok(Self(text.to_owned()))
    }

    /// The amount as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits before and after the point.
    pub(super) fn parts(&self) -> (&str, &str) {
        self.0.split_once('.').unwrap_or((&self.0, ""))
    }
}

/// Shows the length only: amounts do not enter logs, by way of `{:?}` neither.
impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Amount({} characters)", self.0.len())
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string such as \"19.99\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
                Amount::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": AMOUNT_FORMAT,
            "pattern": r"^(?!0(\.0+)?$)(0|[1-9][0-9]{0,14})(\.[0-9]{1,3})?$",
            "examples": ["19.99"],
            "description": "A positive decimal number in the currency's major unit, with at most the currency's decimals."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positive_decimals_are_amounts() {
        for good in
            ["19.99", "0.29", "8.20", "17.99", "1.005", "9007199254740.99", "500", "1", "0.01", "5.5", "999999999999999.999"]
        {
            assert_eq!(Amount::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn everything_that_a_float_parser_would_take_is_refused() {
        use AmountError as E;
        for (bad, rule) in [
            ("", E::NotDecimal),
            (".", E::NotDecimal),
            (".5", E::NotDecimal),
            ("5.", E::NotDecimal),
            ("1e3", E::NotDecimal),
            ("1E3", E::NotDecimal),
            ("+1", E::NotDecimal),
            ("NaN", E::NotDecimal),
            ("inf", E::NotDecimal),
            ("0x10", E::NotDecimal),
            (" 1", E::NotDecimal),
            ("1 ", E::NotDecimal),
            ("1\n", E::NotDecimal),
            ("1,000", E::NotDecimal),
            ("1,5", E::NotDecimal),
            ("1_000", E::NotDecimal),
            ("1.2.3", E::NotDecimal),
            ("01", E::NotDecimal),
            ("00.5", E::NotDecimal),
            ("--1", E::NotDecimal),
            ("-x", E::NotDecimal),
            ("١٢", E::NotDecimal),
            ("€5", E::NotDecimal),
            ("0", E::NotPositive),
            ("0.00", E::NotPositive),
            ("-0", E::NotPositive),
            ("-1", E::NotPositive),
            ("-19.99", E::NotPositive),
            ("1.2345", E::TooManyDigits),
            ("1000000000000000", E::TooManyDigits),
        ] {
            assert_eq!(Amount::parse(bad), Err(rule), "{bad:?}");
        }
        assert_eq!(Amount::parse(&"9".repeat(100_000)), Err(E::TooManyDigits));
    }

    #[test]
    fn debug_does_not_show_the_amount() {
        assert_eq!(format!("{:?}", Amount::parse("19.99").unwrap()), "Amount(5 characters)");
    }
}
