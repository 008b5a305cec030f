//! `billing.charge`: one charge of one customer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::amount::Amount;
use super::currency::Currency;
use super::money::Money;
use super::reference_id::ReferenceId;
use crate::job::field_error::FieldError;
use crate::job::payload::{DataUse, JobPayload};
use crate::job::registry;

/// Charges a customer for an invoice, once.
///
/// What is charged stands in one of two places: in the job's private `data`, `{"amount":"19.99","currency":"EUR"}`, which never enters
/// the queue; or, for messages that did not come through the producer API, in `amount` and `currency` of the payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BillingCharge {
    /// The invoice that is paid.
    pub invoice_id: ReferenceId,
    /// The payment provider's id of the customer.
    pub customer_id: ReferenceId,
    /// What is charged, unless the job's private data says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// The amount's currency; with `amount` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
}

/// The private data of a charge.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChargeData {
    amount: Amount,
    currency: Currency,
}

impl BillingCharge {
    /// What is charged, out of the payload or the job's private data.
    ///
    /// # Errors
    /// Every member that is wrong: money in both places or in none, or an amount that its currency does not have. Pointers start at
    /// the payload for its members (`/amount`), and at `/data` for those of the data.
    pub fn money(&self, data: Option<&Value>) -> Result<Money, Vec<FieldError>> {
        match (self.amount.as_ref(), self.currency, data) {
            (Some(amount), Some(currency), None) => money("/amount", amount, currency),
            (None, None, Some(data)) => {
                let ChargeData { amount, currency } = registry::decode_value(data)
                    .map_err(|errors| errors.into_iter().map(|error| error.under("/data")).collect::<Vec<_>>())?;
                money("/data/amount", &amount, currency)
            }
            (None, None, None) => {
                let message =
                    "amount and currency are missing: put them into data, such as {\"amount\":\"19.99\",\"currency\":\"EUR\"}";
                Err(vec![FieldError::new("/data", "data_missing", message)])
            }
            (Some(_), Some(_), Some(_)) => {
                let message = "amount and currency stand in the payload already: leave one of the two places out";
                Err(vec![FieldError::new("/data", "data_not_taken", message)])
            }
            (amount, ..) => {
                let missing = if amount.is_some() { "/currency" } else { "/amount" };
                let message = "the member is missing: amount and currency go together";
                Err(vec![FieldError::new(missing, "missing_member", message)])
            }
        }
    }
}

fn money(at: &str, amount: &Amount, currency: Currency) -> Result<Money, Vec<FieldError>> {
    Money::new(amount, currency).map_err(|error| vec![FieldError::new(at, "invalid_value", error.to_string())])
}

impl JobPayload for BillingCharge {
    const TYPE: &'static str = "billing.charge";
    const SCHEMA_VERSION: u32 = 1;
    /// Amount and currency, unless the payload has them.
    const DATA: DataUse = DataUse::Optional;

    fn check(&self) -> Vec<FieldError> {
        if self.amount.is_none() && self.currency.is_none() {
            return Vec::new();
        }
        self.money(None).err().unwrap_or_default()
    }

    fn check_data(&self, data: Option<&Value>) -> Vec<FieldError> {
        self.money(data).err().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::decode;

    fn payload(extra: Value) -> Value {
        let mut payload = json!({"invoiceId": "inv-1", "customerId": "cus_1"});
        payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        payload
    }

    fn errors(extra: Value) -> Vec<String> {
        decode::<BillingCharge>(&payload(extra)).unwrap_err().iter().map(ToString::to_string).collect()
    }

    fn data_errors(data: Option<Value>) -> Vec<String> {
        let charge: BillingCharge = decode(&payload(json!({}))).unwrap();
        charge.check_data(data.as_ref()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn money_is_read_from_the_payload_or_from_the_data() {
        let direct: BillingCharge = decode(&payload(json!({"amount": "19.99", "currency": "EUR"}))).unwrap();
        let private: BillingCharge = decode(&payload(json!({}))).unwrap();
        let data = json!({"currency": "EUR", "amount": "19.99"});
        assert_eq!(direct.money(None).unwrap().minor_units(), 1_999);
        assert_eq!(direct.money(None), private.money(Some(&data)));
        assert_eq!(serde_json::to_value(&direct).unwrap(), payload(json!({"amount": "19.99", "currency": "EUR"})));
        assert_eq!(serde_json::to_value(&private).unwrap(), payload(json!({})));
    }

    #[test]
    fn money_in_both_places_or_in_none_is_refused() {
        let direct: BillingCharge = decode(&payload(json!({"amount": "19.99", "currency": "EUR"}))).unwrap();
        let twice = direct.check_data(Some(&json!({"amount": "19.99", "currency": "EUR"})));
        assert_eq!((twice[0].pointer.as_str(), twice[0].code), ("/data", "data_not_taken"));
        assert_eq!(direct.check_data(None), []);
        assert!(data_errors(None)[0].starts_with("/data: amount and currency are missing"));
    }

    #[test]
    fn a_number_is_refused_with_the_mend() {
        let expected = "/amount: must be a string such as \"19.99\", not a number";
        assert_eq!(errors(json!({"amount": 100, "currency": "EUR"})), [expected]);
        assert_eq!(data_errors(Some(json!({"amount": 100, "currency": "EUR"}))), [format!("/data{expected}")]);
    }

    #[test]
    fn every_bad_member_is_named_at_once_and_no_value_is_repeated() {
        let found = errors(json!({"amount": "1e3", "currency": "eur"}));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("/amount: must be written with digits"), "{found:?}");
        assert_eq!(found[1], "/currency: must be written in upper case");
        let found = data_errors(Some(json!({"amount": "-77.77", "currency": "QQQ", "note": "x"})));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(!found.join(" ").contains("77.77") && !found.join(" ").contains("QQQ"), "{found:?}");
    }

    #[test]
    fn one_without_the_other_is_refused() {
        assert!(errors(json!({"amount": "1.00"}))[0].starts_with("/currency: the member is missing"));
        assert!(errors(json!({"currency": "EUR"}))[0].starts_with("/amount: the member is missing"));
        assert!(data_errors(Some(json!({"amount": "1.00"})))[0].starts_with("/data/currency: the member is missing"));
        assert!(data_errors(Some(json!({})))[0].starts_with("/data/"));
        assert!(data_errors(Some(json!("19.99")))[0].starts_with("/data: must be an object"));
    }

    #[test]
    fn precision_is_the_currencys() {
        assert_eq!(errors(json!({"amount": "1.005", "currency": "EUR"})), ["/amount: must have at most 2 decimals, as EUR has"]);
        let data = json!({"amount": "500.00", "currency": "JPY"});
        assert_eq!(data_errors(Some(data)), ["/data/amount: must have no decimals: JPY has no minor unit"]);
        assert_eq!(data_errors(Some(json!({"amount": "1.234", "currency": "KWD"}))), Vec::<String>::new());
    }

    #[test]
    fn debug_shows_neither_ids_nor_money() {
        let charge: BillingCharge = decode(&payload(json!({"amount": "77.77", "currency": "EUR"}))).unwrap();
        let shown = format!("{charge:?}");
        assert!(!shown.contains("77.77") && !shown.contains("cus_1"), "{shown}");
    }
}
