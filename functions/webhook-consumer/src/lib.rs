//! The webhook consumer: each `webhook.deliver` job becomes one signed POST to the callback URL of a job that has ended.
//!
//! | step | module |
//! |---|---|
//! | whom to tell, and what | `handler`, `event` |
//! | the signature, and the secret behind it | `signature`, `secret`, `keyring` |
//! | where a URL may lead | `resolver` |
//! | the request and what its answer means | `courier`, `delivery_error`, `retry_after` |
//!
//! What receivers have to know is in `docs/webhooks.md`.

mod courier;
mod delivery_error;
mod event;
mod handler;
mod keyring;
mod resolver;
mod retry_after;
mod secret;
mod settings;
mod signature;

pub use self::{
    courier::{Courier, CourierError, Delivery},
    delivery_error::DeliveryError,
    event::EventId,
    handler::WebhookHandler,
    keyring::Keyring,
    resolver::{Lookup, SystemLookup},
    retry_after::RetryAfter,
    secret::{SecretError, SecretSource, SecretsManager, SigningSecret},
    settings::WebhookSettings,
    signature::{SIGNATURE_HEADER, caller_key, signature},
};
