//! What a report says, and how its job ends.

mod scene;

use std::{collections::BTreeMap, time::Duration};

use ikkai::{
    clock::EpochMillis,
    idempotency::Status,
    observability::logs::{LevelSetting, LogSetup, capture::Captured},
    testing::{self, Bench, TokioClock},
};
use report_consumer::{HistoryError, JobRow, MemoryHistory, ObjectKind, ReportHandler, ReportStoreError, StoreCall};
use scene::{ACCOUNT, CSV, HTML, PERIOD, SMALL_PART, Scene, job, row, rows};
use serde_json::json;

const START: EpochMillis = Bench::<ReportHandler, TokioClock>::START;

fn history(rows: Vec<JobRow>) -> MemoryHistory {
    MemoryHistory::new(ACCOUNT, rows, 100)
}

#[tokio::test(start_paused = true)]
async fn a_small_report_is_two_objects_and_nothing_else() {
    let scene = Scene::new(history(rows(70)), 1_000_000);
    let message = job(PERIOD);
    assert!(scene.deliver(&message).await.failed.is_empty());
    assert_eq!(scene.store.calls(), [StoreCall::Put, StoreCall::Put]);
    assert_eq!(scene.store.keys(), [CSV, HTML]);
    assert_eq!(scene.store.kind(CSV), Some(ObjectKind::Csv("report-1.csv".to_owned())));
    assert_eq!(scene.store.kind(HTML), Some(ObjectKind::Html));
    let record = scene.record(&message);
    assert_eq!((record.status, record.parts, record.progress), (Status::Succeeded, 0, None));
    let result = record.result.unwrap();
    assert_eq!((&result["jobs"], &result["period"]), (&json!(70), &json!(PERIOD)));
    assert_eq!((&result["csv"]["key"], &result["html"]["key"]), (&json!(CSV), &json!(HTML)));
    assert_eq!(result["csv"]["bytes"], scene.csv().len());
    assert_eq!(result["byStatus"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 70);
    assert_eq!(result["asOf"], START.rfc3339().to_string());
}

#[tokio::test(start_paused = true)]
async fn every_job_is_one_line_in_the_order_of_acceptance() {
    let all = rows(450);
    let scene = Scene::new(history(all.clone()), SMALL_PART);
    scene.deliver(&job(PERIOD)).await;
    let csv = scene.csv();
    let ids: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(ids, all.iter().map(|row| row.job_id.as_str()).collect::<Vec<_>>());
    assert_eq!(csv.lines().next().unwrap().split(',').count(), 9);
}

#[tokio::test(start_paused = true)]
async fn the_page_has_the_totals_of_the_table_and_nothing_from_elsewhere() {
    let mut all = rows(300);
    all[0].job_type = "<script>alert(1)</script>".to_owned();
    let scene = Scene::new(history(all.clone()), SMALL_PART);
    let message = job(PERIOD);
    scene.deliver(&message).await;
    let (html, result) = (scene.html(), scene.result(&message));
    let mut by_status: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &all {
        *by_status.entry(&row.status).or_default() += 1;
    }
    for (status, count) in by_status {
        assert!(html.contains(&format!("<th scope=\"row\">{status}</th><td>{count}</td>")), "{status}");
        assert_eq!(result["byStatus"][status], count);
    }
    assert!(html.contains("&lt;script&gt;alert(1)") && !html.contains("<script"), "everything is escaped");
    for foreign in ["http://", "https://", "url(", "@import", " onload", " style=", "<link", "<img", "<iframe"] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    assert!(html.contains("default-src 'none'") && html.contains("name=\"viewport\""));
    assert!(html.contains(result["csv"]["sha256"].as_str().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_period_without_jobs_and_one_that_lies_ahead_have_empty_reports() {
    for period in ["2026-12", "2027-02", "2030-01-01/2030-12-31"] {
        let scene = Scene::new(history(rows(50)), SMALL_PART);
        let message = job(period);
        scene.deliver(&message).await;
        assert_eq!((scene.csv().lines().count(), &scene.result(&message)["jobs"]), (1, &json!(0)), "{period}");
        assert!(scene.html().contains("No job was accepted in this period."));
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_of_other_days_and_those_accepted_after_the_request_are_left_out() {
    let around = [
        (1, "2027-01-01T00:00:00.000Z", true, -1_238_401_000_i64),
        (2, "the millisecond before the period", false, -1_238_401_001),
        (3, "the moment of the request", true, 0),
        (4, "the millisecond after it", false, 1),
    ];
    let found = around.map(|(number, _, _, offset)| row(number, EpochMillis::from_i64(START.as_i64() + offset)));
    let scene = Scene::new(history(found.to_vec()), SMALL_PART);
    scene.deliver(&job(PERIOD)).await;
    for (number, name, is_in, _) in around {
        assert_eq!(scene.csv().contains(&format!("email.send-{number:07}")), is_in, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_accounts_jobs_are_in_no_report() {
    let scene = Scene::new(MemoryHistory::new("account-8", rows(50), 100), SMALL_PART);
    let message = job(PERIOD);
    scene.deliver(&message).await;
    assert_eq!(scene.result(&message)["jobs"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_jobs_are_written_in_parts_of_five_megabytes() {
    const PART: usize = 5 * 1024 * 1024;
    let scene = Scene::new(MemoryHistory::new(ACCOUNT, rows(100_000), 1_000), PART);
    let message = job(PERIOD);
    assert!(scene.deliver(&message).await.failed.is_empty());
    let csv = scene.csv();
    assert_eq!((csv.lines().count(), &scene.result(&message)["jobs"]), (100_001, &json!(100_000)));
    scene.assert_verifies(&message);
    let parts = scene.store.calls().iter().filter(|call| **call == StoreCall::Part).count();
    assert_eq!(parts, csv.len().div_ceil(PART + PART / 50), "{} bytes", csv.len());
    let page_bytes = csv.lines().take(1_001).map(|line| line.len() + 2).sum::<usize>() + 10_000;
    assert!(scene.store.most_bytes() < PART + page_bytes, "{} bytes at once", scene.store.most_bytes());
    assert_eq!((scene.store.keys().len(), scene.store.open_uploads()), (2, 0), "no draft is left");
}

#[tokio::test(start_paused = true)]
async fn a_report_that_is_asked_for_twice_is_made_once() {
    let scene = Scene::new(history(rows(50)), SMALL_PART);
    let message = job(PERIOD);
    scene.deliver(&message).await;
    let calls = scene.store.calls().len();
    assert!(scene.deliver(&message.clone().message_id("again")).await.failed.is_empty());
    assert_eq!(scene.store.calls().len(), calls);
}

#[tokio::test(start_paused = true)]
async fn a_table_that_throttles_defers_the_job_with_what_was_read_kept() {
    let scene = Scene::new(history(rows(900)).taking(Duration::from_millis(100)), 1_000_000);
    let message = job(PERIOD);
    for pages in 0..3 {
        assert_eq!(scene.history.pages(), pages);
        // One page passes, the next one does not.
        scene.history.fail_next_but(1, HistoryError::Throttled);
        scene.deliver(&message).await;
        let (status, code) = scene.ending(&message);
        assert_eq!(
            (status, code.as_deref(), scene.record(&message).attempts),
            (Status::RetryScheduled, Some("history_throttled"), 0)
        );
        tokio::time::sleep(Duration::from_secs(100)).await;
    }
    scene.until_ended(&message).await;
    assert_eq!(scene.history.pages(), 10, "no page was read twice: nine full ones and an empty one");
    assert_eq!(scene.result(&message)["jobs"], 900);
}

#[tokio::test(start_paused = true)]
async fn a_stack_that_is_set_up_wrong_is_left_alone_for_a_quarter_of_an_hour_told_about_and_kills_no_report() {
    let code = || "AccessDenied".to_owned();
    let of_table = HistoryError::Refused { code: code() };
    let of_bucket = ReportStoreError::Refused { operation: "PutObject", code: code() };
    for (unread, unwritten, code) in [(Some(of_table), None, "history_refused"), (None, Some(of_bucket), "reports_refused")] {
        let logs = Captured::start(LogSetup::new(LevelSetting::Info).own_crate("report_consumer"));
        let (scene, message) = (few_attempts(), job(PERIOD));
        for told in 1..=5 {
            unread.iter().for_each(|error| scene.history.fail_next_but(0, error.clone()));
            unwritten.iter().for_each(|error| scene.store.fail_with(0, error.clone()));
            assert_eq!(scene.deliver(&message).await.failed, ["message-1"]);
            assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some(code.to_owned())));
            assert_eq!(scene.record(&message).attempts, 0, "{code}");
            assert_eq!(scene.bench.queue.last_visibility(&message.receipt_handle()), Some(Duration::from_secs(900)));
            let is_told = |line: &String| line.contains("\"ERROR\"") && line.contains(&format!("\"error_code\":\"{code}\""));
            assert_eq!(logs.lines().iter().filter(|line| is_told(line)).count(), told, "{:?}", logs.lines());
            tokio::time::sleep(Duration::from_secs(900)).await;
        }
        assert_eq!(scene.until_ended(&message).await, 1);
        assert_eq!((scene.record(&message).attempts, &scene.result(&message)["jobs"]), (1, &json!(50)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_table_or_the_bucket_uses_no_attempt_however_long() {
    let of_table = HistoryError::Outage { code: "no connection".to_owned() };
    let of_bucket = ReportStoreError::Outage { operation: "PutObject", code: "no connection".to_owned() };
    for (unread, unwritten, code) in [(Some(of_table), None, "history_outage"), (None, Some(of_bucket), "reports_outage")] {
        let (scene, message) = (few_attempts(), job(PERIOD));
        for _ in 0..5 {
            unread.iter().for_each(|error| scene.history.fail_next_but(0, error.clone()));
            unwritten.iter().for_each(|error| scene.store.fail_with(0, error.clone()));
            scene.deliver(&message).await;
            assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some(code.to_owned())));
            assert_eq!(scene.record(&message).attempts, 0, "{code}");
            tokio::time::sleep(Duration::from_secs(100)).await;
        }
        assert_eq!(scene.until_ended(&message).await, 1);
        assert_eq!((scene.record(&message).attempts, &scene.result(&message)["jobs"]), (1, &json!(50)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_used_is_a_failed_attempt() {
    let scene = Scene::new(history(rows(50)), 1_000_000);
    scene.store.fail_at(0);
    scene.deliver(&job(PERIOD)).await;
    assert_eq!(scene.ending(&job(PERIOD)), (Status::RetryScheduled, Some("reports_unavailable".to_owned())));
    assert_eq!(scene.record(&job(PERIOD)).attempts, 1);
    scene.until_ended(&job(PERIOD)).await;
    assert_eq!(scene.result(&job(PERIOD))["jobs"], 50);
}

/// A report of one part, and fewer attempts than the tests make.
fn few_attempts() -> Scene {
    Scene::with_settings(history(rows(50)), 1_000_000, testing::settings())
}
