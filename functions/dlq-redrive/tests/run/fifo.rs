//! Queues that keep order.

use std::collections::BTreeMap;
use std::time::Duration;

use dlq_redrive::protocol::VerdictCode;
use ikkai::queue::{OutgoingMessage, Queue, QueueError};
use ikkai::testing::{SqsFault, SqsOperation, StoreCall, StoreFault};
use serde_json::json;

use crate::scene::{Scene, codes, email};
use ikkai::idempotency::Status;

fn message(scene: &Scene, name: &str, group: &str) -> OutgoingMessage {
    let (record, body) = email(name, Status::Dead, scene.now());
    scene.records.put(record);
    OutgoingMessage { group_id: Some(group.into()), deduplication_id: Some(name.into()), ..OutgoingMessage::new(body) }
}

fn bodies_by_group(scene: &Scene, queue: &str) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in scene.messages(queue) {
        groups.entry(message.group_id.unwrap()).or_default().push(message.body);
    }
    groups
}

#[tokio::test(start_paused = true)]
async fn groups_keep_their_order_and_are_not_swallowed_as_duplicates() {
    let scene = Scene::fifo();
    let messages: Vec<_> =
        (0..24).map(|index| message(&scene, &format!("mail-{index:02}"), &format!("group-{}", index % 3))).collect();
    // The same messages went through the queue a moment ago.
    scene.sqs.bury("email.fifo", &messages);
    let before = bodies_by_group(&scene, "email-dlq.fifo");
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(answer.tally.redriven, 24, "{answer:?}");
    assert_eq!(bodies_by_group(&scene, "email.fifo"), before);
    assert_eq!(scene.messages("email-dlq.fifo").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn every_run_gives_a_message_another_deduplication_id_and_one_run_the_same() {
    let scene = Scene::fifo();
    let original = message(&scene, "mail-1", "group");
    scene.sqs.bury("email.fifo", &[original]);
    // Both answers are lost: the message went out, and the run does not know.
    for _ in 0..2 {
        scene.sqs.fail_next("email.fifo", SqsOperation::Send, SqsFault::LoseAnswer);
    }
    let first = scene.redrive(json!({ "runId": "run-1" })).await.unwrap();
    assert_eq!(codes(&first.verdicts), [VerdictCode::SendFailed]);
    assert_eq!(scene.messages("email.fifo").len(), 1, "the repetition was recognised");

    let second = scene.redrive(json!({ "runId": "run-2" })).await.unwrap();
    assert_eq!(codes(&second.verdicts), [VerdictCode::Redriven]);
    let ids: Vec<_> = scene.messages("email.fifo").into_iter().map(|message| message.deduplication_id).collect();
    assert_eq!(ids.len(), 2, "another run is another sending");
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_message_that_could_not_be_sent_waits_and_other_groups_do_not() {
    let scene = Scene::fifo();
    let messages: Vec<_> =
        (0..10).map(|index| message(&scene, &format!("mail-{index}"), if index % 2 == 0 { "even" } else { "odd" })).collect();
    scene.sqs.bury("email.fifo", &messages);
    let refused = QueueError::Refused { operation: "SendMessage", code: "InvalidMessageContents".into() };
    // The third message: the second of the even ones.
    for fault in
        [SqsFault::Delay(std::time::Duration::ZERO), SqsFault::Delay(std::time::Duration::ZERO), SqsFault::Refuse(refused)]
    {
        scene.sqs.fail_next("email.fifo", SqsOperation::Send, fault);
    }
    let answer = scene.redrive(json!({})).await.unwrap();
    let sent = bodies_by_group(&scene, "email.fifo");
    assert_eq!((sent["even"].len(), sent["odd"].len()), (1, 5), "{answer:?}");
    assert_eq!(answer.tally.by_verdict[&VerdictCode::SendFailed], 4);
    let again = scene.redrive(json!({})).await.unwrap();
    assert_eq!(again.tally.redriven, 4);
    let order: Vec<_> = bodies_by_group(&scene, "email.fifo").remove("even").unwrap();
    let wanted: Vec<_> = messages.iter().step_by(2).map(|message| message.body.clone()).collect();
    assert_eq!(order, wanted);
}

#[tokio::test(start_paused = true)]
async fn what_stands_behind_messages_that_were_left_is_told_of() {
    let scene = Scene::fifo();
    let messages: Vec<_> = (0..40).map(|index| message(&scene, &format!("mail-{index:02}"), ["a", "b"][index % 2])).collect();
    scene.sqs.bury("email.fifo", &messages);
    let head = scene.records.all().into_iter().find(|record| record.idempotency_key.as_deref() == Some("mail-00")).unwrap();
    scene.set(&head.job_id, |record| record.status = Status::InDoubt);
    let answer = scene.redrive(json!({})).await.unwrap();
    let sent = bodies_by_group(&scene, "email.fifo");
    let behind = 40 - answer.tally.seen;
    assert!(behind > 0 && sent["b"].len() == 20, "{answer:?}");
    let detail = answer.detail.as_deref().unwrap_or_default();
    assert!(detail.starts_with(&format!("{behind} of the 40 messages in email-dlq.fifo did not come out")), "{detail}");
    assert!(detail.contains("behind messages that were left, in 1 group"), "{detail}");
    // What was left is dealt with, and then nothing hides the others.
    scene.set(&head.job_id, |record| record.status = Status::Succeeded);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((answer.detail, scene.messages("email-dlq.fifo").len()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_of_a_fifo_queue_without_a_message_is_not_made_again() {
    let scene = Scene::fifo();
    let (record, _) = email("mail-1", Status::Dead, scene.now());
    let job = record.job_id.clone();
    scene.records.put(record);
    let answer = scene.redrive(json!({ "filter": { "jobIds": [job.as_str()] } })).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::NotRebuildable]);
    let nothing = scene.sqs.queue("email.fifo").depth().await.unwrap();
    assert_eq!(nothing.total(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_message_that_was_left_in_passing_waits() {
    for call in [StoreCall::Get, StoreCall::Replace] {
        let scene = Scene::fifo();
        let messages: Vec<_> =
            (0..4).map(|index| message(&scene, &format!("mail-{index}"), ["a", "a", "a", "b"][index])).collect();
        scene.sqs.bury("email.fifo", &messages);
        // The first message's record fails twice; the calls of the others are in between.
        let pass = || StoreFault::Delay(Duration::ZERO);
        for fault in [StoreFault::Throttle, pass(), pass(), pass(), StoreFault::Throttle] {
            scene.store.fail_next(call, fault);
        }
        let answer = scene.redrive(json!({})).await.unwrap();
        let sent = bodies_by_group(&scene, "email.fifo");
        assert_eq!((sent.get("a").map(Vec::len), sent["b"].len()), (None, 1), "{call:?}: {answer:?}");
        assert_eq!(answer.tally.by_verdict[&VerdictCode::RecordFailed], 1);
        if call == StoreCall::Get {
            let waiting = scene.records.all().into_iter().filter(|record| record.status == Status::Dead).count();
            assert_eq!(waiting, 3, "what waits is not put back before");
        }
        assert_eq!(scene.redrive(json!({})).await.unwrap().tally.redriven, 3);
        let wanted: Vec<_> = messages[..3].iter().map(|message| message.body.clone()).collect();
        assert_eq!(bodies_by_group(&scene, "email.fifo")["a"], wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_message_that_waits_for_the_canary_waits_too() {
    let scene = Scene::fifo();
    let no_job =
        OutgoingMessage { group_id: Some("a".into()), deduplication_id: Some("none".into()), ..OutgoingMessage::new("no job") };
    let messages = [no_job, message(&scene, "mail-1", "a"), message(&scene, "mail-2", "b")];
    scene.sqs.bury("email.fifo", &messages);
    let answer = scene.redrive(json!({ "canary": 2 })).await.unwrap();
    let sent = bodies_by_group(&scene, "email.fifo");
    assert_eq!((sent.get("a"), sent["b"].len()), (None, 1), "{answer:?}");
}
