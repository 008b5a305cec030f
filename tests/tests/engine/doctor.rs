//! What `ikkai doctor` learns from the deployed operators' function.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use ikkai::clock::{Clock as _, SystemClock};
use ikkai::idempotency::{DynamoStore, JobRecord, JobStore as _, Status};
use ikkai::job::{IdempotencyKey, JobId, JobType};
use ikkai_cli::deployment::Deployment;
use ikkai_cli::doctor::gather::{self, Wishes};
use ikkai_cli::doctor::{Finding, Severity, examine};
use ikkai_cli::operator::Site;
use ikkai_cli::progress::Progress;
use serde_json::json;

use crate::operator::{Operator, with_idle_queue};

const HOUR: Duration = Duration::from_secs(3_600);

/// SQS keeps no message for a shorter time.
const SHORTEST_RETENTION: &str = "60";

#[test]
fn the_doctor_finds_a_job_whose_message_is_gone_until_it_is_taken_back() {
    with_idle_queue(async |operator| {
        let lab = operator.lab;
        // Recorded, and never sent: one two hours ago, one just now.
        let (lost, fresh) = (accepted(operator, HOUR * 2).await, accepted(operator, Duration::ZERO).await);
        let not_asked = finding(operator, None, "stuck-jobs", "jobs").await;
        assert_eq!(not_asked.severity, Severity::Unknown, "{not_asked:?}");
        let found = finding(operator, Some(HOUR), "stuck-jobs", "jobs").await;
        assert_eq!(found.severity, Severity::Warning, "{found:?}");
        assert!(found.found.contains(lost.as_str()) && !found.found.contains(fresh.as_str()), "{found:?}");

        operator.done(&json!({"action": "cancel", "jobId": lost.as_str(), "reason": "nobody wants it any more"})).await;
        let mended = finding(operator, Some(HOUR), "stuck-jobs", "jobs").await;
        assert_eq!(mended.severity, Severity::Ok, "{mended:?}");
        assert_eq!(lab.record(&fresh).await.expect("a record").status, Status::Accepted, "looking changes nothing");
    });
}

#[test]
fn the_doctor_warns_of_dead_letters_before_their_retention_removes_them() {
    with_idle_queue(async |operator| {
        let lab = operator.lab;
        let queue = lab.stack.email_dead_letter_queue();
        operator.purge(queue).await;
        let empty = finding(operator, None, "dead-letter-age", "email").await;
        assert_eq!((empty.severity, empty.found.as_str()), (Severity::Ok, "empty"), "{empty:?}");
        let marker = lab.key("expiring");
        operator.send(queue, &json!({"note": marker}).to_string(), &[].into()).await;
        let young = finding(operator, None, "dead-letter-age", "email").await;
        assert_eq!(young.severity, Severity::Ok, "{young:?}");
        assert!(young.found.starts_with("the oldest that was looked at is "), "{young:?}");

        let whole = set_retention(operator, queue, SHORTEST_RETENTION).await;
        let old = lab
            .eventually("a warning", async || {
                let found = finding(operator, None, "dead-letter-age", "email").await;
                (found.severity > Severity::Unknown).then_some(found)
            })
            .await;
        set_retention(operator, queue, &whole).await;
        assert!(old.mend.as_ref().is_some_and(|mend| mend.contains(queue)), "{old:?}");
        operator.take(queue, &marker).await;
    });
}

/// What the doctor says about one thing.
async fn finding(operator: &Operator<'_>, stuck_after: Option<Duration>, rule: &str, subject: &str) -> Finding {
    let lab = operator.lab;
    let site = Site::deployed(lab.aws.sdk_config(), lab.stack.name()).await.expect("the stack is described");
    let deployment = Deployment::of(site).expect("a stack of this kit");
    let wishes = Wishes { stuck_after_seconds: stuck_after.map(|after| after.as_secs()) };
    let facts = gather::facts(&deployment, wishes, &Progress::silent()).await;
    let found = examine(&facts).into_iter().find(|finding| (finding.rule, finding.subject.as_str()) == (rule, subject));
    found.unwrap_or_else(|| panic!("nothing about {rule} of {subject}"))
}

/// The record of a mail that was accepted so long ago, without its message.
async fn accepted(operator: &Operator<'_>, ago: Duration) -> JobId {
    let lab = operator.lab;
    let job_type = JobType::parse("email.send").expect("a type");
    let key = IdempotencyKey::parse(&lab.key("lost")).expect("a key");
    let job_id = JobId::derive("tester", &job_type, &key);
    let then = SystemClock.now() - ago;
    let record = JobRecord::new(job_id.clone(), job_type, 1, "tester", Status::Accepted, then);
    let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config()), lab.stack.jobs_table());
    store.create(&record, then).await.expect("a record");
    job_id
}

/// Sets how long a queue keeps messages, in seconds, and returns what it was before.
async fn set_retention(operator: &Operator<'_>, queue: &str, seconds: &str) -> String {
    let (sqs, url) = (aws_sdk_sqs::Client::new(&operator.lab.aws.sdk_config()), operator.url(queue).await);
    let name = QueueAttributeName::MessageRetentionPeriod;
    let asked = sqs.get_queue_attributes().queue_url(&url).attribute_names(name.clone()).send().await.expect("attributes");
    let before = asked.attributes.expect("attributes")[&name].clone();
    sqs.set_queue_attributes().queue_url(&url).attributes(name, seconds).send().await.expect("the queue takes it");
    before
}
