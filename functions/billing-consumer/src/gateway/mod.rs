//! Where charges are made: the seam to the provider, and what can go wrong there.

mod failure;
mod stripe;

use async_trait::async_trait;
use ikkai::job::ReferenceId;

pub use self::{
    failure::GatewayError,
    stripe::{ApiUrl, ApiUrlError, StripeGateway},
};
use crate::{key_window::ProviderKey, order::ChargeOrder};

/// A provider that charges its customers' stored payment methods and takes idempotency keys.
///
/// Each function waits for its answers up to the provider's timeout, [`find`](Self::find) for each page, and repeats nothing by itself: repeating is
/// the caller's decision.
#[async_trait]
pub trait PaymentGateway: Send + Sync {
    /// What the customer pays with.
    ///
    /// # Errors
    /// [`GatewayError::Unchargeable`] when there is nothing to charge. This call never charges anything.
    async fn payment_method(&self, customer_id: &ReferenceId) -> Result<PaymentMethodId, GatewayError>;

    /// Charges, with one request whose content depends on nothing but `request`: for equal requests it is byte-equal.
    ///
    /// # Errors
    /// Says what is known of the charge; see [`GatewayError`].
    async fn charge(&self, request: &ChargeRequest<'_>) -> Result<Payment, GatewayError>;

    /// The payment of an order, if there is one that was answered by the customer's bank or waits for it. Reads what is written, not a
    /// search index that lags behind. `has_time` is asked before each call: whether its answer can be waited for.
    ///
    /// # Errors
    /// It is not known whether there is one.
    async fn find(&self, order: &ChargeOrder, has_time: &(dyn Fn() -> bool + Sync)) -> Result<Option<Payment>, GatewayError>;
}

/// One request to charge.
#[derive(Clone, Copy, Debug)]
pub struct ChargeRequest<'a> {
    /// What is charged.
    pub order: &'a ChargeOrder,
    /// What the customer pays with.
    pub method: &'a PaymentMethodId,
    /// Under which key.
    pub key: &'a ProviderKey,
}

/// The provider's id of a card or another means of payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentMethodId(pub String);

/// A payment that is the one that was asked for: amount, currency, customer and job were compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The provider's id. A refusal by the bank may come without one.
    pub id: Option<String>,
    /// What became of it.
    pub state: PaymentState,
}

/// What became of a payment. All are results: the provider has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentState {
    /// The customer is charged.
    Succeeded,
    /// The charge is on its way through a slow payment method, such as a bank debit; the provider's events tell how it ends, days later.
    Processing,
    /// The bank wants to hear from the customer, who is not there. Not charged.
    AuthenticationRequired,
    /// The bank, or the provider's own fraud rules, said no. Not charged.
    Declined {
        /// The provider's name for the reason.
        code: String,
    },
}

impl PaymentState {
    /// The name in results and logs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Processing => "processing",
            Self::AuthenticationRequired => "authentication_required",
            Self::Declined { .. } => "declined",
        }
    }
}
