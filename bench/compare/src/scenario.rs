//! The batches that contenders work on.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Messages in a batch.
pub(crate) const BATCH: usize = 10;
/// Jobs of a batch that fail.
pub(crate) const FAILING: usize = 2;

/// What the messages of a batch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scenario {
    /// Jobs that nobody has seen.
    New,
    /// Messages of jobs that are done.
    Duplicates,
    /// New jobs, of which two of ten fail in a way that may pass.
    Failing,
}

impl Scenario {
    /// All of them; duplicates are those of the batches before.
    pub(crate) const ALL: [Self; 3] = [Self::New, Self::Duplicates, Self::Failing];

    /// What people call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::New => "new jobs",
            Self::Duplicates => "duplicates",
            Self::Failing => "2 of 10 fail",
        }
    }

    /// The event of batch `number`; batches of one series have different jobs, except that duplicates are the new jobs of the same number.
    pub(crate) fn event(self, series: &str, number: usize) -> String {
        let prefix = if self == Self::Failing { "f" } else { "n" };
        let records: Vec<Value> = (0..BATCH)
            .map(|at| {
                let name = format!("{prefix}-{series}-{number:05}-{at}");
                message(&name, if self == Self::Failing && at < FAILING { "fail" } else { "welcome" })
            })
            .collect();
        json!({"Records": records}).to_string()
    }

    /// The messages of such a batch that have to come back.
    pub(crate) const fn failures(self) -> usize {
        match self {
            Self::Failing => FAILING,
            Self::New | Self::Duplicates => 0,
        }
    }
}

/// A message as Lambda hands it over, of the size that messages of SQS have.
fn message(name: &str, template: &str) -> Value {
    let sent = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string();
    let job = json!({
        "type": "email.send", "schemaVersion": 1, "businessId": format!("order-{name}"), "idempotencyKey": format!("email:{name}"),
        "payload": {"deliveryId": format!("mail-{name}"), "templateId": template, "userId": "user-42"},
    });
    json!({
        "messageId": format!("059f36b4-87a3-44ab-{name}"),
        "receiptHandle": format!("AQEB{name}{}", "wJnKyrHigUMZj6rYigCgxlaS3SLy0a".repeat(5)),
        "body": job.to_string(),
        "attributes": {
            "ApproximateReceiveCount": "1", "SentTimestamp": sent, "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": sent,
        },
        "messageAttributes": {},
        "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:email",
        "awsRegion": "us-east-1",
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ikkai::job::{EmailSend, Envelope, JobKind, Parsed};

    use super::*;

    fn records(scenario: Scenario, number: usize) -> Vec<Value> {
        let event: Value = serde_json::from_str(&scenario.event("1", number)).expect("JSON");
        event["Records"].as_array().expect("records").clone()
    }

    fn keys(scenario: Scenario, number: usize) -> BTreeSet<String> {
        let body = |record: &Value| serde_json::from_str::<Value>(record["body"].as_str().expect("a body")).expect("JSON");
        records(scenario, number).iter().map(|record| body(record)["idempotencyKey"].to_string()).collect()
    }

    #[test]
    fn every_message_is_a_job_that_the_kit_takes() {
        for scenario in Scenario::ALL {
            for record in records(scenario, 7) {
                let parsed = Envelope::parse(record["body"].as_str().expect("a body"), &JobKind::of::<EmailSend>());
                assert!(matches!(parsed, Ok(Parsed::Job(_))), "{parsed:?}");
            }
        }
    }

    #[test]
    fn only_duplicates_are_jobs_that_were_seen() {
        assert_eq!(keys(Scenario::New, 1).len(), BATCH);
        assert_eq!(keys(Scenario::Duplicates, 1), keys(Scenario::New, 1));
        for other in [keys(Scenario::New, 2), keys(Scenario::Failing, 1)] {
            assert!(other.is_disjoint(&keys(Scenario::New, 1)));
        }
    }

    #[test]
    fn two_of_ten_fail() {
        let failing = |scenario| records(scenario, 1).iter().filter(|record| record.to_string().contains("fail")).count();
        assert_eq!(Scenario::ALL.map(failing), Scenario::ALL.map(Scenario::failures));
        assert_eq!(Scenario::Failing.failures(), 2);
    }
}
