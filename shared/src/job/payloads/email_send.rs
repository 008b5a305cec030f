//! `email.send`: one mail to one user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference_id::ReferenceId;
use crate::job::payload::{DataUse, JobPayload};

/// Sends one mail, made from a template, to one user. The address is looked up by the consumer and never enters the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmailSend {
    /// The sender's id of this delivery; it comes back in the result and in the provider's events.
    pub delivery_id: ReferenceId,
    /// The template that the mail is made from.
    pub template_id: ReferenceId,
    /// The user who gets the mail.
    pub user_id: ReferenceId,
}

impl JobPayload for EmailSend {
    const TYPE: &'static str = "email.send";
    const SCHEMA_VERSION: u32 = 1;
    /// `variables` of the template that belong to this mail alone.
    const DATA: DataUse = DataUse::Optional;
}
