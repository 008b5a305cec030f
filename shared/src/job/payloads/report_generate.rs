//! `report.generate`: what became of an account's jobs in a period.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference_id::ReferenceId;
use crate::job::payload::JobPayload;

/// Writes a report on an account's jobs in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportGenerate {
    /// The report; its files are named after it.
    pub report_id: ReferenceId,
    /// The account whose jobs it is about.
    pub account_id: ReferenceId,
    /// The days that it covers.
    pub period: String,
}

impl JobPayload for ReportGenerate {
    const TYPE: &'static str = "report.generate";
    const SCHEMA_VERSION: u32 = 1;

    fn account_id(&self) -> Option<&str> {
        Some(self.account_id.as_str())
    }
}
