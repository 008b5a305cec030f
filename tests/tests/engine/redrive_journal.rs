//! The journal in DynamoDB passes the conformance suite of journals on the engine's DynamoDB, and the scan finds a job that hangs.

use std::sync::Arc;
use std::time::Duration;

use dlq_redrive::journal::{DynamoDbJournal, conformance};
use dlq_redrive::stuck::{DynamoDbStuckJobs, StuckJobs as _};
use ikkai::clock::{Clock as _, SystemClock};
use ikkai::idempotency::{DynamoStore, JobRecord, JobStore as _, Status};
use ikkai::job::{IdempotencyKey, JobId, JobType};

use crate::harness::on_engine;

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn the_dynamodb_journal_conforms() {
    on_engine(async |lab| {
        let client = aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config());
        let journal = DynamoDbJournal::new(client, lab.output("RedriveTableName"), DAY, Arc::new(SystemClock));
        conformance::suite(Arc::new(journal), &lab.key("journal")).await;
    });
}

#[test]
fn a_job_whose_message_is_gone_is_found_by_the_scan() {
    on_engine(async |lab| {
        let client = aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config());
        let (job_type, now) = (JobType::parse("email.send").unwrap(), SystemClock.now());
        let store = DynamoStore::new(client.clone(), lab.stack.jobs_table());
        let job = async |name: &str, status, written_at| {
            let job_id = JobId::derive("tester", &job_type, &IdempotencyKey::parse(&lab.key(name)).unwrap());
            let record = JobRecord::new(job_id.clone(), job_type.clone(), 1, "tester", status, written_at);
            store.create(&record, now).await.expect("a record");
            job_id.to_string()
        };
        let lost = job("lost", Status::Accepted, now - DAY).await;
        let young = job("young", Status::Accepted, now).await;
        let dead = job("dead", Status::Dead, now - DAY).await;
        let scan = DynamoDbStuckJobs::new(client, lab.stack.jobs_table());
        let found = scan.stuck(&["email.send"], now - DAY / 2, 100).await.expect("the table answers");
        let found: Vec<_> = found.into_iter().map(|job| job.job_id).collect();
        assert!(found.contains(&lost) && !found.contains(&young) && !found.contains(&dead), "{found:?}");
        assert!(scan.stuck(&["image.resize"], now, 100).await.expect("the table answers").iter().all(|job| job.job_id != lost));
    });
}
