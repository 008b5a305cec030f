//! Messages as they stand in a dead-letter queue, read with the records of their jobs.

use std::sync::Arc;
use std::time::Duration;

use dlq_redrive::{DeadLetter, Plan, Rules, StackQueue, plan};
use ikkai::clock::ManualClock;
use ikkai::consumer::MessageContent;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::{JobId, find, payload_digest};
use ikkai::queue::{AttributeData, AttributeValue, OutgoingMessage, QueueName};
use ikkai::testing::{MemorySqs, MemoryStore, MessageBuilder};
use serde_json::{Value, json};

use crate::NOW;

fn stack() -> (MemorySqs, StackQueue) {
    let sqs = MemorySqs::new(Arc::new(ManualClock::new(NOW)));
    let (queue, dead_letters) = sqs.create_pair("email", 1);
    let queue = StackQueue {
        name: "email".into(),
        kind: find("email.send").unwrap(),
        queue_name: QueueName::new("email"),
        dead_letter_queue_name: QueueName::new("email-dlq"),
        queue,
        dead_letters,
    };
    (sqs, queue)
}

async fn letters(queue: &StackQueue, records: &MemoryStore) -> Vec<DeadLetter> {
    let found = queue.dead_letters.receive(10, Duration::from_secs(30), Duration::ZERO).await.unwrap();
    let mut letters = Vec::new();
    for message in found {
        letters.push(DeadLetter::read(message, queue, records).await.unwrap());
    }
    letters
}

fn body_of(name: &str) -> String {
    MessageBuilder::email(name).build().body.unwrap()
}

fn dead(name: &str) -> JobRecord {
    let message: Value = serde_json::from_str(&body_of(name)).unwrap();
    let job_id = JobId::parse_stored(message["jobId"].as_str().unwrap()).unwrap();
    let digest = payload_digest(&message["payload"]);
    let job_type = job_id.job_type();
    JobRecord { payload_digest: Some(digest), ..JobRecord::new(job_id, job_type, 1, "caller", Status::Dead, NOW) }
}

#[tokio::test]
async fn a_letter_has_the_records_of_its_jobs_and_a_copy_of_it_is_the_same_message() {
    let (sqs, queue) = stack();
    let records = MemoryStore::new();
    records.put(dead("a"));
    let message = OutgoingMessage {
        attributes: vec![
            ("b".into(), AttributeValue { data_type: "Binary.png".into(), value: AttributeData::Bytes(vec![0, 255]) }),
            ("n".into(), AttributeValue { data_type: "Number".into(), value: AttributeData::Text("1.50".into()) }),
        ],
        trace_header: Some("Root=1".into()),
        group_id: Some("tenant-1".into()),
        ..OutgoingMessage::new(body_of("a"))
    };
    sqs.bury("email", &[message.clone(), OutgoingMessage::new(body_of("b")), OutgoingMessage::new("no JSON")]);
    let letters = letters(&queue, &records).await;
    assert_eq!(letters[0].message.copy(), message);
    assert_eq!(letters[0].places[0].record, Some(dead("a")));
    assert_eq!(letters[0].job_ids().collect::<Vec<_>>(), [&dead("a").job_id]);
    assert_eq!((letters[1].places.len(), &letters[1].places[0].record), (1, &None));
    assert!(matches!(letters[2].places[0].content, MessageContent::Unreadable { .. }));
    let rules = Rules { max_generations: 10, override_quarantine: false };
    let plans: Vec<_> = letters.iter().map(|letter| plan(letter, rules, NOW)).collect();
    let send = |resets| Plan::Send { resets, rebuilt_from: None };
    assert_eq!(plans, [send(vec![(dead("a").job_id, 0)]), send(Vec::new()), send(Vec::new())]);
}

#[tokio::test]
async fn a_message_that_was_sent_straight_into_the_queue_has_no_source() {
    let (sqs, queue) = stack();
    sqs.bury("email", &[OutgoingMessage::new(body_of("a"))]);
    queue.dead_letters.send(&[OutgoingMessage::new(body_of("b"))]).await.unwrap();
    let sources: Vec<_> = letters(&queue, &MemoryStore::new()).await.into_iter().map(|letter| letter.message.source).collect();
    assert_eq!(sources, [Some(QueueName::new("email")), None]);
}

#[tokio::test]
async fn a_job_of_a_direct_sender_is_found_by_the_queue_it_was_sent_to() {
    let (sqs, queue) = stack();
    let records = MemoryStore::new();
    let payload = json!({"deliveryId": "a", "templateId": "welcome", "userId": "user-42"});
    let body = json!({"type": "email.send", "schemaVersion": 1, "idempotencyKey": "direct-1", "payload": payload});
    let key = ikkai::job::IdempotencyKey::parse("direct-1").unwrap();
    let job_id = JobId::for_direct_sender("email", &dead("a").job_type, &key);
    records.put(JobRecord { job_id: job_id.clone(), ..dead("a") });
    sqs.bury("email", &[OutgoingMessage::new(body.to_string())]);
    let [letter] = &letters(&queue, &records).await[..] else { panic!("one letter") };
    assert_eq!(letter.places[0].record.as_ref().map(|record| &record.job_id), Some(&job_id));
}
