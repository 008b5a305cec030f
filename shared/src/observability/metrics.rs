//! Metrics: what is counted, and where the counts wait until they are written.
//!
//! With partial batch responses Lambda's own `Errors` stays near zero whatever happens to the jobs, so alarms stand on these. They are written as
//! log lines in CloudWatch's embedded metric format: no API call, no permission, no latency.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::emf;
use crate::clock::EpochMillis;

/// The metrics of the kit. Every one has the dimensions `Service` and `JobType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// Jobs whose handler finished and whose record says so.
    JobsSucceeded,
    /// Deliveries of jobs that had succeeded before; their handler did not run.
    JobsDuplicate,
    /// Failed attempts that will be repeated.
    JobsRetried,
    /// Parts of long jobs that are done; the job goes on in another invocation.
    JobsContinued,
    /// Jobs put off without using an attempt: the provider asked for it, or the circuit is open.
    JobsDeferred,
    /// Messages replaced by a copy because their receives ran low.
    JobsRenewed,
    /// Jobs given up, with a reason in their record.
    JobsDead,
    /// Jobs whose effect may have happened and cannot be known.
    JobsInDoubt,
    /// Messages that cannot become a job, or whose job killed its worker repeatedly.
    PoisonSeen,
    /// Leases that ended, or receipts that went stale, while the handler was running.
    LeaseLost,
    /// How long a handler ran.
    HandlerDuration,
    /// The time from a job's acceptance to its success.
    JobLatency,
    /// How many attempts a job took until it ended.
    AttemptsUsed,
    /// One value an attempt: 1 where it failed, 0 where it did not. An attempt that failed for a reason of its target alone has none.
    AttemptsFailed,
    /// Requests refused because the queue is too deep.
    AdmissionRejected,
    /// Requests that the API itself could not serve, wholly or in part.
    RequestsFailed,
    /// Contacts that get no more mail because of a bounce or a complaint.
    ContactsSuppressed,
    /// Reports about mails that suppressed nobody: deliveries, bounces for now, other systems' mail.
    FeedbackIgnored,
    /// Messages that an operator put back into their queue.
    JobsRedriven,
    /// Messages that an operator wanted to put back, and that are still where they were.
    RedriveFailed,
    /// Jobs that were put back as often as they may be, and stay where they are.
    RedriveQuarantined,
}

/// The dimension `JobType` of what is about no one type: `none`.
pub const NO_JOB_TYPE: &str = "none";

/// How the values of a metric combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// They add up to one number.
    Sum,
    /// Each stands for itself, so that percentiles can be taken.
    Samples,
}

impl Metric {
    /// All metrics, in the order in which they are written.
    pub const ALL: [Self; 21] = [
        Self::JobsSucceeded,
        Self::JobsDuplicate,
        Self::JobsRetried,
        Self::JobsContinued,
        Self::JobsDeferred,
        Self::JobsRenewed,
        Self::JobsDead,
        Self::JobsInDoubt,
        Self::PoisonSeen,
        Self::LeaseLost,
        Self::HandlerDuration,
        Self::JobLatency,
        Self::AttemptsUsed,
        Self::AttemptsFailed,
        Self::AdmissionRejected,
        Self::RequestsFailed,
        Self::ContactsSuppressed,
        Self::FeedbackIgnored,
        Self::JobsRedriven,
        Self::RedriveFailed,
        Self::RedriveQuarantined,
    ];

    /// The name in CloudWatch.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::JobsSucceeded => "JobsSucceeded",
            Self::JobsDuplicate => "JobsDuplicate",
            Self::JobsRetried => "JobsRetried",
            Self::JobsContinued => "JobsContinued",
            Self::JobsDeferred => "JobsDeferred",
            Self::JobsRenewed => "JobsRenewed",
            Self::JobsDead => "JobsDead",
            Self::JobsInDoubt => "JobsInDoubt",
            Self::PoisonSeen => "PoisonSeen",
            Self::LeaseLost => "LeaseLost",
            Self::HandlerDuration => "HandlerDuration",
            Self::JobLatency => "JobLatency",
            Self::AttemptsUsed => "AttemptsUsed",
            Self::AttemptsFailed => "AttemptsFailed",
            Self::AdmissionRejected => "AdmissionRejected",
            Self::RequestsFailed => "RequestsFailed",
            Self::ContactsSuppressed => "ContactsSuppressed",
            Self::FeedbackIgnored => "FeedbackIgnored",
            Self::JobsRedriven => "JobsRedriven",
            Self::RedriveFailed => "RedriveFailed",
            Self::RedriveQuarantined => "RedriveQuarantined",
        }
    }

    /// The unit in CloudWatch
    /// (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html>).
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::HandlerDuration | Self::JobLatency => "Milliseconds",
            _ => "Count",
        }
    }

    const fn shape(self) -> Shape {
        match self {
            Self::HandlerDuration | Self::JobLatency | Self::AttemptsUsed | Self::AttemptsFailed => Shape::Samples,
            _ => Shape::Sum,
        }
    }
}

