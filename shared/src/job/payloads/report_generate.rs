//! `report.generate`: what became of an account's jobs in a period.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::period::Period;
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
    pub period: Period,
}

impl JobPayload for ReportGenerate {
    const TYPE: &'static str = "report.generate";
    const SCHEMA_VERSION: u32 = 1;

    fn account_id(&self) -> Option<&str> {
        Some(self.account_id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::job::{FieldError, JobKind};

    use super::ReportGenerate;

    fn errors(payload: &serde_json::Value) -> Vec<(String, String)> {
        let kind = JobKind::of::<ReportGenerate>();
        let errors: Vec<FieldError> = (kind.validate)(payload).err().unwrap_or_default();
        errors.into_iter().map(|error| (error.pointer, error.message)).collect()
    }

    #[test]
    fn months_and_days_pass() {
        for period in ["2026-01", "2026-01-01/2026-12-31"] {
            assert_eq!(errors(&json!({"reportId": "report-7", "accountId": "account-7", "period": period})), []);
        }
    }

    #[test]
    fn a_bad_period_is_told_beside_the_other_mistakes() {
        let errors = errors(&json!({"reportId": "", "period": "2026-02-30/2026-03-01"}));
        let pointers: Vec<_> = errors.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(pointers, ["/accountId", "/period", "/reportId"]);
        assert_eq!(errors[1].1, "must name a month and days that exist, from 1970 on");
    }
}
