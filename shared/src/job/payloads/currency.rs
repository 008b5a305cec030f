//! The currencies of ISO 4217.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The `format` of a currency in our JSON Schemas.
pub(crate) const CURRENCY_FORMAT: &str = "currency-code";

/// A currency by its ISO 4217 code, in upper case: `EUR`.
///
/// One spelling alone, because a request is recognised by its content: `eur` and `EUR` would be two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency {
    code: &'static str,
    decimals: u8,
}

/// Why a text is not a [`Currency`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CurrencyError {
    /// The code of a currency, but not in upper case.
    #[error("must be written in upper case")]
    NotUpperCase,
    /// No currency has this code.
    #[error("must be the ISO 4217 code of a currency in use, such as \"EUR\"")]
    Unknown,
}

/// Currencies without a minor unit. This and the lists below: ISO 4217, list one
/// (<https://www.six-group.com/en/products-services/financial-information/data-standards.html>), without metals, funds and test codes.
const NO_DECIMALS: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";

/// Currencies whose minor unit is a hundredth.
const TWO_DECIMALS: &str = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC \
                            CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR \
                            JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD \
                            NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN \
                            SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG";

/// Currencies whose minor unit is a thousandth.
const THREE_DECIMALS: &str = "BHD IQD JOD KWD LYD OMR TND";

impl Currency {
    /// Reads a code.
    ///
    /// # Errors
    /// When no currency has the code, or it is not in upper case.
    pub fn parse(text: &str) -> Result<Self, CurrencyError> {
        match Self::find(text) {
            Some(currency) => Ok(currency),
            None if Self::find(&text.to_ascii_uppercase()).is_some() => Err(CurrencyError::NotUpperCase),
            None => Err(CurrencyError::Unknown),
        }
    }

    fn find(text: &str) -> Option<Self> {
        [(0, NO_DECIMALS), (2, TWO_DECIMALS), (3, THREE_DECIMALS)].into_iter().find_map(|(decimals, codes)| {
            let code = codes.split_ascii_whitespace().find(|code| *code == text)?;
            Some(Self { code, decimals })
        })
    }

    /// The code, three letters in upper case.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.code
    }

    /// How many decimals an amount in the major unit may have.
    #[must_use]
    pub const fn decimals(self) -> u8 {
        self.decimals
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Currency({})", self.code)
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code)
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Currency;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string such as \"EUR\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Currency, E> {
                Currency::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Currency {
    fn schema_name() -> Cow<'static, str> {
        "Currency".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": CURRENCY_FORMAT,
            "pattern": "^[A-Z]{3}$",
            "examples": ["EUR"],
            "description": "The ISO 4217 code of a currency in use."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn currencies_know_their_decimals() {
        for (code, decimals) in [("EUR", 2), ("USD", 2), ("JPY", 0), ("ISK", 0), ("UGX", 0), ("KWD", 3), ("TND", 3), ("MGA", 2)] {
            let currency = Currency::parse(code).unwrap();
            assert_eq!((currency.code(), currency.decimals()), (code, decimals));
        }
    }

    #[test]
    fn every_code_stands_in_one_list_once() {
        let all = [NO_DECIMALS, TWO_DECIMALS, THREE_DECIMALS].join(" ");
        let codes: Vec<&str> = all.split_ascii_whitespace().collect();
        let unique: std::collections::BTreeSet<&str> = codes.iter().copied().collect();
        assert_eq!(codes.len(), unique.len());
        assert!(codes.iter().all(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())));
    }

    #[test]
    fn other_spellings_and_what_is_no_currency_are_refused() {
        for bad in ["eur", "Eur", "jpy"] {
            assert_eq!(Currency::parse(bad), Err(CurrencyError::NotUpperCase), "{bad}");
        }
        for bad in ["", "EU", "EURO", "EUR ", "XXX", "XTS", "XAU", "BTC", "DEM", "€", "978", "EUR JPY", " "] {
            assert_eq!(Currency::parse(bad), Err(CurrencyError::Unknown), "{bad}");
        }
    }
}
