//! Totals of a report.

use std::collections::BTreeMap;

use ikkai::{idempotency::Status, job::Period};
use serde::{Deserialize, Serialize};

use crate::{history::JobRow, latency::Latencies};

/// What the page shows, in memory that grows with types, statuses and days, and not with jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) jobs: u64,
    /// Counts by type, then by status.
    pub(crate) by_type: BTreeMap<String, BTreeMap<String, u64>>,
    /// One for each day of the period.
    pub(crate) days: Vec<DayCount>,
    /// From acceptance to success.
    pub(crate) latencies: Latencies,
}

/// Jobs that were accepted on one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DayCount {
    pub(crate) succeeded: u64,
    /// Dead or in doubt.
    pub(crate) failed: u64,
    /// On their way, or cancelled.
    pub(crate) other: u64,
}

impl DayCount {
    pub(crate) const fn total(self) -> u64 {
        self.succeeded + self.failed + self.other
    }
}

impl Summary {
    pub(crate) fn new(period: &Period) -> Self {
        Self {
            jobs: 0,
            by_type: BTreeMap::new(),
            days: vec![DayCount::default(); period.days()],
            latencies: Latencies::default(),
        }
    }

    pub(crate) fn add(&mut self, row: &JobRow, period: &Period) {
        self.jobs += 1;
        *self.by_type.entry(row.job_type.clone()).or_default().entry(row.status.clone()).or_default() += 1;
        let status = Status::from_name(&row.status);
        if let Some(day) = period.day_of(row.created_at).and_then(|day| self.days.get_mut(day)) {
            match status {
                Some(Status::Succeeded) => day.succeeded += 1,
                Some(Status::Dead | Status::InDoubt) => day.failed += 1,
                _ => day.other += 1,
            }
        }
        if let (Some(Status::Succeeded), Some(ended_at)) = (status, row.ended_at) {
            let took = ended_at.since(row.created_at).as_millis();
            self.latencies.add(u64::try_from(took).unwrap_or(u64::MAX));
        }
    }

    /// Counts by status, over all types.
    pub(crate) fn by_status(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for (status, count) in self.by_type.values().flatten() {
            *counts.entry(status.as_str()).or_default() += count;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_job_counts_once_in_every_total() {
        let period = Period::parse("2026-01-01/2026-01-02").unwrap();
        let mut summary = Summary::new(&period);
        let names = Status::ALL.map(Status::as_str).into_iter().chain(["of a newer version"]);
        for (index, status) in names.enumerate() {
            let created_at = period.starts_at() + Duration::from_secs(20 * 3_600 * (index as u64 % 2));
            let row = JobRow {
                job_id: format!("email.send-{index}"),
                job_type: "email.send".to_owned(),
                status: status.to_owned(),
                attempts: 1,
                created_at: created_at + Duration::from_secs(3_600 * 5),
                ended_at: Some(created_at + Duration::from_secs(3_600 * 6)),
                error_class: None,
                error_code: None,
                business_id: None,
            };
            summary.add(&row, &period);
        }
        assert_eq!((summary.jobs, summary.by_status().values().sum()), (8, 8_u64));
        assert_eq!(summary.days.iter().map(|day| day.total()).sum::<u64>(), 8);
        assert_eq!(
            summary.days.iter().map(|day| (day.succeeded, day.failed)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)),
            (1, 2)
        );
        assert_eq!(summary.latencies.percentile(50), Some(3_600_000), "of the one that succeeded");
    }
}
