//! The billing consumer: each `billing.charge` job becomes one charge at a Stripe-compatible payment provider.
//!
//! The job id is the provider's idempotency key, and what the provider remembers decides what may be repeated: see [`KeyWindow`]. What each
//! answer of the provider means is in `docs/billing.md`.

mod api_key;
mod chosen_method;
mod gateway;
mod handler;
mod key_window;
mod order;
mod settings;

pub use self::{
    api_key::{ApiKey, ApiKeyError, ApiKeyRing, ApiKeySource, SecretsManagerKey},
    gateway::{
        ApiUrl, ApiUrlError, ChargeRequest, GatewayError, Payment, PaymentGateway, PaymentMethodId, PaymentState, StripeGateway,
    },
    handler::BillingHandler,
    key_window::{KeyWindow, Phase, ProviderKey, SETTLING_TIME},
    order::ChargeOrder,
    settings::BillingSettings,
};
