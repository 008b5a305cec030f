//! What a customer pays with.

use serde::Deserialize;

use super::{
    super::{GatewayError, PaymentMethodId},
    answer::Answer,
};

/// The parts of a customer that matter: <https://docs.stripe.com/api/customers/object>.
#[derive(Deserialize)]
struct Customer {
    #[serde(rename = "id")]
    _id: String,
    #[serde(default)]
    deleted: bool,
    #[serde(default)]
    invoice_settings: Option<InvoiceSettings>,
    #[serde(default)]
    default_source: Option<String>,
}

#[derive(Deserialize)]
struct InvoiceSettings {
    #[serde(default)]
    default_payment_method: Option<String>,
}

#[derive(Deserialize)]
struct Methods {
    data: Vec<Method>,
}

#[derive(Deserialize)]
struct Method {
    id: String,
}

/// The customer's default. An older customer may have a default source instead, which the payment API takes in the same place.
pub(super) fn default_method(answer: &Answer) -> Result<Option<PaymentMethodId>, GatewayError> {
    let unknown = GatewayError::Unchargeable {
        code: "unknown_customer",
        mend: "customerId names no customer of the payment provider: create the customer or correct the id, then redrive the job or post a new one",
    };
    if answer.status == 404 {
        return Err(unknown);
    }
    let customer: Customer = answer.json().ok_or(UNREADABLE)?;
    if customer.deleted {
        return Err(unknown);
    }
    let default = customer.invoice_settings.and_then(|settings| settings.default_payment_method);
    Ok(default.or(customer.default_source).map(PaymentMethodId))
}

/// Without a default: the only card that is there. Of several none is ours to choose.
pub(super) fn only_method(answer: &Answer) -> Result<PaymentMethodId, GatewayError> {
    let Methods { data } = answer.json().ok_or(UNREADABLE)?;
    match <[Method; 1]>::try_from(data) {
        Ok([method]) => Ok(PaymentMethodId(method.id)),
        Err(_) => Err(GatewayError::Unchargeable {
            code: "no_payment_method",
            mend: "the customer has no default payment method and not exactly one card: set a default, then redrive the job",
        }),
    }
}

const UNREADABLE: GatewayError = GatewayError::Unavailable { code: "provider_answer_unreadable" };
