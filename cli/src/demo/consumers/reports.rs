//! A report, compared with the table that it is about.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ikkai::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::super::findings::Missed;
use super::super::scene::{Scene, SceneOutcome, works};
use super::super::stage::{Stage, welcome};
use super::table::{Row, records};

const ACCOUNT: &str = "account-demo";

/// How many mails the account sends.
const MAILS: usize = 12;

const DAY: Duration = Duration::from_secs(86_400);

/// The account's jobs, reported and counted in the table.
pub(super) async fn over_an_account(stage: &Stage<'_>) -> SceneOutcome {
    let scene = Scene::new(stage, &stage.stacks.main, "report");
    scene
        .play(async |scene, notes| {
            let mut mails = Vec::new();
            for number in 0..MAILS {
                let key = format!("of-account-{number}");
                let mut job = welcome("user-13", &key);
                job["accountId"] = ACCOUNT.into();
                mails.push(scene.post(&key, &job).await?);
            }
            for job_id in &mails {
                scene.succeeded(job_id).await?;
            }
            let period = period_around_today();
            let payload = json!({"reportId": "demo", "accountId": ACCOUNT, "period": period});
            let job = json!({"type": "report.generate", "accountId": ACCOUNT, "payload": payload});
            let job_id = scene.post("report", &job).await?;
            let record = scene.succeeded(&job_id).await?;
            let result = record.result.unwrap_or_default();

            // Of the jobs that were there when it was asked for, itself among them: it was running while it read.
            let asked_at = record.created_at.as_i64();
            let mut rows = records(scene, "").await?;
            rows.retain(|row| row.account_id.as_deref() == Some(ACCOUNT) && row.created_at <= asked_at);
            rows.iter_mut().filter(|row| row.job_id == job_id).for_each(|row| "running".clone_into(&mut row.status));
            let counted: Vec<&Row> = rows.iter().collect();
            notes.findings.equal("jobs in the report", result["jobs"].as_u64(), Some(counted.len() as u64));
            notes.findings.equal("by status", by_status(&result), statuses(&counted));

            let bucket = scene.bucket("ReportsBucketName")?;
            let csv = object(&bucket, &result["csv"]).await?;
            let listed: BTreeSet<(&str, &str)> = csv.lines().skip(1).filter_map(columns).collect();
            let wanted = counted.iter().map(|row| (row.job_id.as_str(), row.status.as_str())).collect();
            notes.findings.check(
                "the CSV lists the jobs of the table",
                format!("{} lines", listed.len()),
                listed == wanted && csv.lines().count() == counted.len() + 1,
            );
            let html = object(&bucket, &result["html"]).await?;
            notes.findings.check("the page has charts and no scripts", format!("{} bytes", html.len()), has_charts_only(&html));
            notes.figure("jobs", counted.len());
            notes.figure("csvBytes", csv.len());
            notes.figure("htmlBytes", html.len());
            Ok(format!("{} jobs in report, CSV and table alike", counted.len()))
        })
        .await
}

fn statuses(rows: &[&Row]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(row.status.clone()).or_default() += 1);
    counts
}

/// Statuses that nobody has may be left out or be zero.
fn by_status(result: &Value) -> BTreeMap<String, u64> {
    let counts = result["byStatus"].as_object().into_iter().flatten();
    counts.filter_map(|(status, count)| Some((status.clone(), count.as_u64()?))).filter(|(_, count)| *count > 0).collect()
}

/// Job id and status of a line. Neither holds a comma.
fn columns(line: &str) -> Option<(&str, &str)> {
    let mut columns = line.split(',');
    Some((columns.next()?, columns.nth(1)?))
}

fn has_charts_only(html: &str) -> bool {
    let html = html.to_ascii_lowercase();
    html.contains("<svg") && !html.contains("<script") && !html.contains("src=\"http")
}

async fn object(bucket: &crate::local::objects::Bucket, file: &Value) -> Result<String, Missed> {
    let key = file["key"].as_str().unwrap_or_default();
    let what = format!("there is an object `{key}`");
    let object = works(&what, bucket.get(key).await)?.ok_or_else(|| Missed { what: what.clone(), found: "none".into() })?;
    works(&what, String::from_utf8(object.bytes.to_vec()))
}

/// From yesterday to tomorrow: midnight must not take jobs away.
fn period_around_today() -> String {
    let day = |at: ikkai::clock::EpochMillis| at.rfc3339().to_string().chars().take(10).collect::<String>();
    let now = SystemClock.now();
    format!("{}/{}", day(now - DAY), day(now + DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_csv_tells_job_and_status() {
        assert_eq!(
            columns("email.send-1,email.send,succeeded,1,2031-01-01T00:00:00.000Z,,,,x"),
            Some(("email.send-1", "succeeded"))
        );
        assert_eq!(columns("email.send-1"), None);
    }

    #[test]
    fn statuses_without_jobs_do_not_count() {
        let result = json!({"byStatus": {"succeeded": 2, "dead": 0}});
        assert_eq!(by_status(&result), BTreeMap::from([("succeeded".to_owned(), 2)]));
    }

    #[test]
    fn a_page_that_would_run_something_is_not_charts_only() {
        assert!(has_charts_only("<html><svg></svg></html>"));
        assert!(!has_charts_only("<svg></svg><SCRIPT>"));
        assert!(!has_charts_only("<html></html>"));
    }

    #[test]
    fn the_period_is_three_days() {
        let period = period_around_today();
        assert_eq!((period.len(), period.as_bytes()[10]), (21, b'/'), "{period}");
    }
}
