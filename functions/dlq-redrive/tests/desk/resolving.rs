//! `resolve`.

use std::time::Duration;

use dlq_redrive::journal::{JournalError, JournalFault};
use dlq_redrive::protocol::RunState;
use ikkai::idempotency::{ErrorClass, JobRecord, Status};
use ikkai::queue::QueueError;
use ikkai::testing::{SqsFault, SqsOperation, StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::scene::{Scene, failed, mail};

fn in_doubt(record: &mut JobRecord) {
    record.status = Status::InDoubt;
    record.last_error = failed(ErrorClass::Ambiguous, "timed_out");
}

fn resolve(job_id: &str, r#as: &str) -> Value {
    json!({"action": "resolve", "jobId": job_id, "as": r#as, "reason": "looked at the provider", "claimedBy": "Ada"})
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_done_counts_as_succeeded_and_its_consumer_is_told_to_tell_the_caller() {
    let scene = Scene::new();
    let job_id = scene.record("mail", in_doubt);
    let mut request = resolve(job_id.as_str(), "done");
    request["providerRef"] = json!("ch_1");
    let answer = scene.done(request).await;
    assert_eq!((&answer["record"]["status"], &answer["record"]["providerRef"]), (&json!("succeeded"), &json!("ch_1")));
    assert!(answer["advice"].as_str().unwrap().contains("caller is being told"));
    let stored = scene.stored(&job_id);
    assert!(stored.data.is_none() && stored.expires_at.is_some());

    let [message] = &scene.sqs.messages("shop-email")[..] else { panic!("one message") };
    assert_eq!(message.body, mail("mail").to_body().replace(r#""businessId":"order-1001","#, ""));
    let [run] = &scene.journal.runs()[..] else { panic!("one entry") };
    assert!(run.summary.run_id.starts_with("resolve-done-"));
    assert_eq!(answer["runId"], run.summary.run_id.as_str());
    assert_eq!((run.summary.state, run.summary.reason.as_str()), (RunState::Finished, "looked at the provider"));
    assert_eq!(run.summary.filter.as_ref().unwrap().job_ids, [job_id.to_string()]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_who_does_not_want_to_be() {
    let scene = Scene::new();
    let job_id = scene.record("mail", |record| {
        in_doubt(record);
        record.callback_url = None;
    });
    scene.done(resolve(job_id.as_str(), "done")).await;
    assert!(scene.sqs.messages("shop-email").is_empty());
    // The resolution of one job says nothing about another that succeeded by itself.
    let other = scene.record("other", |record| (record.status, record.last_error) = (Status::Succeeded, None));
    assert_eq!(scene.refused(resolve(other.as_str(), "done")).await.0, "wrong_state");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_shall_run_again_is_dead_and_can_be_redriven() {
    let scene = Scene::new();
    let job_id = scene.bury("mail", in_doubt);
    let answer = scene.done(resolve(job_id.as_str(), "runAgain")).await;
    assert_eq!((&answer["record"]["status"], &answer["record"]["errorCode"]), (&json!("dead"), &json!("resolved_to_run_again")));
    assert!(scene.sqs.messages("shop-email").is_empty());
    let inspected = scene.done(json!({"action": "inspect", "jobId": job_id.as_str()})).await;
    assert_eq!(inspected["verdict"], "redriven");
    assert_eq!(inspected["runs"][0]["runId"], answer["runId"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_resolution_again_changes_nothing_and_tells_the_caller_again() {
    let scene = Scene::new();
    let job_id = scene.record("mail", in_doubt);
    let busy = QueueError::Unavailable { operation: "SendMessage", code: "ThrottlingException".to_owned() };
    scene.sqs.fail_next("shop-email", SqsOperation::Send, SqsFault::Refuse(busy));
    let first = scene.done(resolve(job_id.as_str(), "done")).await;
    assert!(first["advice"].as_str().unwrap().contains("send the same request again"));
    let stored = scene.stored(&job_id);
    let second = scene.done(resolve(job_id.as_str(), "done")).await;
    assert!(second["advice"].as_str().unwrap().contains("caller is being told"));
    assert_eq!(scene.stored(&job_id), stored);
    assert_eq!(scene.sqs.messages("shop-email").len(), 1);

    let other = scene.record("other", in_doubt);
    scene.done(resolve(other.as_str(), "runAgain")).await;
    let stored = scene.stored(&other);
    scene.done(resolve(other.as_str(), "runAgain")).await;
    assert_eq!(scene.stored(&other), stored);
}

#[tokio::test(start_paused = true)]
async fn a_doubt_that_came_after_the_look_is_not_resolved() {
    let scene = Scene::new();
    let job_id = scene.record("mail", |record| {
        in_doubt(record);
        record.generation = 3;
    });
    let looked_at = |generation: u32, r#as| {
        let mut request = resolve(job_id.as_str(), r#as);
        request["generation"] = generation.into();
        request
    };
    let stored = scene.stored(&job_id);
    for r#as in ["done", "runAgain"] {
        let (code, message) = scene.refused(looked_at(2, r#as)).await;
        assert_eq!(code, "stale_generation");
        assert!(
            message.contains("generation 2") && message.contains("generation 3") && message.contains("in_doubt"),
            "{message}"
        );
    }
    assert_eq!((scene.stored(&job_id), scene.journal.runs().len()), (stored, 0), "nothing was done, nothing is told");
    let answer = scene.done(looked_at(3, "done")).await;
    assert_eq!((&answer["record"]["status"], &answer["record"]["generation"]), (&json!("succeeded"), &json!(3)));
    assert_eq!(scene.done(looked_at(3, "done")).await["ok"], true, "the same resolution again");
    assert_eq!(scene.refused(looked_at(2, "done")).await.0, "stale_generation", "what has ended well is another doubt's end");
}

#[tokio::test(start_paused = true)]
async fn a_doubt_that_comes_between_the_look_and_the_write_is_not_resolved() {
    let scene = Scene::new();
    let job_id = scene.record("mail", in_doubt);
    scene.store.fail_next(StoreCall::Replace, StoreFault::Delay(Duration::from_secs(1)));
    let put_back_meanwhile = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let mut record = scene.stored(&job_id);
        (record.generation, record.updated_at) = (1, record.updated_at + Duration::from_millis(500));
        scene.jobs.put(record);
    };
    let (refused, ()) = tokio::join!(scene.refused(resolve(job_id.as_str(), "done")), put_back_meanwhile);
    assert_eq!(refused.0, "stale_generation");
    assert_eq!(scene.stored(&job_id).status, Status::InDoubt);
    assert_eq!(scene.journal.runs()[0].summary.state, RunState::Stopped);
}

#[tokio::test(start_paused = true)]
async fn only_a_job_in_doubt_is_resolved() {
    let scene = Scene::new();
    for status in [Status::Accepted, Status::RetryScheduled, Status::Running, Status::Succeeded, Status::Dead, Status::Cancelled]
    {
        let job_id = scene.record(status.as_str(), |record| {
            record.status = status;
            if status == Status::Succeeded {
                record.last_error = None;
            }
        });
        for r#as in ["done", "runAgain"] {
            let stored = scene.stored(&job_id);
            let (code, message) = scene.refused(resolve(job_id.as_str(), r#as)).await;
            assert_eq!(code, "wrong_state", "{status} {as}");
            assert!(message.contains(status.as_str()), "{message}");
            assert_eq!(scene.stored(&job_id), stored);
        }
    }
    assert!(scene.journal.runs().is_empty(), "what is refused leaves no entry");
    assert_eq!(scene.refused(resolve(mail("none").job_id.unwrap().as_str(), "done")).await.0, "unknown_job");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_down_is_not_done_and_what_may_be_done_is_not_called_finished() {
    let scene = Scene::new();
    let job_id = scene.record("mail", in_doubt);
    scene.journal.fail_next(JournalFault::Refuse(JournalError::Denied { operation: "PutItem" }));
    assert_eq!(scene.refused(resolve(job_id.as_str(), "done")).await.0, "access_denied");
    assert_eq!(scene.stored(&job_id).status, Status::InDoubt);

    scene.store.fail_next(StoreCall::Replace, StoreFault::LoseAnswer);
    assert_eq!(scene.refused(resolve(job_id.as_str(), "done")).await.0, "unavailable");
    let [run] = &scene.journal.runs()[..] else { panic!("one entry") };
    assert_eq!(run.summary.state, RunState::Continues);
    scene.done(resolve(job_id.as_str(), "done")).await;
}

#[tokio::test(start_paused = true)]
async fn every_wrong_member_is_named() {
    let scene = Scene::new();
    let job_id = scene.record("mail", in_doubt);
    let mut request = resolve(job_id.as_str(), "runAgain");
    request["providerRef"] = json!("ch_1");
    request["reason"] = json!("x".repeat(501));
    request["claimedBy"] = json!("");
    let answer = scene.ask(request).await;
    let pointers: Vec<_> =
        answer["error"]["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert_eq!(pointers, ["/reason", "/claimedBy", "/providerRef"]);
    assert_eq!(scene.stored(&job_id).status, Status::InDoubt);
}
