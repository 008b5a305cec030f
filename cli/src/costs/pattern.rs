//! Ways of doing a job, and the calls that each of them makes.

use serde::Deserialize;

use super::prices::{LOGS_GIGABYTE, each};
use super::table::{dollars, markdown, units};
use crate::demo::prices::{DYNAMODB_WRITE, LAMBDA_GIGABYTE_SECOND, LAMBDA_REQUEST, SQS_REQUEST};

/// Messages a batch.
pub(super) const BATCH: f64 = 10.0;

/// What a successful job may log in a batch of ten, its share of the metrics included. Held by tests
/// (`a_successful_job_in_a_batch_of_ten_stays_inside_its_budget`, and end to end `the_first_batch_after_the_start_…`), so it is the most and not the mean.
const LOG_BYTES_PER_JOB: f64 = 400.0;

/// What Lambda itself writes about an invocation in its default format.
const PLATFORM_LINES: [&str; 3] = [
    "START RequestId: 8f507cfc-0000-4697-b07a-ac58fc914c95 Version: $LATEST\n",
    "END RequestId: 8f507cfc-0000-4697-b07a-ac58fc914c95\n",
    "REPORT RequestId: 8f507cfc-0000-4697-b07a-ac58fc914c95\tDuration: 10.29 ms\tBilled Duration: 11 ms\tMemory Size: 256 MB\tMax Memory Used: 30 MB\t\n",
];

/// The run that is kept in `docs/measured/normal-job.json`: one `email.send` job through the API, alone in its batch, announcing its effect.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct MeasuredRun {
    measured: String,
    engine: String,
    #[serde(rename = "normalJob")]
    job: MeasuredJob,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct MeasuredJob {
    usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    writes: f64,
    item_bytes: f64,
    sends: f64,
    send_bytes: f64,
    visibility_calls: f64,
    producer_ms: f64,
    consumer_ms: f64,
    memory_mb: [f64; 2],
}

impl MeasuredRun {
    pub(super) fn read() -> Self {
        let run: Self = serde_json::from_str(include_str!("../../../docs/measured/normal-job.json")).unwrap();
        let usage = &run.job.usage;
        assert!(usage.item_bytes <= 1024.0 && usage.send_bytes <= 65_536.0, "each write is one unit, each send one request");
        run
    }
}

/// The sentence about the run.
pub(super) fn told(run: &MeasuredRun) -> String {
    let usage = &run.job.usage;
    format!(
        "Counted on {} on {}: {} writes of {} bytes, {} send of {} bytes, {} visibility call a batch; {:.1} ms of the API's function and {:.1} ms of the consumer's, \
         both of {} MB.",
        run.measured,
        run.engine,
        usage.writes,
        usage.item_bytes,
        usage.sends,
        usage.send_bytes,
        usage.visibility_calls,
        usage.producer_ms,
        usage.consumer_ms,
        usage.memory_mb[1],
    )
}

/// What a job takes, its share of its batch included.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pattern {
    pub(super) name: &'static str,
    writes: f64,
    sqs_requests: f64,
    invocations: f64,
    gigabyte_seconds: f64,
    log_bytes: f64,
}

