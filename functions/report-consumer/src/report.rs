//! One report: what it is about, and the names of its files.

use ikkai::{
    clock::EpochMillis,
    job::{JobId, ReportGenerate},
};

use crate::history::Scope;

/// A report that is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) job_id: JobId,
    pub(crate) report_id: String,
    pub(crate) scope: Scope,
    pub(crate) csv_key: String,
    pub(crate) html_key: String,
}

/// Where drafts are kept until their report is published.
const DRAFTS_PREFIX: &str = "work/";

impl Report {
    /// The report of a job that was accepted at `accepted_at`, with files under `prefix`.
    pub(crate) fn new(job_id: &JobId, asked: &ReportGenerate, accepted_at: EpochMillis, prefix: &str) -> Self {
        let (account, name) = (key_part(asked.account_id.as_str()), key_part(asked.report_id.as_str()));
        Self {
            job_id: job_id.clone(),
            report_id: asked.report_id.as_str().to_owned(),
            scope: Scope { account_id: asked.account_id.as_str().to_owned(), period: asked.period.clone(), as_of: accepted_at },
            csv_key: format!("{prefix}{account}/{name}.csv"),
            html_key: format!("{prefix}{account}/{name}.html"),
        }
    }

    /// The file name of the CSV, as a browser saves it.
    pub(crate) fn csv_name(&self) -> &str {
        self.csv_key.rsplit('/').next().unwrap_or(&self.csv_key)
    }

    /// Key of a draft, named after its content.
    pub(crate) fn draft_key(&self, digest: &str) -> String {
        format!("{DRAFTS_PREFIX}{}/{digest}", self.job_id.as_str())
    }
}

/// An id as one part of a key. Ids may hold slashes, and account `a/b` with report `c` is not account `a` with report `b/c`; no id holds an
/// equals sign, so two ids never become one key.
fn key_part(id: &str) -> String {
    id.replace('/', "=2F").replace(':', "=3A")
}

#[cfg(test)]
mod tests {
    use ikkai::job::{IdempotencyKey, JobType, Period, ReferenceId};

    use super::*;

    fn report(account: &str, report: &str) -> Report {
        let id = |text| ReferenceId::parse(text).unwrap();
        let asked = ReportGenerate { report_id: id(report), account_id: id(account), period: Period::parse("2026-01").unwrap() };
        let job_type = JobType::parse("report.generate").unwrap();
        let job_id = JobId::derive("caller", &job_type, &IdempotencyKey::parse("key").unwrap());
        Report::new(&job_id, &asked, EpochMillis::from_i64(0), "reports/")
    }

    #[test]
    fn files_are_named_after_account_and_report() {
        let report = report("account-7", "2026:q1");
        assert_eq!(report.csv_key, "reports/account-7/2026=3Aq1.csv");
        assert_eq!(report.html_key, "reports/account-7/2026=3Aq1.html");
        assert_eq!(report.csv_name(), "2026=3Aq1.csv");
        assert!(report.draft_key("abc").starts_with("work/report.generate-") && report.draft_key("abc").ends_with("/abc"));
    }

    #[test]
    fn no_account_can_name_another_ones_file() {
        assert_ne!(report("a", "b/c").csv_key, report("a/b", "c").csv_key);
        assert_ne!(report("a", "b:c").csv_key, report("a", "b/c").csv_key);
        assert_eq!(report("a/b", "c").csv_key, "reports/a=2Fb/c.csv");
    }
}
