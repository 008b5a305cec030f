//! The payment provider of the scenes: a stateful Stripe written by others, behind proxies that lose its answers and shut its door.

use std::path::Path;

use serde_json::Value;

use super::super::Failure;
use super::super::findings::Missed;
use super::super::scene::works;
use crate::local::checkout::Checkout;
use crate::local::payments::PaymentsFake;
use crate::local::proxy::Proxy;
use crate::progress::Progress;

/// The payment provider.
#[derive(Debug)]
pub(in crate::demo) struct Provider {
    fake: PaymentsFake,
    /// What the first stack knows as the provider.
    pub(in crate::demo) front: Proxy,
    /// What the stack of the outage knows as the provider.
    pub(in crate::demo) door: Proxy,
}

/// A payment as the provider keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payment {
    pub(super) id: String,
    pub(super) status: String,
    /// In the currency's smallest unit.
    pub(super) amount: u64,
    pub(super) currency: String,
}

impl Provider {
    /// Starts it, with its log in `folder`.
    pub(in crate::demo) async fn start(folder: &Path, progress: &Progress) -> Result<Self, Failure> {
        let fake = PaymentsFake::start(&Checkout::find()?, folder, progress).await?;
        let (front, door) = tokio::try_join!(Proxy::start(fake.address()), Proxy::start(fake.address()))?;
        Ok(Self { fake, front, door })
    }

    /// Its payments for an invoice, whatever became of them.
    pub(super) async fn payments_of(&self, invoice: &str) -> Result<Vec<Payment>, Missed> {
        let all = works("the provider lists its payments", self.fake.payments().await)?;
        Ok(all.iter().filter(|payment| payment["metadata"]["invoice_id"] == invoice).map(Payment::of).collect())
    }

    /// A customer with this card.
    pub(super) async fn customer(&self, card: &str) -> Result<String, Missed> {
        works("the provider takes a customer", self.fake.customer(card).await)
    }
}

impl Payment {
    fn of(payment: &Value) -> Self {
        let text = |name: &str| payment[name].as_str().unwrap_or_default().to_owned();
        Self {
            id: text("id"),
            status: text("status"),
            amount: payment["amount"].as_u64().unwrap_or_default(),
            currency: text("currency"),
        }
    }
}
