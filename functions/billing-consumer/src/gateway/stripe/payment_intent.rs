//! PaymentIntents: <https://docs.stripe.com/api/payment_intents/object>.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    super::{GatewayError, Payment, PaymentState},
    JOB_METADATA,
    answer::{Answer, ApiError},
};
use crate::order::ChargeOrder;

/// The parts of a PaymentIntent that matter.
#[derive(Debug, Deserialize)]
pub(super) struct PaymentIntent {
    pub(super) id: String,
    amount: u64,
    #[serde(default)]
    amount_received: Option<u64>,
    currency: String,
    customer: Option<String>,
    status: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    last_payment_error: Option<Box<ApiError>>,
}

/// Reads the answer to a request to charge.
pub(super) fn charged(answer: &Answer, order: &ChargeOrder, amount: u64) -> Result<Payment, GatewayError> {
    if !(200..=299).contains(&answer.status) {
        let error = answer.refusal()?;
        if let Some(intent) = &error.payment_intent {
            intent.demand_equal(order, amount)?;
            if !intent.has_moved_nothing() {
                return Err(GatewayError::KeyUnusable { code: "payment_contradictory" });
            }
        }
        let state = if error.wants_authentication() {
            PaymentState::AuthenticationRequired
        } else {
            PaymentState::Declined { code: error.reason() }
        };
        return Ok(Payment { id: error.payment_intent.map(|intent| intent.id), state });
    }
    let intent: PaymentIntent = answer.json().ok_or(GatewayError::Unknown { code: "provider_answer_unreadable" })?;
    intent.demand_equal(order, amount)?;
    // It was to be confirmed at once, and was not.
    intent.payment().ok_or(GatewayError::Unknown { code: "payment_unfinished" })
}

impl PaymentIntent {
    /// Whether it was made for this job.
    pub(super) fn is_of(&self, order: &ChargeOrder) -> bool {
        self.metadata.get(JOB_METADATA).is_some_and(|job_id| job_id == order.job_id.as_str())
    }

    /// What was charged is what was asked for.
    pub(super) fn demand_equal(&self, order: &ChargeOrder, amount: u64) -> Result<(), GatewayError> {
        let received = if self.status == "succeeded" { self.amount_received } else { None };
        let differs = [
            ("amount", self.amount != amount || received.is_some_and(|received| received != amount)),
            ("currency", !self.currency.eq_ignore_ascii_case(order.money.currency().code())),
            ("customer", self.customer.as_deref() != Some(order.customer_id.as_str())),
            (JOB_METADATA, !self.is_of(order)),
        ];
        match differs.into_iter().find(|(_, differs)| *differs) {
            Some((member, _)) => Err(GatewayError::Mismatch { member }),
            None => Ok(()),
        }
    }

    /// Whether it surely took no money, whatever else was said about it.
    fn has_moved_nothing(&self) -> bool {
        matches!(self.status.as_str(), "requires_payment_method" | "requires_confirmation" | "requires_action" | "canceled")
    }

    /// What became of it; `None` when nothing was tried with it (yet): <https://docs.stripe.com/payments/paymentintents/lifecycle>.
    pub(super) fn payment(self) -> Option<Payment> {
        let state = match (self.status.as_str(), &self.last_payment_error) {
            ("succeeded", _) => PaymentState::Succeeded,
            ("processing", _) => PaymentState::Processing,
            ("requires_action", _) => PaymentState::AuthenticationRequired,
            ("requires_payment_method", Some(error)) if error.wants_authentication() => PaymentState::AuthenticationRequired,
            ("requires_payment_method", Some(error)) => PaymentState::Declined { code: error.reason() },
            _ => return None,
        };
        Some(Payment { id: Some(self.id), state })
    }
}
