//! Whatever lies in a dead-letter queue: it goes back as it was.

use std::collections::HashMap;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
use ikkai::idempotency::Status;
use serde_json::{Value, json};

use crate::operator::{Operator, verdicts, with_idle_queue};

/// SQS takes bodies and attributes of this size together.
const MOST_BYTES: usize = 1_048_576;

fn text(value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("String").string_value(value).build().expect("an attribute")
}

/// Ten of them, as many as a message may have; one of each kind.
fn ten_attributes() -> HashMap<String, MessageAttributeValue> {
    let binary = MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([0, 159, 146, 150, 255]));
    let number = MessageAttributeValue::builder().data_type("Number.cents").string_value("-12.50");
    let plain = (0..8).map(|index| (format!("plain-{index}"), text(&format!("Łódź {index}"))));
    plain
        .chain([
            ("binary".to_owned(), binary.build().expect("an attribute")),
            ("number".to_owned(), number.build().expect("an attribute")),
        ])
        .collect()
}

/// Puts everything back that nobody knows the source of, and says what became of the message.
async fn redriven(operator: &Operator<'_>, message_id: &str) -> (Value, Value) {
    let request = json!({"action": "redrive", "queue": "email", "filter": {"sources": ["none"]}, "reason": "sent by hand"});
    let run = operator.run(&request).await;
    let verdicts = run["verdicts"].as_array().expect("verdicts");
    let verdict = verdicts.iter().find(|verdict| verdict["messageId"] == message_id).cloned();
    (verdict.unwrap_or_else(|| panic!("{message_id} has no verdict in {run}")), run)
}

fn system(message: &Message, name: MessageSystemAttributeName) -> Option<&str> {
    message.attributes().and_then(|attributes| attributes.get(&name)).map(String::as_str)
}

#[test]
fn messages_that_somebody_sent_into_a_dead_letter_queue_go_back_byte_by_byte() {
    with_idle_queue(async |operator| {
        let lab = operator.lab;
        let (queue, dead) = (lab.stack.email_queue(), lab.stack.email_dead_letter_queue());
        let marker = lab.key("by-hand");
        let large = format!("{marker}-large {}", "x".repeat(MOST_BYTES - marker.len() - 7));
        assert_eq!(large.len(), MOST_BYTES);
        let cases = [
            ("attributes", format!(r#"{{"about":"{marker}-attributes","text":"Zoë \u0001"}}"#), ten_attributes()),
            ("not-json", format!("{marker}-not-json <xml/> \u{1F600}"), HashMap::new()),
            ("large", large, HashMap::new()),
        ];
        for (name, body, attributes) in cases {
            let message_id = operator.send(dead, &body, &attributes).await;
            let (verdict, run) = redriven(operator, &message_id).await;
            assert_eq!(verdict["verdict"], "redriven", "{name}: {run}");
            let found = operator.take(queue, &format!("{marker}-{name}")).await;
            assert_eq!(found.body(), Some(body.as_str()), "{name}");
            assert_eq!(found.message_attributes().cloned().unwrap_or_default(), attributes, "{name}");
            assert_ne!(found.message_id(), Some(message_id.as_str()), "SQS gives every sending an id of its own");
            assert_eq!(operator.dead_letters_with(&format!("{marker}-{name}")).await, 0, "{name}");
            assert!(!run.to_string().contains(&marker), "no answer shows a body");
        }
        let log = std::fs::read_to_string(lab.aws.log()).expect("a log");
        let shown = log.lines().filter(|line| line.starts_with('{')).find(|line| line.contains(&marker));
        assert_eq!(shown, None, "no log shows a body");
    });
}

#[test]
fn a_message_whose_receives_were_used_up_by_others_is_explained_and_put_back() {
    with_idle_queue(async |operator| {
        let lab = operator.lab;
        let (queue, dead) = (lab.stack.email_queue(), lab.stack.email_dead_letter_queue());
        let job_id = lab.post_mail("used-up", "user-1").await;
        // Received again and again by somebody who does nothing: SQS moves it away.
        lab.eventually("a dead letter", async || {
            if operator.dead_letters_with(job_id.as_str()).await == 0 {
                operator.receive_once(queue).await;
                return None;
            }
            Some(())
        })
        .await;
        let moved = operator.received(dead, job_id.as_str()).await;
        let source = system(&moved, MessageSystemAttributeName::DeadLetterQueueSourceArn).expect("the queue that it came from");
        assert!(source.ends_with(&format!(":{queue}")), "{source}");

        let inspected = operator.done(&json!({"action": "inspect", "jobId": job_id.as_str()})).await;
        assert_eq!(
            (&inspected["record"]["status"], &inspected["verdict"]),
            (&json!("accepted"), &json!("redriven")),
            "{inspected}"
        );
        assert!(inspected["advice"].as_str().is_some_and(|advice| advice.len() > 20), "{inspected}");
        let before = lab.record(&job_id).await.expect("a record");
        let run = operator.run(&operator.redrive(&[&job_id])).await;
        assert_eq!(verdicts(&run, &job_id), ["redriven"], "{run}");
        let back = operator.take(queue, job_id.as_str()).await;
        assert_eq!(back.body(), moved.body());
        assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 0);
        let after = lab.record(&job_id).await.expect("a record");
        assert_eq!((after.status, after.attempts), (Status::Accepted, before.attempts), "nothing was wrong with the job");
    });
}
