//! What became of an account's jobs.

mod dynamodb;
mod memory;

use async_trait::async_trait;
use ikkai::clock::EpochMillis;
use ikkai::job::Period;
use serde::{Deserialize, Serialize};

pub use self::{dynamodb::DynamoDbHistory, memory::MemoryHistory};

/// Which jobs a report is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Whose jobs.
    pub account_id: String,
    /// When they were accepted.
    pub period: Period,
    /// When the report was asked for. Jobs accepted later are left out, and so are records that had expired by then, whether DynamoDB
    /// has removed them or not.
    pub as_of: EpochMillis,
}

impl Scope {
    /// The first and the last millisecond of acceptance; `None` where there is none, because the period lies ahead.
    #[must_use]
    pub fn bounds(&self) -> Option<(EpochMillis, EpochMillis)> {
        let last_of_period = EpochMillis::from_i64(self.period.ends_before().as_i64() - 1);
        let (first, last) = (self.period.starts_at(), last_of_period.min(self.as_of));
        (first <= last).then_some((first, last))
    }
}

/// One job, as the report shows it. Texts are what the record says, so that a job of a newer version's status is not left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Key of the record.
    pub job_id: String,
    /// The job's type.
    pub job_type: String,
    /// Where it stands.
    pub status: String,
    /// Handler starts.
    pub attempts: u64,
    /// When it was accepted.
    pub created_at: EpochMillis,
    /// When it ended, for a job that did.
    pub ended_at: Option<EpochMillis>,
    /// Class of its last failure.
    pub error_class: Option<String>,
    /// Code of its last failure.
    pub error_code: Option<String>,
    /// The caller's own name for the transaction.
    pub business_id: Option<String>,
}

/// A place in the history: right after this job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// When the job was accepted.
    pub created_at: EpochMillis,
    /// Its id.
    pub job_id: String,
}

/// Some jobs, in the order of their acceptance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPage {
    /// The jobs.
    pub rows: Vec<JobRow>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Position>,
}

/// Reads an account's jobs.
#[async_trait]
pub trait JobHistory: Send + Sync + 'static {
    /// The page that begins at `after`, or the first one. Jobs are handed out once each, in the order of their acceptance; each is as it was when
    /// it was read.
    ///
    /// # Errors
    /// When the history cannot be read; nothing of the page counts then.
    async fn page(&self, scope: &Scope, after: Option<&Position>) -> Result<HistoryPage, HistoryError>;
}

/// Why the history could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The table or the index throttles.
    #[error("the jobs table throttles the report's reads; it recovers by itself, or raise its warm throughput")]
    Throttled,
    /// Permission is missing, or the index does not exist or is another one. Only an operator can change that.
    #[error(
        "the report cannot read the jobs table or its index ({code}); check the function's role, IKKAI_JOBS_TABLE and \
         IKKAI_ACCOUNT_INDEX, its reports wait"
    )]
    Refused {
        /// The service's error code, or what is wrong.
        code: String,
    },
    /// DynamoDB cannot be reached, does not answer in time, or says that the failure is its own.
    #[error("the jobs table does not answer ({code})")]
    Outage {
        /// The service's error code, or what happened.
        code: String,
    },
    /// An answer that cannot be used.
    #[error("the jobs table could not be read ({code})")]
    Unavailable {
        /// The service's error code, or what happened.
        code: String,
    },
}

impl HistoryError {
    /// Stable machine name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Throttled => "history_throttled",
            Self::Refused { .. } => "history_refused",
            Self::Outage { .. } => "history_outage",
            Self::Unavailable { .. } => "history_unavailable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_that_is_not_over_ends_with_the_request() {
        let bounds = |as_of: i64| {
            let period = Period::parse("2026-01").unwrap();
            let start = period.starts_at().as_i64();
            let scope = Scope { account_id: "a".to_owned(), period, as_of: EpochMillis::from_i64(start + as_of) };
            scope.bounds().map(|(first, last)| (first.as_i64() - start, last.as_i64() - start))
        };
        let month = 31 * 86_400_000;
        assert_eq!(bounds(month * 2), Some((0, month - 1)));
        assert_eq!(bounds(5), Some((0, 5)));
        assert_eq!(bounds(0), Some((0, 0)));
        assert_eq!(bounds(-1), None);
    }
}