/// What was recorded of one metric since the last flush.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Recorded {
    Sum(u64),
    Samples(Vec<f64>),
}

/// What was recorded of one job type since the last flush.
pub(super) type Series = BTreeMap<Metric, Recorded>;

/// Collects metrics until they are flushed. Clones share what they collect.
#[derive(Debug, Clone)]
pub struct Metrics {
    namespace: Arc<str>,
    service: Arc<str>,
    by_job_type: Arc<Mutex<BTreeMap<String, Series>>>,
}

impl Metrics {
    /// Metrics of `service` in `namespace`. Characters that CloudWatch refuses are replaced by underscores: a metric under a slightly different
    /// name can be found, a line that CloudWatch drops cannot.
    #[must_use]
    pub fn new(namespace: &str, service: &str) -> Self {
        Self {
            namespace: emf::namespace(namespace).into(),
            service: emf::dimension_value(service).into(),
            by_job_type: Arc::default(),
        }
    }

    /// Adds `n` to a counter. Adding 0 publishes a zero, which alarms read as "all well" rather than "no data".
    ///
    /// `job_type` becomes a dimension, and each distinct value a metric that is billed: only registered job types belong here.
    pub fn count(&self, metric: Metric, job_type: &str, n: u64) {
        match metric.shape() {
            Shape::Sum => self.add(metric, job_type, n),
            #[expect(clippy::cast_precision_loss, reason = "beyond 2^53 the last digits do not matter")]
            Shape::Samples => self.push(metric, job_type, n as f64),
        }
    }

    /// Records one value of a distribution. Values that are not finite are dropped, since CloudWatch would refuse the line; others are rounded to
    /// hundredths.
    pub fn sample(&self, metric: Metric, job_type: &str, value: f64) {
        match metric.shape() {
            Shape::Samples => self.push(metric, job_type, value),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the cast saturates, and a count is not negative"
            )]
            Shape::Sum => self.add(metric, job_type, value.round() as u64),
        }
    }

    /// Writes what was recorded since the last flush, one line a job type, and forgets it. Returns the number of bytes written: none when nothing
    /// was recorded.
    ///
    /// To be called once at the end of each invocation, before its answer: after that the sandbox may be frozen.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to. What was recorded is lost then: writing it again could count it twice.
    pub fn flush(&self, now: EpochMillis, out: &mut dyn Write) -> io::Result<usize> {
        let recorded = std::mem::take(&mut *self.by_job_type.lock().unwrap_or_else(PoisonError::into_inner));
        let mut lines = String::new();
        for (job_type, series) in recorded {
            emf::write_lines(&mut lines, &self.namespace, &self.service, &job_type, now, series);
        }
        out.write_all(lines.as_bytes())?;
        Ok(lines.len())
    }

    /// [`Metrics::flush`] to standard output, which Lambda ships to CloudWatch.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written to.
    pub fn flush_to_stdout(&self, now: EpochMillis) -> io::Result<usize> {
        self.flush(now, &mut io::stdout().lock())
    }

    fn add(&self, metric: Metric, job_type: &str, n: u64) {
        self.update(metric, job_type, Recorded::Sum(0), |recorded| {
            if let Recorded::Sum(sum) = recorded {
                *sum = sum.saturating_add(n);
            }
        });
    }

    fn push(&self, metric: Metric, job_type: &str, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.update(metric, job_type, Recorded::Samples(Vec::new()), |recorded| {
            if let Recorded::Samples(samples) = recorded {
                samples.push(value);
            }
        });
    }

    fn update(&self, metric: Metric, job_type: &str, empty: Recorded, change: impl FnOnce(&mut Recorded)) {
        let mut by_job_type = self.by_job_type.lock().unwrap_or_else(PoisonError::into_inner);
        if !by_job_type.contains_key(job_type) {
            by_job_type.insert(job_type.to_owned(), Series::new());
        }
        if let Some(series) = by_job_type.get_mut(job_type) {
            change(series.entry(metric).or_insert(empty));
        }
    }
}
