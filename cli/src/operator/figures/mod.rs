//! What CloudWatch knows of queues and jobs: how old, how many, how fast. Nothing is made up: what it does not know is absent.

mod alarms;
mod cloudwatch;
mod query;
mod signed_post;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::site::{Site, capitalised};
use cloudwatch::CloudWatch;

pub use self::alarms::alarms_on_depth;
pub use self::cloudwatch::FiguresError;
pub use self::signed_post::{PostError, SignedPost};

/// What is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The queue's name in the stack.
    pub name: String,
    /// Its name in SQS.
    pub queue: String,
    /// The type of its jobs.
    pub job_type: String,
    /// What the consumer calls itself in metrics: its function's name, unless it was given another.
    pub service: Option<String>,
}

impl Subject {
    /// A queue of a stack; the consumer's name is an output of it (`EmailConsumerFunctionName` for `email`).
    #[must_use]
    pub fn of(site: &Site, name: &str, queue: &str, job_type: &str) -> Self {
        let service = site.output(&format!("{}ConsumerFunctionName", capitalised(name))).map(ToOwned::to_owned);
        Self { name: name.to_owned(), queue: queue.to_owned(), job_type: job_type.to_owned(), service }
    }
}

/// What CloudWatch knows of a queue and its jobs, in the last [`WINDOW`].
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The age of the oldest message that waits, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_seconds: Option<f64>,
    /// Jobs that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<f64>,
    /// Attempts that failed and are repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retried: Option<f64>,
    /// Jobs that were given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead: Option<f64>,
    /// Jobs whose effect is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_doubt: Option<f64>,
    /// How long a handler runs, in milliseconds: 95 of 100 are faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler_p95_ms: Option<f64>,
    /// How long it takes from a job's acceptance to its success, in milliseconds: 95 of 100 are faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p95_ms: Option<f64>,
}

impl Figures {
    /// The share of attempts that did not end well; `None` while there were none.
    #[must_use]
    pub fn failure_rate(&self) -> Option<f64> {
        let failed = [self.retried, self.dead, self.in_doubt].into_iter().flatten().sum::<f64>();
        let all = failed + self.succeeded.unwrap_or(0.0);
        (all > 0.0).then(|| failed / all)
    }
}

/// How far back sums go.
pub const WINDOW: Duration = Duration::from_secs(900);

/// Asks CloudWatch about queues, with one call. By queue, under its name in the stack.
///
/// Costs `cloudwatch:GetMetricData` seven metrics a queue (<https://aws.amazon.com/cloudwatch/pricing/>).
///
/// # Errors
/// CloudWatch is not there, or the caller may not ask.
pub async fn figures(site: &Site, subjects: &[Subject]) -> Result<BTreeMap<String, Figures>, FiguresError> {
    let namespace = site.parameter("MetricsNamespace").unwrap_or("Ikkai");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let answer = CloudWatch::new(site.config())?.ask("GetMetricData", &query::request(subjects, namespace, now)).await?;
    Ok(query::read(subjects, &answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_rate_is_a_share_of_attempts_and_unknown_without_any() {
        let rate = |succeeded, retried, dead, in_doubt| {
            Figures { succeeded, retried, dead, in_doubt, ..Figures::default() }.failure_rate()
        };
        assert_eq!(rate(None, None, None, None), None);
        assert_eq!(rate(Some(0.0), None, Some(0.0), None), None);
        assert_eq!(rate(Some(6.0), None, None, None), Some(0.0));
        assert_eq!(rate(Some(6.0), Some(1.0), Some(0.5), Some(0.5)), Some(0.25));
        assert_eq!(rate(None, Some(1.0), None, None), Some(1.0));
    }
}
