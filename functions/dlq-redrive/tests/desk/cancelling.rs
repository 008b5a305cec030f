//! `cancel`.

use dlq_redrive::journal::{JournalError, JournalFault};
use dlq_redrive::protocol::RunState;
use ikkai::clock::Clock as _;
use ikkai::idempotency::{ErrorClass, JobRecord, Status};
use ikkai::testing::{StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::scene::{Scene, failed, mail};

fn cancel(job_id: &str) -> Value {
    json!({"action": "cancel", "jobId": job_id, "reason": "ordered twice", "claimedBy": "Ada"})
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_not_done_is_taken_back_and_it_is_known_by_whom_and_why() {
    let scene = Scene::new();
    for (status, next) in [
        (Status::Accepted, "acknowledged without work"),
        (Status::RetryScheduled, "acknowledged without work"),
        (Status::Dead, "the next redrive deletes its message"),
    ] {
        let job_id = scene.record(status.as_str(), |record| record.status = status);
        let answer = scene.done(cancel(job_id.as_str())).await;
        assert_eq!((&answer["action"], &answer["record"]["status"]), (&json!("cancel"), &json!("cancelled")));
        assert!(answer["advice"].as_str().unwrap().contains(next), "{answer}");
        let stored = scene.stored(&job_id);
        assert_eq!((stored.status, stored.data), (Status::Cancelled, None));
        assert!(stored.expires_at.is_some());
        let told = scene.done(json!({"action": "history", "queue": "email"})).await;
        let entry = told["runs"].as_array().unwrap().iter().find(|run| run["runId"] == answer["runId"]).unwrap().clone();
        assert!(entry["runId"].as_str().unwrap().starts_with("cancel-"));
        assert_eq!(
            (&entry["action"], &entry["claimedBy"], &entry["reason"]),
            (&json!("cancel"), &json!("Ada"), &json!("ordered twice"))
        );
        assert_eq!((&entry["state"], &entry["filter"]["jobIds"][0]), (&json!("finished"), &json!(job_id.as_str())));
        assert_eq!(scene.done(cancel(job_id.as_str())).await["record"]["status"], "cancelled", "twice is as good as once");
    }
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_done_or_may_be_is_not_taken_back() {
    let scene = Scene::new();
    let doubtful = |status| {
        move |record: &mut JobRecord| {
            (record.status, record.last_error) = (status, failed(ErrorClass::Ambiguous, "timed_out"));
        }
    };
    let lease = Some(scene.clock.now() + std::time::Duration::from_secs(60));
    for (job_id, told) in [
        (scene.record("runs", |record| (record.status, record.lease_until) = (Status::Running, lease)), "a worker has it"),
        (scene.record("died", |record| record.status = Status::Running), "its worker died: redrive it"),
        (scene.record("done", |record| record.status = Status::Succeeded), "succeeded"),
        (scene.record("doubt", doubtful(Status::InDoubt)), "then resolve it"),
        (scene.record("waits", doubtful(Status::RetryScheduled)), "an earlier run may have had its effect"),
        (scene.record("dead", doubtful(Status::Dead)), "an earlier run may have had its effect"),
    ] {
        let stored = scene.stored(&job_id);
        let (code, message) = scene.refused(cancel(job_id.as_str())).await;
        assert_eq!(code, "wrong_state");
        assert!(message.contains(told), "{message}");
        assert_eq!(scene.stored(&job_id), stored);
    }
    assert!(scene.journal.runs().is_empty(), "what is refused leaves no entry");
    assert_eq!(scene.refused(cancel(mail("none").job_id.unwrap().as_str())).await.0, "unknown_job");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_a_worker_takes_in_the_last_moment_is_the_workers() {
    let scene = Scene::new();
    let job_id = scene.record("mail", |record| record.status = Status::Accepted);
    scene.store.fail_next(StoreCall::Replace, StoreFault::Delay(std::time::Duration::from_secs(1)));
    let claimed = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let mut record = scene.stored(&job_id);
        (record.status, record.attempts) = (Status::Running, 1);
        scene.jobs.put(record);
    };
    let (refused, ()) = tokio::join!(scene.refused(cancel(job_id.as_str())), claimed);
    assert_eq!((refused.0.as_str(), scene.stored(&job_id).status), ("wrong_state", Status::Running));
    assert_eq!(scene.journal.runs()[0].summary.state, RunState::Stopped);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_down_is_not_done_and_every_wrong_member_is_named() {
    let scene = Scene::new();
    let job_id = scene.record("mail", |record| record.status = Status::Accepted);
    scene.journal.fail_next(JournalFault::Refuse(JournalError::Denied { operation: "PutItem" }));
    assert_eq!(scene.refused(cancel(job_id.as_str())).await.0, "access_denied");
    assert_eq!(scene.stored(&job_id).status, Status::Accepted);
    let mut request = cancel(job_id.as_str());
    (request["reason"], request["claimedBy"]) = (json!(" "), json!(""));
    let answer = scene.ask(request).await;
    let pointers: Vec<_> =
        answer["error"]["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert_eq!(pointers, ["/reason", "/claimedBy"]);
    assert_eq!(scene.stored(&job_id).status, Status::Accepted);
}
