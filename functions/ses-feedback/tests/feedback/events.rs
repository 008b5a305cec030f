//! What becomes of each event.

use std::sync::Arc;

use ikkai::clock::{EpochMillis, ManualClock};
use ikkai::observability::Metrics;
use ikkai::observability::logs::{LevelSetting, LogSetup, capture::Captured};
use serde_json::{Value, json};
use ses_feedback::{InvocationError, Reason, SnsEvent, Suppression, Suppressor, process};

use crate::memory::{Fate, MemoryTables};

const BOUNCE: &str = include_str!("../events/bounce.json");
const COMPLAINT: &str = include_str!("../events/complaint.json");
const TRANSIENT: &str = include_str!("../events/transient-bounce.json");
const DELIVERY: &str = include_str!("../events/delivery.json");
const OF_IDENTITY: &str = include_str!("../events/identity-bounce.json");

/// The job that the events are about.
const JOB_ID: &str = "email.send-k5mr2qxw7c3vnhd4tbz6yjfgsa";

const NOW: EpochMillis = EpochMillis::from_i64(1_941_696_904_669);

/// An invocation with these messages, as SNS makes it
/// (<https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html>).
fn invocation(messages: &[&str]) -> SnsEvent {
    let record = |(at, message): (usize, &&str)| {
        json!({
            "EventVersion": "1.0",
            "EventSubscriptionArn": "arn:aws:sns:eu-central-1:123456789012:shop-ses-feedback:21be56ed-a058-49f5-8c98-aedd2564c486",
            "EventSource": "aws:sns",
            "Sns": {
                "SignatureVersion": "1", "Timestamp": "2031-07-14T08:15:05.000Z", "Signature": "…", "SigningCertUrl": "…",
                "MessageId": format!("95df01b4-ee98-5cb9-9903-4c221d41eb5{at}"), "Message": message, "MessageAttributes": {},
                "Type": "Notification", "UnsubscribeUrl": "…", "TopicArn": "arn:aws:sns:eu-central-1:123456789012:shop-ses-feedback",
                "Subject": "Amazon SES Email Event Notification",
            },
        })
    };
    let records: Vec<Value> = messages.iter().enumerate().map(record).collect();
    serde_json::from_value(json!({"Records": records})).unwrap()
}

struct Scene {
    tables: Arc<MemoryTables>,
    suppressor: Suppressor,
    metrics: Metrics,
    logs: Captured,
}

impl Scene {
    fn new() -> Self {
        let tables = Arc::new(MemoryTables::with_jane(JOB_ID));
        let suppressor = Suppressor::new(tables.clone(), Arc::new(ManualClock::new(NOW)));
        let logs = Captured::start(LogSetup::new(LevelSetting::Debug).own_crate("ses_feedback"));
        Self { tables, suppressor, metrics: Metrics::new("Ikkai", "ses-feedback"), logs }
    }

    async fn take(&self, messages: &[&str]) -> Result<(), InvocationError> {
        let taken = process(&self.suppressor, &self.metrics, invocation(messages)).await;
        for line in self.logs.lines() {
            assert!(!line.to_lowercase().contains("jane"), "{line}");
        }
        taken
    }

    /// What was said of each notification: its outcome or its error's code.
    fn said(&self) -> Vec<String> {
        let lines = self.logs.parsed();
        lines.iter().map(|line| line["outcome"].as_str().or(line["error_code"].as_str()).unwrap_or_default().to_owned()).collect()
    }

    fn counted(&self) -> String {
        let mut written = Vec::new();
        self.metrics.flush(NOW, &mut written).unwrap();
        String::from_utf8(written).unwrap()
    }
}

