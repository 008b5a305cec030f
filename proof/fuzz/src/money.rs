//! An amount and a currency, as a sender writes them: `19.99 EUR`.

use ikkai::job::{Amount, BillingCharge, Currency, CurrencyError, Money, MoneyError, decode};
use serde_json::{Value, json};

/// A currency of each number of decimals.
const OTHERS: [&str; 3] = ["JPY", "EUR", "KWD"];

/// What has to hold for any text: the amount, a blank, the currency.
///
/// # Panics
/// When it does not.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (amount, code) = text.rsplit_once(' ').unwrap_or((text, "EUR"));
    check_currency(code);
    assert_eq!(Amount::parse(amount).is_ok(), is_amount(amount), "{amount:?}");
    for code in OTHERS.into_iter().chain([code]) {
        check_pair(amount, code);
    }
}

/// A currency is its three letters, in one spelling.
fn check_currency(code: &str) {
    match Currency::parse(code) {
        Ok(currency) => {
            assert_eq!(currency.code(), code);
            assert!(code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()));
            assert!(matches!(currency.decimals(), 0 | 2 | 3));
            assert!(Currency::parse(&code.to_ascii_lowercase()).is_err(), "one spelling alone");
        }
        Err(error) => {
            let is_spelling = Currency::parse(&code.to_ascii_uppercase()).is_ok();
            assert_eq!(error == CurrencyError::NotUpperCase, is_spelling, "{code:?}: {error}");
        }
    }
}

/// The rule of an amount, written once more.
fn is_amount(text: &str) -> bool {
    let digits =
        |digits: &str, most: usize| (1..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, decimals) = match text.split_once('.') {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (text, None),
    };
    let no_leading_zero = whole == "0" || !whole.starts_with('0');
    let positive = text.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    digits(whole, 15) && decimals.is_none_or(|decimals| digits(decimals, 3)) && no_leading_zero && positive
}

/// Money is exact, is written as it is read, and is the same in a job's payload and in its private data.
fn check_pair(amount: &str, code: &str) {
    let expected = expected(amount, code);
    if let (Ok(parsed), Ok(currency)) = (Amount::parse(amount), Currency::parse(code)) {
        let money = Money::new(&parsed, currency);
        assert_eq!(money.ok().map(|money| u128::from(money.minor_units())), expected, "{amount} {code}");
        match money {
            Ok(money) => check_money(money),
            Err(error) => check_error(error, amount),
        }
    }
    let charge = |members: Value| -> Result<BillingCharge, _> { decode(&members) };
    let in_payload = charge(json!({"invoiceId": "i", "customerId": "c", "amount": amount, "currency": code}));
    let in_data = charge(json!({"invoiceId": "i", "customerId": "c"})).expect("a charge without money");
    let in_data = in_data.money(Some(&json!({"amount": amount, "currency": code})));
    assert_eq!(in_payload.is_ok(), expected.is_some(), "{amount} {code}");
    match (in_payload, in_data) {
        (Ok(charge), Ok(money)) => assert_eq!(charge.money(None), Ok(money)),
        (Err(payload), Err(data)) => {
            assert_eq!(payload.len(), data.len());
            for (payload, data) in payload.into_iter().zip(data) {
                assert!(matches!(payload.pointer.as_str(), "/amount" | "/currency"), "{payload}");
                assert_eq!(payload.under("/data"), data, "one rule in both places");
            }
        }
        (payload, data) => panic!("{amount} {code} is {payload:?} in the payload and {data:?} in the data"),
    }
}

/// The minor units, by another way: every digit counts.
fn expected(amount: &str, code: &str) -> Option<u128> {
    let decimals = usize::from(Currency::parse(code).ok()?.decimals());
    if !is_amount(amount) {
        return None;
    }
    let places = amount.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let digits = amount.bytes().filter(u8::is_ascii_digit).fold(0_u128, |units, digit| units * 10 + u128::from(digit - b'0'));
    let missing = u32::try_from(decimals.checked_sub(places)?).expect("a few");
    Some(digits * 10_u128.pow(missing)).filter(|units| *units <= u128::from(Money::MAX_MINOR_UNITS))
}

fn check_money(money: Money) {
    assert!((1..=Money::MAX_MINOR_UNITS).contains(&money.minor_units()));
    let written = money.amount();
    let places = written.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    assert_eq!(places, usize::from(money.currency().decimals()), "{written} has all of its currency's decimals");
    let again = Amount::parse(&written).map(|amount| Money::new(&amount, money.currency()));
    assert_eq!(again, Ok(Ok(money)), "{written}");
}

/// An error says the rule and not the amount.
fn check_error(error: MoneyError, amount: &str) {
    let shown = error.to_string();
    assert!(amount.len() < 4 || !shown.contains(amount) || "999999999999999".contains(amount), "{shown}");
}
