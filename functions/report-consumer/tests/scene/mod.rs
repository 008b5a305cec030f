//! The consumer on the bench, with an account's history and a store in memory.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::{sync::Arc, time::Duration};

use ikkai::{
    clock::EpochMillis,
    consumer::ConsumerSettings,
    idempotency::{JobRecord, Status},
    job::Period,
    testing::{self, BatchRun, Bench, MessageBuilder, TokioClock},
};
use report_consumer::{JobRow, MemoryHistory, MemoryReportStore, ReportHandler, ReportSettings};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) const ACCOUNT: &str = "account-7";
pub(crate) const PERIOD: &str = "2027-01";
pub(crate) const CSV: &str = "reports/account-7/report-1.csv";
pub(crate) const HTML: &str = "reports/account-7/report-1.html";

/// Parts small enough that a few rows fill one.
pub(crate) const SMALL_PART: usize = 1_500;

/// A consumer with a history of `account-7`.
pub(crate) struct Scene {
    pub(crate) bench: Bench<ReportHandler, TokioClock>,
    pub(crate) history: Arc<MemoryHistory>,
    pub(crate) store: Arc<MemoryReportStore>,
}

impl Scene {
    pub(crate) fn new(history: MemoryHistory, least_part_bytes: usize) -> Self {
        Self::with_settings(history, least_part_bytes, patient())
    }

    pub(crate) fn with_settings(history: MemoryHistory, least_part_bytes: usize, consumer: ConsumerSettings) -> Self {
        let (history, store) = (Arc::new(history), Arc::new(MemoryReportStore::new(least_part_bytes)));
        let settings = ReportSettings {
            bucket: "reports".to_owned(),
            prefix: "reports/".to_owned(),
            account_index: "account-created".to_owned(),
        };
        let handler = ReportHandler::new(history.clone(), store.clone(), &settings);
        Self { bench: Bench::timed_with(handler, consumer), history, store }
    }

    pub(crate) async fn deliver(&self, message: &MessageBuilder) -> BatchRun {
        self.bench.run_batch([message.build()]).await.unwrap()
    }

    /// Delivers the message again and again, as the queue does, until its job has ended. Returns how often.
    pub(crate) async fn until_ended(&self, message: &MessageBuilder) -> usize {
        for deliveries in 1..200 {
            self.deliver(message).await;
            if self.bench.record_of(message).is_some_and(|record| record.status.is_final()) {
                return deliveries;
            }
            tokio::time::sleep(Duration::from_secs(1_000)).await;
        }
        panic!("the job does not end: {:?}", self.bench.record_of(message));
    }

    /// A worker that stops in the middle: it is gone a second after it has nothing to do but wait, and its lease ends.
    pub(crate) async fn deliver_to_a_dying_worker(&self, message: &MessageBuilder) -> bool {
        let run = self.bench.run_batch([message.build()]);
        let died = tokio::time::timeout(Duration::from_secs(1), run).await.is_err();
        tokio::time::sleep(Duration::from_secs(1_000)).await;
        died
    }

    pub(crate) fn record(&self, message: &MessageBuilder) -> JobRecord {
        self.bench.record_of(message).expect("a record")
    }

    pub(crate) fn ending(&self, message: &MessageBuilder) -> (Status, Option<String>) {
        let record = self.record(message);
        (record.status, record.last_error.map(|error| error.code))
    }

    pub(crate) fn result(&self, message: &MessageBuilder) -> Value {
        self.record(message).result.expect("a result")
    }

    /// What the result says about the files holds, as anybody can check: the bytes, their SHA-256, and a line for each job.
    pub(crate) fn assert_verifies(&self, message: &MessageBuilder) {
        let result = self.result(message);
        for (file, key) in [("csv", CSV), ("html", HTML)] {
            let bytes = self.store.bytes(key).expect("a file");
            let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!((&result[file]["sha256"], &result[file]["bytes"]), (&json!(digest), &json!(bytes.len())), "{file}");
        }
        assert_eq!(result["jobs"], self.csv().lines().count() - 1);
    }

    pub(crate) fn csv(&self) -> String {
        String::from_utf8(self.store.bytes(CSV).expect("a CSV")).unwrap()
    }

    pub(crate) fn html(&self) -> String {
        String::from_utf8(self.store.bytes(HTML).expect("a page")).unwrap()
    }
}

/// Many attempts, so that a test may interrupt a job often.
pub(crate) fn patient() -> ConsumerSettings {
    ConsumerSettings { max_attempts: 90, max_receive_count: 100, ..testing::settings() }
}

pub(crate) fn job(period: &str) -> MessageBuilder {
    let payload = json!({"reportId": "report-1", "accountId": ACCOUNT, "period": period});
    MessageBuilder::job("message-1", "report.generate", "report-1", payload)
}

/// Jobs of January, each ten minutes after the one before.
pub(crate) fn rows(count: usize) -> Vec<JobRow> {
    let start = Period::parse(PERIOD).unwrap().starts_at();
    (0..count).map(|number| row(number, start + Duration::from_secs(600) * u32::try_from(number % 1_900).unwrap())).collect()
}

pub(crate) fn row(number: usize, created_at: EpochMillis) -> JobRow {
    let status = Status::ALL[number % Status::ALL.len()];
    let failed = matches!(status, Status::Dead | Status::InDoubt | Status::RetryScheduled);
    JobRow {
        job_id: format!("email.send-{number:07}"),
        job_type: ["email.send", "billing.charge"][number % 2].to_owned(),
        status: status.as_str().to_owned(),
        attempts: 1,
        created_at,
        ended_at: status.is_final().then(|| created_at + Duration::from_millis(number as u64 * 7)),
        error_class: failed.then(|| "transient".to_owned()),
        error_code: failed.then(|| "provider_error".to_owned()),
        business_id: Some(format!("order-{number}")),
    }
}
