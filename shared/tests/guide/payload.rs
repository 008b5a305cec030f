use ikkai::job::{JobPayload, ReferenceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tells a partner that something happened.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PartnerNotify {
    /// Whom to tell.
    pub partner_id: ReferenceId,
    /// What happened.
    pub event_id: ReferenceId,
}

impl JobPayload for PartnerNotify {
    const TYPE: &'static str = "partner.notify";
    const SCHEMA_VERSION: u32 = 1;
}
