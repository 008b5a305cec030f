//! An amount in a currency, counted in whole minor units.

use std::fmt;

use super::amount::Amount;
use super::currency::Currency;

/// A positive amount of money: an integer of the currency's minor units. No float ever holds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    minor_units: u64,
    currency: Currency,
}

/// Why an amount is none in its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoneyError {
    /// More decimals than the currency has.
    #[error("must have no decimals: {currency} has no minor unit")]
    NoDecimals {
        /// The currency.
        currency: Currency,
    },
    /// More decimals than the currency has.
    #[error("must have at most {} decimals, as {currency} has", currency.decimals())]
    TooPrecise {
        /// The currency.
        currency: Currency,
    },
    /// More than [`Money::MAX_MINOR_UNITS`].
    #[error("must be at most 999999999999999 minor units of its currency")]
    TooMuch,
}

impl Money {
    /// The largest amount. Fifteen digits pass through every JSON reader unchanged, those that know floats only included.
    pub const MAX_MINOR_UNITS: u64 = 999_999_999_999_999;

    /// The amount in a currency, exactly.
    ///
    /// # Errors
    /// When it has more decimals than the currency, be they zeros, or is too large. The messages fit the amount's field.
    pub fn new(amount: &Amount, currency: Currency) -> Result<Self, MoneyError> {
        let (whole, decimals) = amount.parts();
        let places = usize::from(currency.decimals());
        if decimals.len() > places {
            return Err(if places == 0 { MoneyError::NoDecimals { currency } } else { MoneyError::TooPrecise { currency } });
        }
        let digits = format!("{whole}{decimals:0<places$}");
        let minor_units = digits.parse().ok().filter(|units| *units <= Self::MAX_MINOR_UNITS).ok_or(MoneyError::TooMuch)?;
        Ok(Self { minor_units, currency })
    }

    /// How many of the currency's minor units; at least one.
    #[must_use]
    pub const fn minor_units(self) -> u64 {
        self.minor_units
    }

    /// The currency.
    #[must_use]
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// The amount in the major unit, with all the currency's decimals: `19.90`.
    #[must_use]
    pub fn amount(self) -> String {
        let places = usize::from(self.currency.decimals());
        let digits = format!("{:0>width$}", self.minor_units, width = places + 1);
        match digits.split_at(digits.len() - places) {
            (whole, "") => whole.to_owned(),
            (whole, decimals) => format!("{whole}.{decimals}"),
        }
    }
}

/// Shows the currency only: amounts do not enter logs, by way of `{:?}` neither.
impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Money({})", self.currency)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn money(amount: &str, currency: &str) -> Result<Money, MoneyError> {
        Money::new(&Amount::parse(amount).unwrap(), Currency::parse(currency).unwrap())
    }

    #[test]
    fn amounts_become_exact_minor_units() {
        for (amount, currency, units, written) in [
            ("0.29", "EUR", 29, "0.29"),
            ("8.20", "EUR", 820, "8.20"),
            ("8.2", "EUR", 820, "8.20"),
            ("17.99", "USD", 1_799, "17.99"),
            ("19.99", "EUR", 1_999, "19.99"),
            ("5", "EUR", 500, "5.00"),
            ("0.01", "EUR", 1, "0.01"),
            ("9007199254740.99", "EUR", 900_719_925_474_099, "9007199254740.99"),
            ("500", "JPY", 500, "500"),
            ("1.234", "KWD", 1_234, "1.234"),
            ("1.005", "TND", 1_005, "1.005"),
            ("0.001", "BHD", 1, "0.001"),
            ("9999999999999.99", "EUR", Money::MAX_MINOR_UNITS, "9999999999999.99"),
        ] {
            let money = money(amount, currency).unwrap();
            assert_eq!((money.minor_units(), money.amount().as_str()), (units, written), "{amount} {currency}");
        }
    }

    #[test]
    fn more_decimals_than_the_currency_has_are_refused_never_rounded() {
        for (amount, code) in [("1.005", "EUR"), ("19.990", "EUR"), ("0.001", "USD")] {
            let currency = Currency::parse(code).unwrap();
            assert_eq!(money(amount, code), Err(MoneyError::TooPrecise { currency }), "{amount}");
        }
        for amount in ["500.0", "500.00", "0.5"] {
            let error = money(amount, "JPY").unwrap_err().to_string();
            assert_eq!(error, "must have no decimals: JPY has no minor unit");
        }
    }

    #[test]
    fn amounts_beyond_the_limit_are_refused() {
        for (amount, currency) in [("10000000000000", "EUR"), ("999999999999999.99", "EUR"), ("999999999999999.999", "KWD")] {
            assert_eq!(money(amount, currency), Err(MoneyError::TooMuch), "{amount}");
        }
        assert_eq!(money("999999999999999", "JPY").unwrap().minor_units(), Money::MAX_MINOR_UNITS);
    }

    #[test]
    fn debug_does_not_show_the_amount() {
        assert_eq!(format!("{:?}", money("19.99", "EUR").unwrap()), "Money(EUR)");
    }

    proptest! {
        #[test]
        fn an_amount_that_is_written_out_is_read_back_as_the_same_money(
            units in 1..=Money::MAX_MINOR_UNITS,
            code in prop::sample::select(vec!["EUR", "JPY", "KWD"]),
        ) {
            let money = Money { minor_units: units, currency: Currency::parse(code).unwrap() };
            let again = Money::new(&Amount::parse(&money.amount()).unwrap(), money.currency());
            prop_assert_eq!(again, Ok(money));
        }
    }
}
