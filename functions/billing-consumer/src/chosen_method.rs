//! The payment method that the requests of one key window name.

use ikkai::consumer::JobContext;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::gateway::PaymentMethodId;

/// What is charged in one window. It is noted before the first request under the window's key, as the job's progress: a customer's default
/// may change between two attempts, and the provider compares the parameters of requests under one key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChosenMethod {
    payment_method: String,
    /// The window, counted from zero.
    window: u64,
}

impl ChosenMethod {
    pub(crate) fn new(method: &PaymentMethodId, window: u64) -> Self {
        Self { payment_method: method.0.clone(), window }
    }

    /// What an earlier run noted. A note that cannot be read is none.
    pub(crate) fn noted(context: &JobContext) -> Option<Self> {
        context.progress().and_then(|progress| Self::deserialize(progress).ok())
    }

    /// The method, if it was chosen in this window.
    pub(crate) fn of_window(&self, window: u64) -> Option<PaymentMethodId> {
        (self.window == window).then(|| PaymentMethodId(self.payment_method.clone()))
    }

    pub(crate) fn note(&self) -> Value {
        json!(self)
    }
}
