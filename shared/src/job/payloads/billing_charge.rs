//! `billing.charge`: one charge of one customer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference_id::ReferenceId;
use crate::job::payload::{DataUse, JobPayload};

/// Charges a customer for an invoice, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BillingCharge {
    /// The invoice that is paid.
    pub invoice_id: ReferenceId,
    /// The payment provider's id of the customer.
    pub customer_id: ReferenceId,
}

impl JobPayload for BillingCharge {
    const TYPE: &'static str = "billing.charge";
    const SCHEMA_VERSION: u32 = 1;
    /// Amount and currency, unless the payload has them.
    const DATA: DataUse = DataUse::Optional;
}
