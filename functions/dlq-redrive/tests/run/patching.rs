//! Edit and resubmit.

use std::time::Duration;

use dlq_redrive::protocol::{RefusalCode, VerdictCode};
use ikkai::idempotency::Status;
use ikkai::job::{Fingerprint, payload_digest};
use ikkai::queue::OutgoingMessage;
use serde_json::{Value, json};

use crate::consumer::{Consumer, Mood};
use crate::scene::{Scene, codes};

fn request(job: &ikkai::job::JobId, patch: Value) -> Value {
    json!({ "filter": { "jobIds": [job.as_str()] }, "patch": patch })
}

#[tokio::test(start_paused = true)]
async fn a_patched_job_runs_with_its_new_payload_and_remembers_the_first_one() {
    let scene = Scene::new();
    let job = scene.dead("mail-1");
    let fingerprint =
        Fingerprint::new(&scene.record(&job).job_type, scene.record(&job).payload.as_ref().unwrap(), None, &[], b"salt");
    scene.set(&job, |record| record.fingerprint = Some(fingerprint.clone()));
    let before = scene.record(&job);
    let answer = scene.redrive(request(&job, json!({ "userId": "user-43" }))).await.unwrap();

    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
    let after = scene.record(&job);
    let payload = json!({"deliveryId": "mail-1", "templateId": "welcome", "userId": "user-43"});
    assert_eq!((after.payload.clone(), after.payload_digest.clone()), (Some(payload.clone()), Some(payload_digest(&payload))));
    assert_eq!((after.original_payload, after.original_payload_digest), (before.payload, before.payload_digest));
    // A client's honest repetition is compared with the fingerprint, and still replays.
    assert_eq!(after.fingerprint, Some(fingerprint));
    let body: Value = serde_json::from_str(&scene.messages("email")[0].body).unwrap();
    assert_eq!((&body["payload"], body["jobId"].as_str()), (&payload, Some(job.as_str())));
    assert_eq!(scene.messages("email-dlq").len(), 0);

    let consumer = Consumer::new(&scene, Mood::Well);
    consumer.work_off().await;
    assert_eq!((scene.record(&job).status, consumer.most_effects()), (Status::Succeeded, 1));
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_makes_no_valid_payload_touches_nothing() {
    let scene = Scene::new();
    let (first, second) = (scene.dead("mail-1"), scene.dead("mail-2"));
    let before = (scene.record(&first), scene.record(&second));
    for patch in [
        json!({ "userId": null }),
        json!({ "userID": "user-43" }),
        json!({ "userId": 7 }),
        json!({ "userId": "somebody@example.com" }),
        json!({ "deliveryId": {} }),
    ] {
        let wanted = json!({ "filter": { "jobIds": [first.as_str(), second.as_str()] }, "patch": patch });
        let refusal = scene.redrive(wanted).await.expect_err("not valid");
        assert_eq!(refusal.code, RefusalCode::InvalidPatch, "{patch}");
        assert!(refusal.errors.iter().all(|error| error.pointer.starts_with("/patch")), "{refusal:?}");
        assert!(!refusal.message.contains("somebody@example.com"), "the value is not repeated");
    }
    assert_eq!((scene.record(&first), scene.record(&second)), before);
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (0, 2));
    assert!(scene.journal.runs().is_empty());
    assert_eq!(scene.journal.lock_of("email"), None);
}

#[tokio::test(start_paused = true)]
async fn a_patch_without_names_of_jobs_is_refused() {
    let scene = Scene::new();
    scene.dead("mail-1");
    let refusal = scene.redrive(json!({ "patch": { "userId": "user-43" } })).await.expect_err("no jobs are named");
    assert_eq!((refusal.code, refusal.errors[0].pointer.as_str()), (RefusalCode::InvalidRequest, "/patch"));
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_was_sent_twice_is_one() {
    let scene = Scene::new();
    let job = scene.dead("mail-1");
    scene.sqs.fail_always(
        "email",
        ikkai::testing::SqsOperation::Send,
        ikkai::testing::SqsFault::Refuse(ikkai::queue::QueueError::Unavailable { operation: "SendMessage", code: "busy".into() }),
    );
    let patch = request(&job, json!({ "userId": "user-43" }));
    assert_eq!(codes(&scene.redrive(patch.clone()).await.unwrap().verdicts), [VerdictCode::SendFailed]);
    scene.sqs.heal();
    // The record is patched, the message is the old one: also a run without the patch makes it anew.
    let generation = scene.record(&job).generation;
    assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::Redriven]);
    assert_eq!(scene.record(&job).generation, generation);
    let body: Value = serde_json::from_str(&scene.messages("email")[0].body).unwrap();
    assert_eq!(body["payload"]["userId"], "user-43");
}

#[tokio::test(start_paused = true)]
async fn a_message_of_several_jobs_cannot_be_patched() {
    let scene = Scene::new();
    let object = |key: &str| {
        json!({"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventName": "ObjectCreated:Put",
            "s3": {"bucket": {"name": "uploads"},
                "object": {"key": key, "size": 3, "eTag": "d41d8cd98f00b204e9800998ecf8427e", "sequencer": "0A1B2C3D4E5F678901"}}})
    };
    let body = json!({ "Records": [object("a.png"), object("b.png")] }).to_string();
    scene.sqs.bury("email", &[OutgoingMessage::new(body)]);
    let seen = scene.redrive(json!({ "dryRun": true })).await.unwrap();
    let wanted = json!({ "filter": { "jobIds": seen.verdicts[0].job_ids }, "patch": { "userId": "user-43" } });
    let answer = scene.redrive(wanted).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::PatchInvalid], "{answer:?}");
    assert_eq!(scene.messages("email-dlq").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_without_a_message_can_be_patched_too() {
    let scene = Scene::new();
    let (record, _) = crate::scene::email("mail-1", Status::Dead, scene.now());
    let job = record.job_id.clone();
    scene.records.put(record);
    let answer = scene.redrive(request(&job, json!({ "userId": "user-43" }))).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
    let body: Value = serde_json::from_str(&scene.messages("email")[0].body).unwrap();
    assert_eq!(body["payload"]["userId"], "user-43");
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_record_has_expired_cannot_be_patched() {
    let scene = Scene::new();
    let job = scene.dead("mail-1");
    scene.set(&job, |record| record.expires_at = Some((crate::scene::START - Duration::from_secs(10)).to_seconds_floor()));
    let answer = scene.redrive(request(&job, json!({ "userId": "user-43" }))).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::PatchInvalid], "{answer:?}");
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (0, 1));
}
