//! Reports, added up again out of the table; and one whose worker is killed on the way.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use ikkai::clock::{Clock, SystemClock};
use ikkai::idempotency::Status;
use ikkai::job::{IdempotencyKey, JobId, JobType};
use ikkai_cli::local::proxy::Rule;
use serde_json::{Value, json};

use crate::harness::{Lab, on_engine, on_stack};

/// A report over the last days.
fn report(lab: &Lab, account: &str) -> (String, Value) {
    let day = |at: ikkai::clock::EpochMillis| at.rfc3339().to_string()[..10].to_owned();
    let (now, a_day) = (SystemClock.now(), Duration::from_secs(86_400));
    let key = lab.key("report");
    let payload = json!({"reportId": key, "accountId": account, "period": format!("{}/{}", day(now - a_day), day(now + a_day))});
    let job = json!({"type": "report.generate", "accountId": account, "payload": payload});
    (key, job)
}

/// The account's jobs but this one, by a scan of the table: status by id.
async fn counted(lab: &Lab, account: &str, but: &JobId) -> BTreeMap<String, String> {
    let client = aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config());
    let pages = client.scan().table_name(lab.stack.jobs_table()).consistent_read(true).into_paginator().items().send();
    let items = pages.collect::<Result<Vec<_>, _>>().await.expect("the table can be scanned");
    let text = |item: &HashMap<String, AttributeValue>, name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    let of_account = items.iter().filter(|item| text(item, "account_id").as_deref() == Some(account));
    let rows = of_account.filter_map(|item| Some((text(item, "job_id")?, text(item, "status")?)));
    rows.filter(|(id, _)| id != but.as_str()).collect()
}

/// The lines of the CSV but this job's: status by id.
async fn listed(lab: &Lab, result: &Value, but: &JobId) -> BTreeMap<String, String> {
    let key = result["csv"]["key"].as_str().expect("a key");
    let csv = lab.bucket("ReportsBucketName").get(key).await.expect("an answer").expect("a CSV");
    let csv = String::from_utf8(csv.bytes.to_vec()).expect("UTF-8");
    let mut lines = csv.lines();
    assert!(lines.next().expect("a header").starts_with("job_id,type,status,"));
    let rows: Vec<(String, String)> = lines
        .map(|line| {
            let columns: Vec<&str> = line.split(',').collect();
            (columns[0].to_owned(), columns[2].to_owned())
        })
        .collect();
    let by_id: BTreeMap<_, _> = rows.iter().filter(|(id, _)| id != but.as_str()).cloned().collect();
    assert!(rows.len() - by_id.len() <= 1, "no job is listed twice");
    by_id
}

#[test]
fn a_report_adds_up_to_what_the_table_holds() {
    on_engine(async |lab| {
        let account = lab.key("account");
        for _ in 0..8 {
            let key = lab.key("of-account");
            let mut job = lab.mail_to("user-13", &key);
            job["accountId"] = account.as_str().into();
            let job_id = lab.post(&key, &job).await;
            lab.succeeded(&job_id).await;
        }
        let (key, job) = report(lab, &account);
        let job_id = lab.post(&key, &job).await;
        let result = lab.succeeded(&job_id).await.result.expect("a result");
        let counted = counted(lab, &account, &job_id).await;
        assert_eq!(counted.len(), 8);
        assert_eq!(listed(lab, &result, &job_id).await, counted);
        assert_eq!(result["byStatus"]["succeeded"], 8, "{result}");
        let page = result["html"]["key"].as_str().expect("a key");
        let page = lab.bucket("ReportsBucketName").get(page).await.expect("an answer").expect("a page");
        let page = String::from_utf8(page.bytes.to_vec()).expect("UTF-8");
        assert!(page.contains("<svg") && !page.contains("<script"), "charts and no scripts");
    });
}

/// How many jobs the long report is about: two pages of the index.
const MANY: usize = 1_200;

/// Records of jobs that ended, straight into the table.
async fn put_jobs(lab: &Lab, account: &str) {
    let client = aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config());
    let job_type = JobType::parse("email.send").expect("a type");
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let number = |value: i64| AttributeValue::N(value.to_string());
    let now = SystemClock.now().as_i64();
    let items: Vec<_> = (0..MANY)
        .map(|index| {
            let key = IdempotencyKey::parse(&format!("{account}:{index}")).expect("a key");
            let job_id = JobId::derive("tests", &job_type, &key);
            let at = number(now - 60_000 + i64::try_from(index).expect("a small number"));
            HashMap::from([
                ("job_id".to_owned(), text(job_id.as_str())),
                ("type".to_owned(), text("email.send")),
                ("schema_version".to_owned(), number(1)),
                ("caller".to_owned(), text("tests")),
                ("account_id".to_owned(), text(account)),
                ("status".to_owned(), text(if index % 5 == 0 { "dead" } else { "succeeded" })),
                ("attempts".to_owned(), number(1)),
                ("created_at".to_owned(), at.clone()),
                ("updated_at".to_owned(), at),
            ])
        })
        .collect();
    for chunk in items.chunks(25) {
        let put = |item: &HashMap<_, _>| PutRequest::builder().set_item(Some(item.clone())).build().expect("an item");
        let requests = chunk.iter().map(|item| WriteRequest::builder().put_request(put(item)).build()).collect();
        client.batch_write_item().request_items(lab.stack.jobs_table(), requests).send().await.expect("the table takes them");
    }
}

#[test]
fn a_report_whose_worker_is_killed_goes_on_where_it_stopped() {
    // So short that two pages do not fit into one run if the first takes its time.
    on_stack("reports", &[("ReportFunctionTimeoutSeconds", "10")], async |lab| {
        let account = lab.key("long");
        put_jobs(lab, &account).await;
        // The first page takes so long that another one would not fit: the run puts its draft down. The second page is never answered.
        let pages = || Rule::on("dynamodb.Query").target(lab.stack.jobs_table()).times(1);
        lab.aws.proxy().add(pages().delay(Duration::from_millis(2_500)));
        let held = lab.aws.proxy().add(pages().hold());
        let (key, job) = report(lab, &account);
        let job_id = lab.post(&key, &job).await;
        held.arrived().await;
        let running = lab.record(&job_id).await.expect("a record");
        assert_eq!(running.status, Status::Running);
        assert!(running.progress.is_some(), "an earlier run kept what it had read");

        let before = lab.aws.proxy().calls();
        assert!(lab.aws.kill_function(lab.output("ReportConsumerFunctionName")) > 0);
        held.release();
        let record = lab.succeeded(&job_id).await;
        assert_eq!(record.crashes, 1);
        let calls = lab.aws.proxy().calls().since(&before);
        let reads = calls.of("dynamodb.Query").filter(|call| call.target.as_deref() == Some(lab.stack.jobs_table())).count();
        assert_eq!(reads, 1, "the first page is not read again");
        let counted = counted(lab, &account, &job_id).await;
        assert_eq!(counted.len(), MANY);
        assert_eq!(listed(lab, &record.result.expect("a result"), &job_id).await, counted, "every job once");
    });
}
