//! Money in the numbers that Stripe takes. They are minor units, with exceptions: <https://docs.stripe.com/currencies>.

use ikkai::job::Money;

use super::super::GatewayError;

/// Without a minor unit, and yet two zeros are appended: "to charge 5 UGX, provide an amount value of 500"
/// (<https://docs.stripe.com/currencies#special-cases>). UGX also stands in that page's list of zero-decimal currencies; the provider's answer to
/// such amounts settles it ("must be evenly divisible by 100", <https://github.com/woocommerce/woocommerce-gateway-stripe/issues/2674>).
const WITH_TWO_ZEROS: [&str; 2] = ["ISK", "UGX"];

/// With hundredths in ISO 4217, and taken as whole units (<https://docs.stripe.com/currencies#zero-decimal>).
const WHOLE_UNITS: [&str; 1] = ["MGA"];

/// The amount as the provider is told.
///
/// # Errors
/// The provider does not take such an amount. Nothing is rounded.
pub(super) fn charged(money: Money) -> Result<u64, GatewayError> {
    let (units, code) = (money.minor_units(), money.currency().code());
    if WITH_TWO_ZEROS.contains(&code) {
        return Ok(units * 100);
    }
    if WHOLE_UNITS.contains(&code) {
        let whole = (units % 100 == 0).then_some(units / 100);
        return whole
            .ok_or(refused("amount must have no decimals in this currency: the payment provider takes whole units of it"));
    }
    // "These API calls require the least-significant (last) digit to be 0": <https://docs.stripe.com/currencies#three-decimal>.
    if money.currency().decimals() == 3 && units % 10 != 0 {
        return Err(refused("amount must end in 0 in this currency: the payment provider takes two of its three decimals"));
    }
    Ok(units)
}

fn refused(mend: &'static str) -> GatewayError {
    GatewayError::Unchargeable { code: "amount_not_taken", mend }
}

#[cfg(test)]
mod tests {
    use ikkai::job::{Amount, Currency};

    use super::*;

    fn of(amount: &str, currency: &str) -> Option<u64> {
        charged(Money::new(&Amount::parse(amount).unwrap(), Currency::parse(currency).unwrap()).unwrap()).ok()
    }

    #[test]
    fn amounts_are_what_the_provider_counts_in() {
        for (amount, currency, expected) in [
            ("19.99", "EUR", Some(1_999)),
            ("0.29", "USD", Some(29)),
            ("500", "JPY", Some(500)),
            ("500", "KRW", Some(500)),
            ("5", "ISK", Some(500)),
            ("5", "UGX", Some(500)),
            ("5", "MGA", Some(5)),
            ("5.00", "MGA", Some(5)),
            ("5.50", "MGA", None),
            ("10.45", "HUF", Some(1_045)),
            ("800.45", "TWD", Some(80_045)),
            ("5.12", "KWD", Some(5_120)),
            ("5.120", "KWD", Some(5_120)),
            ("5.124", "KWD", None),
            ("999999999999999", "UGX", Some(99_999_999_999_999_900)),
        ] {
            assert_eq!(of(amount, currency), expected, "{amount} {currency}");
        }
    }
}