impl Pattern {
    /// Units and dollars of a job, line by line.
    fn lines(&self) -> [(&'static str, f64, f64); 5] {
        let lines = [
            (DYNAMODB_WRITE.unit, self.writes, each(DYNAMODB_WRITE)),
            (SQS_REQUEST.unit, self.sqs_requests, each(SQS_REQUEST)),
            (LAMBDA_REQUEST.unit, self.invocations, each(LAMBDA_REQUEST)),
            (LAMBDA_GIGABYTE_SECOND.unit, self.gigabyte_seconds, each(LAMBDA_GIGABYTE_SECOND)),
            ("KB of logs", self.log_bytes / 1e3, LOGS_GIGABYTE.dollars / 1e6),
        ];
        lines.map(|(unit, units, dollars)| (unit, units, units * dollars))
    }

    /// Dollars of a job.
    pub(super) fn dollars(&self) -> f64 {
        self.lines().iter().map(|(_, _, dollars)| dollars).sum()
    }
}

/// Through the API, effect announced: what the run did.
pub(super) fn ikkai_with_api(run: &MeasuredRun) -> Pattern {
    let usage = &run.job.usage;
    let consumer = ikkai_sent_directly(run);
    Pattern {
        name: "Ikkai: API, effect announced",
        writes: usage.writes,
        invocations: 1.0 + consumer.invocations,
        gigabyte_seconds: usage.producer_ms / 1e3 * usage.memory_mb[0] / 1024.0 + consumer.gigabyte_seconds,
        log_bytes: platform_bytes() + consumer.log_bytes,
        ..consumer
    }
}

/// Put on the queue by somebody else, effect repeatable: a claim and a completion (`a_first_success_writes_twice_and_reads_nothing`).
pub(super) fn ikkai_sent_directly(run: &MeasuredRun) -> Pattern {
    let usage = &run.job.usage;
    Pattern {
        name: "Ikkai: sent directly, effect repeatable",
        writes: 2.0,
        sqs_requests: usage.sends + (received_and_deleted() + usage.visibility_calls) / BATCH,
        log_bytes: LOG_BYTES_PER_JOB + platform_bytes() / BATCH,
        ..consumer_alone(run)
    }
}

/// Batch and idempotency as Powertools for AWS Lambda has them: `PutItem` under a condition, then `UpdateItem`; nothing sets a visibility, and neither
/// writes a log line of its own.
pub(super) fn powertools(run: &MeasuredRun) -> Pattern {
    Pattern { name: "Powertools: batch and idempotency", writes: 2.0, ..consumer_alone(run) }
}

/// A function that keeps no record: what is delivered twice happens twice.
fn without_record(run: &MeasuredRun) -> Pattern {
    Pattern { name: "a function without a record", ..consumer_alone(run) }
}

/// A process that always runs, makes a record's two writes and logs a job as Ikkai does. What it runs on is paid by the hour, see [`super::month`].
pub(super) fn in_a_container() -> Pattern {
    Pattern {
        name: "a container: same record, same log",
        writes: 2.0,
        sqs_requests: 1.0 + received_and_deleted() / BATCH,
        invocations: 0.0,
        gigabyte_seconds: 0.0,
        log_bytes: LOG_BYTES_PER_JOB,
    }
}

/// A consumer's function and nothing else. The time of a job is the measured one, in a batch as alone, for all alike.
fn consumer_alone(run: &MeasuredRun) -> Pattern {
    let usage = &run.job.usage;
    Pattern {
        name: "",
        writes: 0.0,
        sqs_requests: usage.sends + received_and_deleted() / BATCH,
        invocations: 1.0 / BATCH,
        gigabyte_seconds: usage.consumer_ms / 1e3 * usage.memory_mb[1] / 1024.0,
        log_bytes: platform_bytes() / BATCH,
    }
}

/// A request that receives a batch, one that deletes it.
fn received_and_deleted() -> f64 {
    2.0
}

#[expect(clippy::cast_precision_loss, reason = "three lines")]
fn platform_bytes() -> f64 {
    PLATFORM_LINES.map(str::len).iter().sum::<usize>() as f64
}

/// Dollars a million jobs, by way and by line.
pub(super) fn table(run: &MeasuredRun) -> String {
    let ways = [ikkai_with_api(run), ikkai_sent_directly(run), powertools(run), without_record(run), in_a_container()];
    let header: [&str; 6] = std::array::from_fn(|column| if column == 0 { "a million jobs, $" } else { ways[column - 1].name });
    let lines = ways.each_ref().map(Pattern::lines);
    let rows = (0..lines[0].len()).map(|line| {
        std::array::from_fn(|column| {
            if column == 0 {
                return lines[0][line].0.to_owned();
            }
            let (_, of_job, cost) = lines[column - 1][line];
            if of_job == 0.0 { "–".to_owned() } else { format!("{} ({})", dollars(cost * 1e6), units(of_job)) }
        })
    });
    let sums = std::array::from_fn(|column| {
        if column == 0 { "**sum**".to_owned() } else { format!("**{}**", dollars(ways[column - 1].dollars() * 1e6)) }
    });
    markdown(header, rows.chain([sums]))
}

/// Writes of what is not a first success.
pub(super) fn other_ways() -> String {
    let write = each(DYNAMODB_WRITE) * 1e6;
    let row = |what: &str, ikkai: f64, powertools: f64| {
        let cell = |writes: f64| format!("{} ({})", dollars(writes * write), units(writes));
        [what.to_owned(), cell(ikkai), cell(powertools)]
    };
    markdown(
        ["a million of these, $ of writes", "Ikkai", "Powertools"],
        [row("duplicate deliveries of a job that is done", 1.0, 1.0), row("failed attempts", 2.0, 2.0)],
    )
}
