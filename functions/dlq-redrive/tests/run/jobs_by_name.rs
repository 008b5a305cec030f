//! Jobs that are named by their ids, with a message or without.

use std::time::Duration;

use dlq_redrive::protocol::{MessageVerdict, RunState, VerdictCode};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::{IdempotencyKey, JobId, JobType};
use ikkai::testing::SqsOperation;
use serde_json::json;

use crate::consumer::{Consumer, Mood};
use crate::scene::{Scene, check_sums, codes, email};

/// The verdict on one job that has no message, and the number of messages in its queue afterwards.
async fn outcome(change: impl FnOnce(&mut JobRecord)) -> (VerdictCode, usize) {
    let scene = Scene::new();
    let (mut record, _) = email("mail-1", Status::Dead, crate::scene::START - Duration::from_secs(3_600));
    change(&mut record);
    let job = record.job_id.clone();
    scene.records.put(record);
    let answer = scene.redrive(json!({ "filter": { "jobIds": [job.as_str()] } })).await.unwrap();
    check_sums(&answer);
    let [MessageVerdict { message_id: None, job_ids, verdict, .. }] = answer.verdicts.as_slice() else {
        panic!("{:?}", answer.verdicts)
    };
    assert_eq!(*job_ids, [job.as_str()]);
    (*verdict, scene.messages("email").len())
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_message_is_gone_is_made_again_from_its_record() {
    assert_eq!(outcome(|_| {}).await, (VerdictCode::Redriven, 1));
    assert_eq!(outcome(|record| record.status = Status::Accepted).await, (VerdictCode::Redriven, 1));
    assert_eq!(outcome(|record| record.status = Status::Succeeded).await, (VerdictCode::AlreadyDone, 0));
    assert_eq!(outcome(|record| record.status = Status::InDoubt).await, (VerdictCode::InDoubt, 0));
    assert_eq!(outcome(|record| record.generation = 10).await, (VerdictCode::Quarantined, 0));
    assert_eq!(outcome(|record| record.payload = None).await, (VerdictCode::NotRebuildable, 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_message_is_gone_and_whose_worker_died_runs_again_or_ends() {
    let abandoned = |record: &mut JobRecord| {
        record.status = Status::Running;
        record.lease_until = Some(crate::scene::START - Duration::from_secs(60));
    };
    let worn = |record: &mut JobRecord| {
        abandoned(record);
        record.generation = 10;
    };
    assert_eq!(ended(abandoned).await, (VerdictCode::Redriven, Status::Accepted));
    assert_eq!(ended(worn).await, (VerdictCode::Quarantined, Status::Dead));
}

/// The verdict on a job that has no message, and what its record says then.
async fn ended(change: impl FnOnce(&mut JobRecord)) -> (VerdictCode, Status) {
    let scene = Scene::new();
    let (mut record, _) = email("mail-1", Status::Dead, crate::scene::START - Duration::from_secs(3_600));
    change(&mut record);
    let job = record.job_id.clone();
    scene.records.put(record.clone());
    let mut request = json!({ "filter": { "jobIds": [job.as_str()] }, "dryRun": true });
    scene.redrive(request.clone()).await.unwrap();
    assert_eq!(scene.record(&job), record, "a dry run writes nothing");
    request["dryRun"] = false.into();
    let verdict = codes(&scene.redrive(request).await.unwrap().verdicts)[0];
    (verdict, scene.record(&job).status)
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_message_may_be_on_its_way_is_left() {
    let fresh = |record: &mut JobRecord| {
        record.status = Status::Accepted;
        record.updated_at = crate::scene::START - Duration::from_secs(60);
    };
    assert_eq!(outcome(fresh).await, (VerdictCode::Changed, 0));
    let waiting = |record: &mut JobRecord| {
        record.status = Status::RetryScheduled;
        record.retry_at = Some(crate::scene::START + Duration::from_secs(3_600));
    };
    assert_eq!(outcome(waiting).await, (VerdictCode::Changed, 0));
    let running = |record: &mut JobRecord| {
        record.status = Status::Running;
        record.lease_until = Some(crate::scene::START + Duration::from_secs(3_600));
    };
    assert_eq!(outcome(running).await, (VerdictCode::Running, 0));
}

#[tokio::test(start_paused = true)]
async fn what_was_made_again_is_the_same_job() {
    let scene = Scene::new();
    let (record, body) = email("mail-1", Status::Dead, scene.now());
    let job = record.job_id.clone();
    scene.records.put(record);
    scene.redrive(json!({ "filter": { "jobIds": [job.as_str()] } })).await.unwrap();
    assert_eq!(scene.messages("email")[0].body, body);
    let consumer = Consumer::new(&scene, Mood::Well);
    consumer.work_off().await;
    assert_eq!((scene.record(&job).status, scene.records.all().len()), (Status::Succeeded, 1));
}

#[tokio::test(start_paused = true)]
async fn only_the_named_jobs_are_put_back_and_the_search_ends_with_the_last() {
    let scene = Scene::new();
    let jobs = scene.many_dead(60);
    let wanted = [jobs[4].as_str(), jobs[12].as_str()];
    let answer = scene.redrive(json!({ "filter": { "jobIds": wanted } })).await.unwrap();
    assert_eq!((answer.tally.matched, answer.tally.redriven, answer.tally.seen), (2, 2, 20));
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (2, 58));
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_nobody_knows_is_told() {
    let scene = Scene::new();
    let job_type = JobType::parse("email.send").unwrap();
    let job = JobId::derive("nobody", &job_type, &IdempotencyKey::parse("nothing").unwrap());
    let answer = scene.redrive(json!({ "filter": { "jobIds": [job.as_str()] } })).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::NotFound]);

    let other = JobId::derive("nobody", &JobType::parse("billing.charge").unwrap(), &IdempotencyKey::parse("x").unwrap());
    let answer = scene.redrive(json!({ "filter": { "jobIds": [other.as_str()] } })).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::NotFound]);
    assert!(answer.verdicts[0].detail.as_deref().is_some_and(|detail| detail.contains("billing.charge")));
}

#[tokio::test(start_paused = true)]
async fn a_search_that_the_deadline_ends_goes_on_and_finds_each_job_once() {
    let scene = Scene::new();
    let mut wanted: Vec<_> = scene.many_dead(40).iter().map(|job| job.as_str().to_owned()).collect();
    for index in 0..10 {
        let (record, _) = email(&format!("gone-{index}"), Status::Dead, scene.now());
        wanted.push(record.job_id.as_str().to_owned());
        scene.records.put(record);
    }
    let request = json!({ "filter": { "jobIds": wanted }, "ratePerSecond": 2 });
    let answers = scene.redrive_to_the_end(Duration::from_secs(30), request).await;
    let last = answers.last().unwrap();
    assert!(answers.len() > 1);
    assert_eq!((last.state, last.tally.redriven, scene.messages("email").len()), (RunState::Finished, 50, 50));
    check_sums(last);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_tells_of_jobs_without_a_message_too() {
    let scene = Scene::new();
    let (record, _) = email("mail-1", Status::Dead, scene.now());
    let job = record.job_id.clone();
    scene.records.put(record);
    let answer = scene.redrive(json!({ "filter": { "jobIds": [job.as_str()] }, "dryRun": true })).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
    assert_eq!((scene.sqs.count("email", SqsOperation::Send), scene.store.writes()), (0, 0));
}
