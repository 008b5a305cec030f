//! An operator's whole way: look, try, do, look back.

use dlq_redrive::protocol::RunState;
use ikkai::idempotency::{ErrorClass, Status};
use serde_json::json;

use crate::scene::{Scene, failed};

#[tokio::test(start_paused = true)]
async fn what_is_listed_is_put_back_as_it_was_said_and_stands_in_the_history() {
    let scene = Scene::new();
    for number in 0..3 {
        scene.bury(&format!("mail-{number}"), |record| record.last_error = failed(ErrorClass::Transient, "provider_error"));
    }
    let job_id = scene.bury("user", |_| {});
    let filter = json!({"codes": ["provider_error"]});
    let listed = scene.done(json!({"action": "list", "queue": "email", "filter": filter})).await;
    assert_eq!((&listed["matched"], &listed["groups"][0]["verdict"]), (&json!(3), &json!("redriven")));

    let request =
        json!({"action": "redrive", "queue": "email", "filter": filter, "reason": "the provider is back", "claimedBy": "Ada"});
    let mut tried = request.clone();
    tried["dryRun"] = json!(true);
    let tried = scene.done(tried).await;
    assert_eq!((&tried["dryRun"], &tried["tally"]["byVerdict"]["redriven"]), (&json!(true), &json!(3)));
    assert!(scene.sqs.messages("shop-email").is_empty());

    let done = scene.done(request).await;
    assert_eq!((&done["state"], &done["tally"]["redriven"]), (&json!("finished"), &json!(3)));
    assert_eq!(scene.sqs.messages("shop-email").len(), 3);
    assert_eq!(scene.sqs.messages("shop-email-dlq").len(), 1);

    let history = scene.done(json!({"action": "history", "runId": done["runId"]})).await;
    assert_eq!((&history["runs"][0]["claimedBy"], &history["runs"][0]["filter"]), (&json!("Ada"), &filter));
    assert_eq!(history["verdicts"].as_array().unwrap().len(), 3);
    let status = scene.done(json!({"action": "status", "queue": "email"})).await;
    assert_eq!(status["queues"][0]["lastRun"]["runId"], done["runId"]);
    let touched = done["verdicts"][0]["jobIds"][0].as_str().unwrap();
    let inspected = scene.done(json!({"action": "inspect", "jobId": touched})).await;
    assert!(inspected["runs"].as_array().unwrap().iter().any(|run| run["runId"] == done["runId"]));
    let left = scene.done(json!({"action": "inspect", "jobId": job_id.as_str()})).await;
    assert!(!left["runs"].as_array().unwrap().iter().any(|run| run["runId"] == done["runId"]));
}

#[tokio::test(start_paused = true)]
async fn what_is_discarded_is_archived_and_its_job_is_cancelled() {
    let scene = Scene::new();
    let job_id = scene.bury("mail", |_| {});
    let request = json!({"action": "discard", "deadLetterQueue": "shop-email-dlq", "filter": {"jobIds": [job_id.as_str()]}, "reason": "not wanted"});
    let answer = scene.done(request).await;
    assert_eq!((&answer["tally"]["byVerdict"]["discarded"], &answer["archive"]), (&json!(1), &json!("s3://archive/")));
    assert_eq!(scene.archive.documents().len(), 1);
    assert_eq!(scene.stored(&job_id).status, Status::Cancelled);
    assert!(scene.sqs.messages("shop-email-dlq").is_empty());
    assert_eq!(scene.journal.runs()[0].summary.state, RunState::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_resolved_job_is_redriven_and_a_done_one_loses_its_message() {
    let scene = Scene::new();
    let doubt = |record: &mut ikkai::idempotency::JobRecord| {
        record.status = Status::InDoubt;
        record.last_error = failed(ErrorClass::Ambiguous, "timed_out");
        record.callback_url = None;
    };
    let (again, done) = (scene.bury("again", doubt), scene.bury("done", doubt));
    let redrive = json!({"action": "redrive", "queue": "email", "reason": "resolved"});
    let refused = scene.done(redrive.clone()).await;
    assert_eq!(refused["tally"]["byVerdict"], json!({"in_doubt": 2}));
    for (job_id, r#as) in [(&again, "runAgain"), (&done, "done")] {
        scene.done(json!({"action": "resolve", "jobId": job_id.as_str(), "as": r#as, "reason": "looked"})).await;
    }
    let answer = scene.done(redrive).await;
    assert_eq!(answer["tally"]["byVerdict"], json!({"already_done": 1, "redriven": 1}));
    assert!(scene.sqs.messages("shop-email-dlq").is_empty());
    assert_eq!(scene.stored(&again).generation, 1);
}