#[tokio::test]
async fn a_permanent_bounce_suppresses_the_contact() {
    let scene = Scene::new();
    scene.take(&[BOUNCE]).await.unwrap();
    let mark = Suppression {
        reason: Reason::Bounce,
        at: NOW,
        report: "01070157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000".to_owned(),
    };
    assert_eq!(scene.tables.held().marks, [("user-1".to_owned(), mark)]);
    let line = scene.logs.only_line();
    assert_eq!((&line["message"], &line["job_id"]), (&json!("contact suppressed"), &json!(JOB_ID)));
    assert_eq!(line["message_id"], "95df01b4-ee98-5cb9-9903-4c221d41eb50");
    assert!(scene.counted().contains(r#""ContactsSuppressed":1"#));
}

#[tokio::test]
async fn a_complaint_suppresses_the_contact() {
    let scene = Scene::new();
    scene.take(&[COMPLAINT]).await.unwrap();
    assert_eq!(scene.tables.held().marks[0].1.reason, Reason::Complaint);
}

#[tokio::test]
async fn what_may_pass_and_what_went_well_suppress_nobody_and_are_counted() {
    let scene = Scene::new();
    scene.take(&[TRANSIENT, DELIVERY]).await.unwrap();
    assert!(!scene.tables.is_suppressed("user-1"));
    assert_eq!(scene.said(), ["transient_bounce", "other_event"]);
    assert!(scene.logs.parsed().iter().all(|line| line["level"] == "DEBUG"), "as many as mails");
    assert!(scene.counted().contains(r#""FeedbackIgnored":2"#));
}

#[tokio::test]
async fn mail_of_other_systems_is_acknowledged_with_one_line() {
    let scene = Scene::new();
    scene.take(&[OF_IDENTITY]).await.unwrap();
    assert_eq!(scene.said(), ["other_mail"]);
    assert_eq!(scene.logs.only_line()["level"], "INFO");
    assert!(!scene.tables.is_suppressed("user-1"));
}

#[tokio::test]
async fn the_same_report_any_number_of_times_marks_once() {
    let scene = Scene::new();
    scene.take(&[BOUNCE, BOUNCE]).await.unwrap();
    scene.take(&[BOUNCE, COMPLAINT]).await.unwrap();
    assert_eq!(scene.said(), ["suppressed", "already_suppressed", "already_suppressed", "already_suppressed"]);
    assert_eq!(scene.tables.held().marks.len(), 1, "the first reason stays");
}

#[tokio::test]
async fn a_mark_that_somebody_took_off_is_not_set_again_by_a_repeated_delivery() {
    let scene = Scene::new();
    scene.take(&[BOUNCE]).await.unwrap();
    scene.tables.held().contacts.get_mut("user-1").unwrap().suppressed = false;
    scene.take(&[BOUNCE]).await.unwrap();
    assert!(!scene.tables.is_suppressed("user-1"));
    scene.take(&[COMPLAINT]).await.unwrap();
    assert!(scene.tables.is_suppressed("user-1"), "another report is another reason");
    assert_eq!(scene.said(), ["suppressed", "repeated", "suppressed"]);
}

#[tokio::test]
async fn an_old_report_does_not_silence_the_address_given_since() {
    let scene = Scene::new();
    scene.tables.put("user-1", "jane@new.example");
    scene.take(&[BOUNCE]).await.unwrap();
    assert!(!scene.tables.is_suppressed("user-1"));
    assert_eq!(scene.said(), ["other_address"]);
}

#[tokio::test]
async fn an_address_in_another_spelling_is_the_same() {
    let scene = Scene::new();
    scene.tables.put("user-1", "Jane@Example.COM");
    scene.take(&[BOUNCE]).await.unwrap();
    assert!(scene.tables.is_suppressed("user-1"));
}

#[tokio::test]
async fn an_address_that_changes_between_reading_and_marking_is_looked_at_again() {
    let scene = Scene::new();
    scene.tables.held().fates.push_back(Fate::AddressChanges("jane@new.example"));
    scene.take(&[BOUNCE]).await.unwrap();
    assert!(!scene.tables.is_suppressed("user-1"));
    assert_eq!(scene.said(), ["other_address"]);

    let scene = Scene::new();
    scene.tables.held().fates.extend([Fate::Respelled, Fate::Respelled]);
    scene.take(&[BOUNCE]).await.unwrap();
    assert!(scene.tables.is_suppressed("user-1"));

    let scene = Scene::new();
    scene.tables.held().fates.extend([Fate::Respelled; 3]);
    assert_eq!(scene.take(&[BOUNCE]).await, Err(InvocationError { failed: 1, all: 1 }));
    assert_eq!(scene.said(), ["contact_restless"]);
}

#[tokio::test]
async fn whoever_is_gone_is_left_alone() {
    let scene = Scene::new();
    scene.tables.held().contacts.clear();
    scene.take(&[BOUNCE]).await.unwrap();
    scene.tables.held().jobs.clear();
    scene.take(&[BOUNCE]).await.unwrap();
    let erased = Scene::new();
    erased.tables.held().contacts.get_mut("user-1").unwrap().address = None;
    erased.take(&[BOUNCE]).await.unwrap();
    assert_eq!(
        (scene.said(), erased.said()),
        (vec!["unknown_contact".into(), "unknown_job".into()], vec!["other_address".into()])
    );
}

#[tokio::test]
async fn a_table_that_is_down_fails_the_invocation_after_all_were_tried() {
    let scene = Scene::new();
    scene.tables.held().fates.push_back(Fate::Lost);
    let failed = scene.take(&[BOUNCE, DELIVERY, COMPLAINT]).await;
    assert_eq!(failed, Err(InvocationError { failed: 1, all: 3 }));
    assert!(scene.tables.is_suppressed("user-1"), "the complaint after it is taken");
    assert_eq!(scene.said(), ["table_unavailable", "other_event", "suppressed"]);

    scene.tables.held().down = true;
    assert!(scene.take(&[BOUNCE]).await.is_err());
    scene.tables.held().down = false;
    scene.take(&[BOUNCE]).await.unwrap();
}

#[tokio::test]
async fn a_mark_whose_answer_was_lost_is_found_set_by_the_next_try() {
    let scene = Scene::new();
    scene.tables.held().fates.push_back(Fate::AnswerLost);
    assert!(scene.take(&[BOUNCE]).await.is_err());
    scene.take(&[BOUNCE]).await.unwrap();
    assert_eq!(scene.said(), ["table_unavailable", "already_suppressed"]);
    assert_eq!(scene.tables.held().marks.len(), 1);
}

#[tokio::test]
async fn what_cannot_be_read_fails_and_stops_nothing_else() {
    let scene = Scene::new();
    let failed = scene.take(&["jane@example.com", r#"{"eventType":"Bounce","bounce":{"bounceType":"Permanent"}}"#, BOUNCE]).await;
    assert_eq!(failed, Err(InvocationError { failed: 2, all: 3 }));
    assert_eq!(scene.said(), ["not_an_event", "event_incomplete", "suppressed"]);
}

#[tokio::test]
async fn connecting_the_topic_is_no_failure() {
    let scene = Scene::new();
    scene.take(&["Successfully validated SNS topic for Amazon SES event publishing."]).await.unwrap();
    assert_eq!(scene.said(), ["topic_connected"]);
}

#[test]
fn an_event_that_is_not_of_sns_is_refused() {
    for event in [json!({}), json!({"Records": [{"s3": {}}]}), json!({"Records": [{"Sns": {"Message": "m"}}]}), json!([])] {
        assert!(serde_json::from_value::<SnsEvent>(event.clone()).is_err(), "{event}");
    }
}
