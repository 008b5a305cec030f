//! Messages that are removed for good: archived first.

use std::time::Duration;

use dlq_redrive::archive::{ArchiveError, ArchiveFault};
use dlq_redrive::protocol::{RefusalCode, RunState, VerdictCode};
use ikkai::idempotency::{ErrorClass, JobRecord, LastError, Status};
use ikkai::job::{JobId, payload_digest};
use ikkai::queue::{AttributeData, AttributeValue, Inbox, OutgoingMessage, QueueError};
use ikkai::testing::{SqsFault, SqsOperation, StoreCall, StoreFault};
use serde_json::json;

use crate::scene::{Scene, check_sums, codes, email, envelope};

#[tokio::test(start_paused = true)]
async fn messages_are_archived_their_jobs_cancelled_and_only_then_deleted() {
    let scene = Scene::new();
    let jobs = scene.many_dead(12);
    scene.set(&jobs[0], |record| record.data = Some(json!({ "private": "of the caller" })));
    let answer = scene.discard(json!({ "runId": "run-1" })).await.unwrap();

    assert_eq!((answer.run.state, answer.run.tally.by_verdict[&VerdictCode::Discarded]), (RunState::Finished, 12));
    check_sums(&answer.run);
    assert!(answer.archive.starts_with("s3://"));
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (0, 0));
    assert!(jobs.iter().all(|job| scene.record(job).status == Status::Cancelled));
    let documents = scene.archive.documents();
    assert_eq!(documents.len(), 12);
    let (key, document) = documents.iter().next().unwrap();
    assert!(key.starts_with("email-dlq/2027-01-15/run-1/") && key.ends_with(".json"), "{key}");
    assert_eq!(document["message"]["body"], envelope("mail-00000").to_body());
    assert_eq!((&document["records"][0]["jobId"], &document["records"][0]["status"]), (&json!(jobs[0].as_str()), &json!("dead")));
    assert!(!document.to_string().contains("of the caller"));
}

#[tokio::test(start_paused = true)]
async fn the_archive_keeps_everything_that_a_copy_needs() {
    let scene = Scene::new();
    let value = AttributeValue { data_type: "Binary.zip".into(), value: AttributeData::Bytes(vec![0, 1, 254]) };
    let text = AttributeValue { data_type: "String".into(), value: AttributeData::Text("blue".into()) };
    let message = OutgoingMessage {
        attributes: vec![("packed".into(), value), ("tint".into(), text)],
        trace_header: Some("Root=1-2".into()),
        group_id: Some("tenant".into()),
        ..OutgoingMessage::new("no job \u{e9}")
    };
    scene.sqs.bury("email", &[message]);
    let answer = scene.discard(json!({})).await.unwrap();
    assert_eq!(codes(&answer.run.verdicts), [VerdictCode::Discarded]);
    let document = scene.archive.documents().into_values().next().unwrap();
    let message = &document["message"];
    assert_eq!(message["body"], "no job \u{e9}");
    assert_eq!(message["attributes"]["packed"], json!({ "type": "Binary.zip", "base64": "AAH+" }));
    assert_eq!(message["attributes"]["tint"], json!({ "type": "String", "text": "blue" }));
    assert_eq!(
        (&message["traceHeader"], &message["groupId"], &message["source"]),
        (&json!("Root=1-2"), &json!("tenant"), &json!("email"))
    );
}

#[tokio::test(start_paused = true)]
async fn what_somebody_works_on_or_nobody_knows_is_left() {
    let scene = Scene::new();
    scene.buried("running", |record| {
        (record.status, record.lease_until) = (Status::Running, Some(crate::scene::START + Duration::from_secs(60)));
    });
    scene.buried("doubt", |record| record.status = Status::InDoubt);
    scene.buried("dead-in-doubt", |record| {
        record.last_error = Some(LastError::new(ErrorClass::Ambiguous, "timeout", "who knows"));
    });
    scene.buried("accepted", |record| {
        record.status = Status::Accepted;
        record.updated_at = record.updated_at - Duration::from_secs(3_600);
    });
    scene.buried("done", |record| record.status = Status::Succeeded);
    let answer = scene.discard(json!({})).await.unwrap();
    let mut seen = codes(&answer.run.verdicts);
    seen.sort_unstable();
    assert_eq!(
        seen,
        [VerdictCode::Discarded, VerdictCode::Discarded, VerdictCode::Running, VerdictCode::InDoubt, VerdictCode::InDoubt]
    );
    assert_eq!((scene.messages("email-dlq").len(), scene.archive.documents().len()), (3, 2));
}

