//! What a job uses, and what a million of them cost.

use serde::Serialize;

use super::prices::{DYNAMODB_READ, DYNAMODB_WRITE, LAMBDA_GIGABYTE_SECOND, LAMBDA_REQUEST, Price, SES_MAIL, SQS_REQUEST};

/// SQS counts a request for every 64 KB of its payload (<https://aws.amazon.com/sqs/pricing/>).
const SQS_CHUNK_BYTES: u64 = 64 * 1024;

/// DynamoDB counts a write unit for every KB of the item
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html>).
const WRITE_UNIT_BYTES: u64 = 1024;

/// Lambda's pollers receive a batch and delete it. They do so past the proxy, so these two requests are known and not counted.
const POLLER_REQUESTS: u64 = 2;

/// What one job used, alone in its batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    /// Writes of the job's record.
    pub(super) writes: u64,
    /// The record's size as DynamoDB counts it, bytes.
    pub(super) item_bytes: u64,
    /// Reads of the contacts table, items of up to 4 KB.
    pub(super) reads: u64,
    /// Messages sent.
    pub(super) sends: u64,
    /// Bytes of the largest request that sent one.
    pub(super) send_bytes: u64,
    /// Calls that set the visibility of a whole batch.
    pub(super) visibility_calls: u64,
    /// Mails sent.
    pub(super) mails: u64,
    /// Time of the producer's invocation, milliseconds.
    pub(super) producer_ms: f64,
    /// Time of the consumer's invocation, milliseconds.
    pub(super) consumer_ms: f64,
    /// Memory of each function, megabytes: producer, consumer.
    pub(super) memory_mb: [u32; 2],
}

/// One line of the bill.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CostLine {
    /// The price.
    #[serde(flatten)]
    pub(super) price: Price,
    /// Units that a job uses.
    pub(super) units_per_job: f64,
    /// Dollars for a million jobs.
    pub(super) dollars_per_million_jobs: f64,
}

/// The bill for a million jobs like this one, if `batch` of them (at least one) come in each batch.
///
/// What is done once a batch is divided among its jobs: the consumer's invocation, receiving, deleting, setting visibility. The
/// consumer's time is not: it is taken as if every job took as long as alone.
pub(super) fn bill(usage: &Usage, batch: u32) -> Vec<CostLine> {
    let batch = f64::from(batch.max(1));
    let [producer_gb, consumer_gb] = usage.memory_mb.map(|megabytes| f64::from(megabytes) / 1024.0);
    let gigabyte_seconds = (usage.producer_ms * producer_gb + usage.consumer_ms * consumer_gb) / 1000.0;
    let sends = count(usage.sends * chunks(usage.send_bytes, SQS_CHUNK_BYTES));
    let of_batch = count(POLLER_REQUESTS + usage.visibility_calls);
    let lines = [
        (DYNAMODB_WRITE, count(usage.writes * chunks(usage.item_bytes, WRITE_UNIT_BYTES))),
        (DYNAMODB_READ, count(usage.reads)),
        (SQS_REQUEST, sends + of_batch / batch),
        (LAMBDA_REQUEST, 1.0 + 1.0 / batch),
        (LAMBDA_GIGABYTE_SECOND, gigabyte_seconds),
        (SES_MAIL, count(usage.mails)),
    ];
    lines
        .map(|(price, units)| CostLine {
            price,
            units_per_job: units,
            dollars_per_million_jobs: units * price.dollars_per_million,
        })
        .into()
}

/// The sum of a bill.
pub(super) fn total(bill: &[CostLine]) -> f64 {
    bill.iter().map(|line| line.dollars_per_million_jobs).sum()
}

/// How many chunks something begins; nothing is still one.
fn chunks(bytes: u64, chunk: u64) -> u64 {
    bytes.div_ceil(chunk).max(1)
}

