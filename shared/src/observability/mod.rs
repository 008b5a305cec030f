//! What an operator sees: log lines, metrics and trace headers.
//!
//! Three rules hold for all of it. Nothing personal and no payload is written at any level, whoever turns the level up. A successful job costs
//! few bytes, because CloudWatch bills by the byte. Names are stable: alarms and queries are built on them.
//!
//! ```
//! use ikkai::clock::EpochMillis;
//! use ikkai::observability::{Metric, Metrics};
//!
//! let metrics = Metrics::new("Ikkai", "email-consumer");
//! metrics.count(Metric::JobsSucceeded, "email.send", 2);
//! metrics.sample(Metric::HandlerDuration, "email.send", 41.0);
//!
//! let mut line = Vec::new();
//! metrics.flush(EpochMillis::from_i64(1_700_000_000_000), &mut line)?;
//! let line = String::from_utf8(line).expect("a log line is text");
//! // One line of CloudWatch's embedded metric format: no call and no permission.
//! assert!(line.contains(r#""JobsSucceeded":2"#) && line.contains(r#""JobType":"email.send""#), "{line}");
//! # Ok::<(), std::io::Error>(())
//! ```

mod emf;
pub mod logs;
pub mod metrics;
pub mod trace;

pub use metrics::{Metric, Metrics, NO_JOB_TYPE};
pub use trace::TraceHeader;

#[cfg(test)]
mod tests {
    use tracing::{info, info_span};

    use super::logs::LevelSetting;
    use super::logs::capture::capture;
    use super::{Metric, Metrics};
    use crate::clock::EpochMillis;

    /// What the kit promises to spend on a successful job's log line and its share of the metrics.
    const BYTES_PER_JOB: usize = 400;
    const JOB_TYPE: &str = "email.send";

    /// Bytes that a batch of `jobs` successful jobs writes, with identifiers of the lengths that AWS and the kit give them.
    fn bytes_of_batch(jobs: u32) -> usize {
        let metrics = Metrics::new("Ikkai", "email-consumer");
        let (lines, ()) = capture(LevelSetting::Info, || {
            let request_id = "8f507cfc-xmpl-4697-b07a-ac58fc914c95";
            info_span!("invocation", request_id).in_scope(|| {
                for _ in 0..jobs {
                    let job_id = format!("{JOB_TYPE}-{}", "x".repeat(43));
                    let message_id = "059f36b4-87a3-44ab-83d2-661975830a7d";
                    info_span!("job", job_id, job_type = JOB_TYPE, attempt = 1, message_id).in_scope(|| {
                        info!(outcome = "succeeded", duration_ms = 1_234, "job succeeded");
                    });
                    metrics.count(Metric::JobsSucceeded, JOB_TYPE, 1);
                    metrics.sample(Metric::HandlerDuration, JOB_TYPE, 1_234.56);
                    metrics.sample(Metric::JobLatency, JOB_TYPE, 12_345.0);
                    metrics.sample(Metric::AttemptsUsed, JOB_TYPE, 1.0);
                    metrics.sample(Metric::AttemptsFailed, JOB_TYPE, 0.0);
                }
            });
        });
        let logs: usize = lines.iter().map(|line| line.len() + 1).sum();
        logs + metrics.flush(EpochMillis::from_i64(1_700_000_000_123), &mut std::io::sink()).expect("a sink takes all")
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "the figures are published from here")]
    fn a_successful_job_in_a_batch_of_ten_stays_inside_its_budget() {
        let bytes = bytes_of_batch(10) / 10;
        println!("bytes of log and metrics a successful job: {bytes} in a batch of 10, {} alone", bytes_of_batch(1));
        assert!(bytes <= BYTES_PER_JOB, "{bytes} bytes a job");
    }
}