/// Its worker died, and nobody has taken it over since.
fn abandoned(record: &mut JobRecord) {
    record.status = Status::Running;
    record.died_at = None;
    record.lease_token = Some("worker".into());
    record.lease_until = Some(crate::scene::START);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_can_be_discarded_with_its_message_and_without() {
    let scene = Scene::new();
    let with_message = scene.buried("mail-1", abandoned);
    let jobs = [with_message, discarded_by_name(&scene, "email-dlq").await];
    let answer = scene.discard(json!({})).await.unwrap();
    assert_eq!(codes(&answer.run.verdicts), [VerdictCode::Discarded], "{answer:?}");
    for job in jobs {
        let ended = scene.record(&job);
        assert_eq!((ended.status, ended.last_error), (Status::Cancelled, Some(LastError::abandoned())));
    }
    assert!(scene.sqs.all_messages().is_empty());
    assert_eq!(scene.archive.documents().len(), 2);
    // There nobody could make it a message: its group is not known any more.
    discarded_by_name(&Scene::fifo(), "email-dlq.fifo").await;
}

/// A job without a message, discarded by its id: not before its message must be gone.
async fn discarded_by_name(scene: &Scene, queue: &str) -> JobId {
    let (mut record, _) = email("mail-2", Status::Dead, scene.now());
    abandoned(&mut record);
    let job = record.job_id.clone();
    scene.records.put(record);
    let request = json!({ "deadLetterQueue": queue, "filter": { "jobIds": [job.as_str()] } });
    tokio::time::sleep(Duration::from_secs(200)).await;
    let early = scene.discard(request.clone()).await.unwrap();
    assert_eq!(codes(&early.run.verdicts), [VerdictCode::Changed], "its message may come out once more");
    tokio::time::sleep(Duration::from_secs(1_200)).await;
    let answer = scene.discard(request).await.unwrap();
    assert_eq!((codes(&answer.run.verdicts), scene.record(&job).status), (vec![VerdictCode::Discarded], Status::Cancelled));
    job
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_and_may_have_had_its_effect_is_in_doubt_and_stays() {
    let scene = Scene::new();
    let job = scene.buried("mail-1", |record| {
        abandoned(record);
        record.effect_begun = true;
    });
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(codes(&scene.discard(json!({})).await.unwrap().run.verdicts), [VerdictCode::InDoubt]);
    assert_eq!((scene.record(&job).status, scene.messages("email-dlq").len()), (Status::InDoubt, 1));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_archived_is_not_removed() {
    let scene = Scene::new();
    let job = scene.dead("mail-1");
    for _ in 0..2 {
        scene.archive.fail_next(ArchiveFault::Refuse(ArchiveError { code: "AccessDenied".into() }));
    }
    let answer = scene.discard(json!({})).await.unwrap();
    assert_eq!(codes(&answer.run.verdicts), [VerdictCode::NotArchived]);
    assert_eq!((scene.messages("email-dlq").len(), scene.record(&job).status), (1, Status::Dead));
    // An answer that was lost is no loss.
    scene.archive.fail_next(ArchiveFault::LoseAnswer);
    assert_eq!(codes(&scene.discard(json!({})).await.unwrap().run.verdicts), [VerdictCode::Discarded]);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_job_could_not_be_cancelled_stays() {
    let scene = Scene::new();
    scene.dead("mail-1");
    for _ in 0..2 {
        scene.store.fail_next(StoreCall::Replace, StoreFault::Throttle);
    }
    let answer = scene.discard(json!({})).await.unwrap();
    assert_eq!((codes(&answer.run.verdicts), scene.messages("email-dlq").len()), (vec![VerdictCode::RecordFailed], 1));
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_fails_is_told_and_the_next_run_removes_the_message() {
    let scene = Scene::new();
    scene.dead("mail-1");
    let refused = QueueError::Refused { operation: "DeleteMessageBatch", code: "AccessDenied".into() };
    scene.sqs.fail_next("email-dlq", SqsOperation::Delete, SqsFault::Refuse(refused));
    assert_eq!(codes(&scene.discard(json!({})).await.unwrap().run.verdicts), [VerdictCode::NotDeleted]);
    assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::AlreadyDone]);
    assert!(scene.sqs.all_messages().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_job_of_another_payload_lives_on() {
    let scene = Scene::new();
    let job = scene.buried("mail-1", |record| {
        record.status = Status::Accepted;
        record.payload_digest = Some(payload_digest(&json!({ "other": 1 })));
    });
    assert_eq!(codes(&scene.discard(json!({})).await.unwrap().run.verdicts), [VerdictCode::Discarded]);
    assert_eq!((scene.record(&job).status, scene.messages("email-dlq").len()), (Status::Accepted, 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_of_another_payload_that_runs_does_not_keep_the_message() {
    let scene = Scene::new();
    let job = scene.buried("mail-1", |record| {
        record.status = Status::Running;
        record.payload_digest = Some(payload_digest(&json!({ "other": 1 })));
    });
    assert_eq!(codes(&scene.discard(json!({})).await.unwrap().run.verdicts), [VerdictCode::Discarded]);
    assert_eq!((scene.record(&job).status, scene.messages("email-dlq").len()), (Status::Running, 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_is_taken_back_with_a_message_of_any_payload_that_it_had() {
    let scene = Scene::new();
    let job = scene.buried("mail-1", |record| {
        record.patched_payload_digests =
            record.payload_digest.replace(payload_digest(&json!({ "patch": 2 }))).into_iter().collect();
        record.original_payload_digest = Some(payload_digest(&json!({ "patch": 0 })));
    });
    assert_eq!(codes(&scene.discard(json!({})).await.unwrap().run.verdicts), [VerdictCode::Discarded]);
    assert_eq!(scene.record(&job).status, Status::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_just_put_back_is_not_taken_back_with_its_leftover() {
    let mut scene = Scene::new();
    scene.workbench.limits.sweep.hidden_for = Duration::from_secs(60);
    let job = scene.dead("mail-1");
    let refused = QueueError::Refused { operation: "DeleteMessageBatch", code: "AccessDenied".into() };
    scene.sqs.fail_next("email-dlq", SqsOperation::Delete, SqsFault::Refuse(refused));
    assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::SentNotDeleted]);
    scene.sqs.heal();
    tokio::time::sleep(Duration::from_secs(200)).await;
    let answer = scene.discard(json!({})).await.unwrap();
    assert_eq!(codes(&answer.run.verdicts), [VerdictCode::Changed], "{answer:?}");
    assert!(answer.run.verdicts[0].detail.as_deref().is_some_and(|detail| detail.contains("on its way")));
    assert_eq!((scene.record(&job).status, scene.messages("email-dlq").len()), (Status::Accepted, 1));
    assert!(scene.archive.documents().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_put_back_long_ago_and_waits_is_not_taken_back_with_its_leftover() {
    for status in [Status::Dead, Status::RetryScheduled] {
        let mut scene = Scene::new();
        scene.workbench.limits.sweep.hidden_for = Duration::from_secs(60);
        let job = scene.buried("mail-1", |record| record.status = status);
        tokio::time::sleep(Duration::from_secs(600)).await;
        let refused = QueueError::Refused { operation: "DeleteMessageBatch", code: "AccessDenied".into() };
        scene.sqs.fail_next("email-dlq", SqsOperation::Delete, SqsFault::Refuse(refused));
        assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::SentNotDeleted]);
        // The copy fails for a while, and waits for hours.
        scene.set(&job, |record| (record.status, record.attempts) = (Status::RetryScheduled, 1));
        tokio::time::sleep(Duration::from_secs(7_200)).await;
        let answer = scene.discard(json!({})).await.unwrap();
        assert_eq!(codes(&answer.run.verdicts), [VerdictCode::Changed], "{status}: {answer:?}");
        assert!(answer.run.verdicts[0].detail.as_deref().is_some_and(|detail| detail.contains("put back since")), "{answer:?}");
        assert_eq!((scene.record(&job).status, scene.archive.documents().len()), (Status::RetryScheduled, 0));
        // Once the copy has gone through, the leftover is only a message.
        scene.set(&job, |record| record.status = Status::Succeeded);
        assert_eq!(codes(&scene.discard(json!({})).await.unwrap().run.verdicts), [VerdictCode::Discarded]);
        assert_eq!((scene.record(&job).status, scene.messages("email-dlq").len()), (Status::Succeeded, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn the_message_of_the_put_back_itself_takes_its_job_back() {
    let scene = Scene::new();
    let job = scene.dead("mail-1");
    assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::Redriven]);
    // Its receives are used up by throttling: SQS moves it, with the time when it was sent. The operator's clock was a little ahead.
    let copy = scene.messages("email").remove(0);
    let received = scene.sqs.queue("email").receive(1, Duration::ZERO, Duration::ZERO).await.unwrap().remove(0);
    scene.sqs.queue("email").delete(&[received.receipt_handle]).await.unwrap();
    scene.sqs.bury("email", &[OutgoingMessage::new(copy.body)]);
    scene.set(&job, |record| record.put_back_at = Some(record.put_back_at.unwrap() + Duration::from_secs(3)));
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let answer = scene.discard(json!({})).await.unwrap();
    assert_eq!((codes(&answer.run.verdicts), scene.record(&job).status), (vec![VerdictCode::Discarded], Status::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn only_the_full_name_of_a_dead_letter_queue_is_taken() {
    let scene = Scene::new();
    scene.dead("mail-1");
    for name in ["email", "all", "email-dl", ""] {
        let refusal = scene.discard(json!({ "deadLetterQueue": name })).await.expect_err("not a full name");
        assert_eq!(refusal.code, RefusalCode::UnknownQueue, "{name}");
    }
    assert_eq!(scene.messages("email-dlq").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_removes_nothing() {
    let scene = Scene::new();
    scene.many_dead(3);
    let answer = scene.discard(json!({ "dryRun": true })).await.unwrap();
    assert_eq!(codes(&answer.run.verdicts), [VerdictCode::Discarded; 3]);
    assert_eq!((scene.messages("email-dlq").len(), scene.archive.documents().len(), scene.store.writes()), (3, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn no_more_than_max_are_removed_and_only_what_is_meant() {
    let scene = Scene::new();
    scene.many_dead(30);
    assert_eq!(scene.discard(json!({ "max": 7 })).await.unwrap().run.tally.by_verdict[&VerdictCode::Discarded], 7);
    let none = scene.discard(json!({ "filter": { "codes": ["something_else"] } })).await.unwrap();
    assert_eq!((none.run.tally.matched, scene.messages("email-dlq").len()), (0, 23));
}

#[tokio::test(start_paused = true)]
async fn a_named_job_without_a_message_is_archived_and_cancelled() {
    let scene = Scene::new();
    let (record, _) = email("mail-1", Status::Dead, scene.now());
    let job = record.job_id.clone();
    scene.records.put(record);
    let answer = scene.discard(json!({ "filter": { "jobIds": [job.as_str()] } })).await.unwrap();
    assert_eq!(codes(&answer.run.verdicts), [VerdictCode::Discarded]);
    assert_eq!(scene.record(&job).status, Status::Cancelled);
    let (key, document) = scene.archive.documents().into_iter().next().unwrap();
    assert!(key.contains(job.as_str()), "{key}");
    assert_eq!(document["message"], json!(null));
}

#[tokio::test(start_paused = true)]
async fn near_its_deadline_a_part_puts_nothing_more_away() {
    let scene = Scene::new();
    scene.many_dead(5);
    scene.store.fail_next(StoreCall::Replace, StoreFault::Delay(Duration::from_secs(890)));
    let answer = scene.discard(json!({})).await.unwrap();
    assert_eq!((answer.run.state, codes(&answer.run.verdicts)), (RunState::Continues, vec![VerdictCode::Discarded]));
    assert_eq!((scene.messages("email-dlq").len(), scene.archive.documents().len()), (4, 1));
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now), "the next part finds them at once");
}