/// Exact up to 2^53, which no count here reaches.
#[allow(clippy::cast_precision_loss, reason = "counts of calls are small")]
fn count(units: u64) -> f64 {
    units as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage {
        writes: 4,
        item_bytes: 900,
        reads: 1,
        sends: 1,
        send_bytes: 500,
        visibility_calls: 1,
        mails: 1,
        producer_ms: 10.0,
        consumer_ms: 30.0,
        memory_mb: [256, 256],
    };

    fn dollars(bill: &[CostLine], price: Price) -> f64 {
        bill.iter().find(|line| line.price == price).unwrap().dollars_per_million_jobs
    }

    #[track_caller]
    fn assert_near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found} is not {wanted}");
    }

    #[test]
    fn a_job_alone_pays_for_its_whole_batch() {
        let bill = bill(&USAGE, 1);
        assert_near(dollars(&bill, DYNAMODB_WRITE), 2.50);
        assert_near(dollars(&bill, DYNAMODB_READ), 0.125);
        // Send, receive, set visibility, delete.
        assert_near(dollars(&bill, SQS_REQUEST), 1.60);
        assert_near(dollars(&bill, LAMBDA_REQUEST), 0.40);
        // 40 ms of 256 MB are 0.01 GB-s.
        assert_near(dollars(&bill, LAMBDA_GIGABYTE_SECOND), 0.133_334);
        assert_near(dollars(&bill, SES_MAIL), 100.0);
        assert_near(total(&bill), 104.758_334);
    }

    #[test]
    fn jobs_of_one_batch_share_what_is_done_once_for_it() {
        let bill = bill(&USAGE, 10);
        assert_near(dollars(&bill, SQS_REQUEST), 0.4 * (1.0 + 0.3));
        assert_near(dollars(&bill, LAMBDA_REQUEST), 0.2 * 1.1);
        assert_near(dollars(&bill, DYNAMODB_WRITE), 2.50);
    }

    #[test]
    fn a_larger_item_and_a_larger_message_cost_more_units() {
        let large = Usage { item_bytes: 1025, send_bytes: 64 * 1024 + 1, ..USAGE };
        let bill = bill(&large, 1);
        assert_near(dollars(&bill, DYNAMODB_WRITE), 5.0);
        assert_near(dollars(&bill, SQS_REQUEST), 2.0);
    }

    #[test]
    fn each_function_pays_for_its_own_memory() {
        let uneven = Usage { memory_mb: [1024, 512], ..USAGE };
        assert_near(dollars(&bill(&uneven, 1), LAMBDA_GIGABYTE_SECOND), (0.010 + 0.015) * 13.3334);
    }
    /// What `docs/deploy.md` tells of the run that is kept in `docs/measured/normal-job.json`.
    fn told(record: &serde_json::Value) -> String {
        let usage: Usage = serde_json::from_value(record["normalJob"]["usage"].clone()).unwrap();
        let [alone, batched] = [1, super::super::report::BATCH].map(|batch| bill(&usage, batch));
        let row = |name: &str, [units, alone_units]: [String; 2], [dollars, alone_dollars]: [f64; 2]| {
            format!("| {name} | {units} | {dollars:.3} | {alone_units} | {alone_dollars:.3} |")
        };
        let lines = batched.iter().zip(&alone).map(|(batched, alone)| {
            // Parts of a unit only where there are parts.
            let units =
                |line: &CostLine| format!("{:.4}", line.units_per_job).trim_end_matches('0').trim_end_matches('.').to_owned();
            row(
                batched.price.unit,
                [units(batched), units(alone)],
                [batched.dollars_per_million_jobs, alone.dollars_per_million_jobs],
            )
        });
        let sum = row("**sum**", Default::default(), [total(&batched), total(&alone)]);
        lines.chain([sum]).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_page_about_deploying_has_the_bill_of_the_run_that_was_kept() {
        let record: serde_json::Value = serde_json::from_str(include_str!("../../../docs/measured/normal-job.json")).unwrap();
        let page = include_str!("../../../docs/deploy.md");
        let told = told(&record);
        assert!(page.contains(&told), "docs/deploy.md has to hold these lines:\n{told}");
        let run = format!("{}, {}", record["measured"].as_str().unwrap(), record["engine"].as_str().unwrap());
        assert!(page.contains(&run), "docs/deploy.md has to say when and on what: {run}");
    }
}
