//! Run ids, cursors and locks: what is asked twice is done once.

use std::time::Duration;

use dlq_redrive::journal::{JournalError, JournalFault};
use dlq_redrive::protocol::{Refusal, RefusalCode, RunState};
use dlq_redrive::run;
use ikkai::queue::QueueName;
use ikkai::testing::SqsOperation;
use serde_json::json;

use crate::scene::{Scene, redrive};

fn code<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> RefusalCode {
    outcome.expect_err("a refusal").code
}

#[tokio::test(start_paused = true)]
async fn the_same_request_under_the_same_run_id_is_answered_and_not_done_again() {
    let scene = Scene::new();
    scene.many_dead(3);
    let first = scene.redrive(json!({ "runId": "run-1" })).await.unwrap();
    scene.many_dead(3);
    scene.sqs.forget_calls();
    let again = scene.redrive(json!({ "runId": "run-1" })).await.unwrap();

    assert!(again.replayed && !first.replayed);
    assert_eq!((again.tally, again.verdicts), (first.tally, first.verdicts));
    assert_eq!(scene.sqs.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn another_request_under_the_same_run_id_is_refused() {
    let scene = Scene::new();
    scene.many_dead(1);
    scene.redrive(json!({ "runId": "run-1" })).await.unwrap();
    assert_eq!(code(scene.redrive(json!({ "runId": "run-1", "max": 7 })).await), RefusalCode::RunIdTaken);
}

#[tokio::test(start_paused = true)]
async fn a_run_id_is_made_up_and_sorts_by_time() {
    let scene = Scene::new();
    let first = scene.redrive(json!({})).await.unwrap();
    let second = scene.redrive(json!({})).await.unwrap();
    assert_ne!(first.run_id, second.run_id);
    assert_eq!(scene.journal.runs().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn two_operators_at_once_are_one_after_the_other() {
    let scene = Scene::new();
    scene.many_dead(30);
    let slow = redrive(json!({ "ratePerSecond": 10 }));
    let invocation = scene.invocation();
    let first = run::redrive(&scene.workbench, &slow, &invocation);
    let second = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let refused = scene.redrive(json!({})).await.expect_err("the first one is at work");
        let dry = scene.redrive(json!({ "dryRun": true })).await.expect("a look is always possible");
        (refused, dry)
    };
    let (first, (refused, dry)) = tokio::join!(first, second);

    assert_eq!(refused.code, RefusalCode::RunInProgress);
    assert!(refused.retry_after_seconds.is_some_and(|seconds| (1..=930).contains(&seconds)), "{refused:?}");
    assert!(dry.dry_run);
    assert_eq!(first.unwrap().tally.redriven, 30);
    assert_eq!(scene.journal.lock_of("email"), None);
    assert!(scene.redrive(json!({})).await.is_ok(), "afterwards the queue is free");
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_repeats_a_request_that_is_at_work_is_told_to_wait() {
    let scene = Scene::new();
    scene.many_dead(30);
    let request = redrive(json!({ "runId": "run-1", "ratePerSecond": 10 }));
    let invocation = scene.invocation();
    let first = run::redrive(&scene.workbench, &request, &invocation);
    let second = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        run::redrive(&scene.workbench, &request, &scene.invocation()).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap().tally.redriven, 30);
    assert_eq!(code(second), RefusalCode::RunInProgress);
    assert_eq!(scene.messages("email").len(), 30, "nothing was sent twice");
}

#[tokio::test(start_paused = true)]
async fn the_lock_of_a_run_that_died_ends_by_itself() {
    let scene = Scene::new();
    scene.many_dead(100);
    let request = redrive(json!({ "runId": "run-1", "ratePerSecond": 1 }));
    let dying = run::redrive(&scene.workbench, &request, &scene.until(Duration::from_secs(60))).await;
    assert_eq!(dying.unwrap().state, RunState::Continues);
    // A second part dies in the middle.
    let mut second = redrive(json!({ "runId": "run-1", "ratePerSecond": 1 }));
    second.cursor = Some("1".into());
    let invocation = scene.until(Duration::from_secs(60));
    let cut = tokio::time::timeout(Duration::from_secs(5), run::redrive(&scene.workbench, &second, &invocation)).await;
    assert!(cut.is_err());

    let refused = scene.redrive(json!({})).await.expect_err("the queue is locked");
    assert_eq!(refused.code, RefusalCode::RunInProgress);
    tokio::time::sleep(Duration::from_secs(refused.retry_after_seconds.unwrap())).await;
    assert!(scene.redrive(json!({ "dryRun": false })).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_dead_part_is_taken_up_where_it_was_last_written_down() {
    let scene = Scene::new();
    scene.many_dead(250);
    let request = redrive(json!({ "runId": "run-1", "ratePerSecond": 100 }));
    let invocation = scene.until(Duration::from_secs(60));
    let cut = tokio::time::timeout(Duration::from_millis(1550), run::redrive(&scene.workbench, &request, &invocation)).await;
    assert!(cut.is_err());
    assert_eq!(scene.journal.runs()[0].summary.tally.redriven, 100, "written down with its first hundred verdicts");
    let sent = scene.messages("email").len();
    assert!(sent > 100);

    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let rest = scene.redrive(json!({ "runId": "run-1", "ratePerSecond": 100 })).await.unwrap();
    assert_eq!(rest.state, RunState::Finished, "{rest:?}");
    assert_eq!(scene.messages("email").len(), 250);
    assert_eq!(scene.messages("email-dlq").len(), 0);
    // What was sent between the last note and the end of the part is in the log only.
    assert_eq!(rest.tally.redriven as usize, 100 + 250 - sent);
}

#[tokio::test(start_paused = true)]
async fn cursors_that_are_not_the_runs_are_refused_and_a_lost_answer_is_given_again() {
    let scene = Scene::new();
    scene.many_dead(100);
    let slow = |cursor: Option<&str>| json!({ "runId": "run-1", "ratePerSecond": 1, "cursor": cursor });
    let part = Duration::from_secs(40);
    let first = scene.redrive_within(part, slow(None)).await.unwrap();
    assert_eq!((first.state, first.cursor.as_deref()), (RunState::Continues, Some("1")));
    let again = scene.redrive_within(part, slow(None)).await.unwrap();
    assert!(again.replayed);
    assert_eq!((again.tally, again.verdicts, again.cursor), (first.tally, first.verdicts, first.cursor));

    let second = scene.redrive_within(part, slow(Some("1"))).await.unwrap();
    assert_eq!((second.replayed, second.cursor.as_deref()), (false, Some("2")));
    let lost = scene.redrive_within(part, slow(Some("1"))).await.unwrap();
    assert!(lost.replayed);
    assert_eq!((lost.tally, lost.verdicts), (second.tally, second.verdicts));

    for stale in [None, Some("7"), Some("next"), Some("-1")] {
        assert_eq!(code(scene.redrive_within(part, slow(stale)).await), RefusalCode::StaleCursor, "{stale:?}");
    }
    assert_eq!(code(scene.redrive(json!({ "runId": "run-2", "cursor": "1" })).await), RefusalCode::UnknownRun);
    assert_eq!(code(scene.redrive(json!({ "cursor": "1" })).await), RefusalCode::InvalidRequest);
}

#[tokio::test(start_paused = true)]
async fn between_its_parts_a_run_keeps_its_queue_for_a_while() {
    let scene = Scene::new();
    scene.many_dead(100);
    let request = json!({ "runId": "run-1", "ratePerSecond": 1 });
    let first = scene.redrive_within(Duration::from_secs(40), request).await.unwrap();
    assert_eq!(first.state, RunState::Continues);
    assert_eq!(code(scene.redrive(json!({})).await), RefusalCode::RunInProgress);
    tokio::time::sleep(Duration::from_secs(121)).await;
    assert!(scene.redrive(json!({ "max": 1 })).await.is_ok(), "nobody went on");
}

#[tokio::test(start_paused = true)]
async fn a_move_task_of_sqs_keeps_runs_away() {
    let scene = Scene::new();
    scene.many_dead(1);
    for status in ["RUNNING", "CANCELLING", "SOMETHING_NEW"] {
        scene.move_tasks.add(&QueueName::new("email-dlq"), "task", status);
        assert_eq!(code(scene.redrive(json!({})).await), RefusalCode::MoveTaskInProgress, "{status}");
        assert_eq!(scene.journal.lock_of("email"), None, "the queue is let go");
        scene.move_tasks.add(&QueueName::new("email-dlq"), "task", "COMPLETED");
    }
    assert_eq!(scene.messages("email-dlq").len(), 1);
    assert_eq!(scene.journal.runs(), []);
    scene.move_tasks.refuse(Some(Refusal::new(RefusalCode::Unsupported, "this engine has none")));
    assert_eq!(scene.redrive(json!({})).await.unwrap().tally.redriven, 1);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_does_not_answer_lets_nothing_begin() {
    let scene = Scene::new();
    scene.many_dead(1);
    for calls_before in 0..3 {
        for _ in 0..calls_before {
            scene.journal.fail_next(JournalFault::Pass);
        }
        let denied = JournalError::Denied { operation: "PutItem" };
        scene.journal.fail_next(JournalFault::Refuse(denied));
        assert_eq!(code(scene.redrive(json!({})).await), RefusalCode::AccessDenied, "after {calls_before} calls");
    }
    assert_eq!(scene.sqs.count("email-dlq", SqsOperation::Receive), 0);
    assert_eq!(scene.journal.lock_of("email"), None);
}

#[tokio::test(start_paused = true)]
async fn lost_answers_of_the_journal_change_nothing() {
    for call in 0..10 {
        let scene = Scene::new();
        scene.many_dead(3);
        for _ in 0..call {
            scene.journal.fail_next(JournalFault::Pass);
        }
        scene.journal.fail_next(JournalFault::LoseAnswer);
        let answer = scene.redrive(json!({ "runId": "run-1" })).await.unwrap();
        assert_eq!((answer.state, answer.tally.redriven), (RunState::Finished, 3), "call {call}");
        assert_eq!(scene.messages("email").len(), 3, "call {call}");
        assert_eq!(scene.journal.lock_of("email"), None, "call {call}");
        assert!(scene.redrive(json!({ "runId": "run-1" })).await.unwrap().replayed, "call {call}");
    }
}

#[tokio::test(start_paused = true)]
async fn parts_that_die_one_after_the_other_do_not_write_over_each_others_verdicts() {
    let scene = Scene::new();
    scene.many_dead(60);
    let request = redrive(json!({ "runId": "run-1", "ratePerSecond": 1 }));
    let pages = || scene.journal.runs()[0].progress["pages"].as_u64().unwrap();
    let mut skipped = Vec::new();
    for _ in 0..3 {
        let invocation = scene.until(Duration::from_secs(60));
        let cut = tokio::time::timeout(Duration::from_millis(100), run::redrive(&scene.workbench, &request, &invocation)).await;
        assert!(cut.is_err());
        skipped.push(pages());
        tokio::time::sleep(Duration::from_secs(1_000)).await;
    }
    assert_eq!(skipped, [0, 2, 4]);
}
