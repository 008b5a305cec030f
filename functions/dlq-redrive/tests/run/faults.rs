//! What goes wrong on the way, and that nothing is lost by it.

use std::time::Duration;

use dlq_redrive::protocol::{RedriveAnswer, RefusalCode, RunState, Stopped, VerdictCode};
use dlq_redrive::run;
use ikkai::idempotency::{ErrorClass, LastError, Status};
use ikkai::queue::QueueError;
use ikkai::testing::{Moment, SqsFault, SqsOperation, StoreCall, StoreFault};
use serde_json::json;

use crate::consumer::{Consumer, Mood};
use crate::scene::{Scene, check_sums, codes, redrive};

fn passing() -> QueueError {
    QueueError::Unavailable { operation: "SendMessageBatch", code: "ThrottlingException".into() }
}

fn refused(code: &str) -> QueueError {
    QueueError::Refused { operation: "SendMessageBatch", code: code.into() }
}

fn of(answer: &RedriveAnswer, code: VerdictCode) -> u64 {
    answer.tally.by_verdict.get(&code).copied().unwrap_or(0)
}

/// Consumers do their work, and then everything has run exactly once and nothing is left anywhere.
async fn all_runs_once(scene: &Scene, jobs: usize) {
    let consumer = Consumer::new(scene, Mood::Well);
    for _ in 0..10 {
        consumer.work_off().await;
        tokio::time::sleep(Duration::from_secs(1_000)).await;
        scene.redrive(json!({ "stopAtReturnedPercent": 100 })).await.unwrap();
    }
    consumer.work_off().await;
    assert_eq!(consumer.mailer.sent.lock().unwrap().len(), jobs);
    assert_eq!(consumer.most_effects(), 1);
    assert!(scene.records.all().iter().all(|record| record.status == Status::Succeeded));
    assert_eq!(scene.sqs.all_messages().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn entries_that_fail_in_passing_are_sent_again() {
    let scene = Scene::new();
    scene.many_dead(10);
    let some = vec![(2, passing()), (7, passing())];
    scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::FailEntries(some));
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((of(&answer, VerdictCode::Redriven), scene.sqs.count("email", SqsOperation::Send)), (10, 2));
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn entries_that_are_refused_stay_and_are_not_sent_again() {
    let scene = Scene::new();
    let jobs = scene.many_dead(10);
    scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::FailEntries(vec![(4, refused("InvalidMessageContents"))]));
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((of(&answer, VerdictCode::Redriven), of(&answer, VerdictCode::SendFailed)), (9, 1));
    assert_eq!(scene.sqs.count("email", SqsOperation::Send), 1);
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (9, 1));
    assert_eq!(scene.record(&jobs[4]).status, Status::Accepted, "put back; the next run sends it as it is");
    let now = scene.now();
    assert!(scene.messages("email-dlq")[0].visible_at <= now);
    check_sums(&answer);

    scene.store.forget();
    let again = scene.redrive(json!({})).await.unwrap();
    assert_eq!((of(&again, VerdictCode::Redriven), scene.record(&jobs[4]).generation), (1, 1));
    all_runs_once(&scene, 10).await;
}

#[tokio::test(start_paused = true)]
async fn entries_in_neither_list_count_as_failed() {
    for done in [true, false] {
        let scene = Scene::new();
        scene.many_dead(10);
        for _ in 0..2 {
            scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::Unmentioned { entries: vec![0], done });
        }
        let answer = scene.redrive(json!({})).await.unwrap();
        assert_eq!((of(&answer, VerdictCode::Redriven), of(&answer, VerdictCode::SendFailed)), (9, 1));
        assert_eq!(scene.messages("email-dlq").len(), 1, "what is not known to be sent is kept");
        all_runs_once(&scene, 10).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_lost_answer_to_a_send_makes_a_copy_too_many_and_no_job_run_twice() {
    let scene = Scene::new();
    scene.many_dead(10);
    scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::LoseAnswer);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((of(&answer, VerdictCode::Redriven), scene.messages("email").len()), (10, 20));
    all_runs_once(&scene, 10).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_sent_and_not_deleted_is_not_sent_again_by_the_same_run() {
    let scene = Scene::new();
    scene.many_dead(30);
    for _ in 0..2 {
        scene.sqs.fail_next("email-dlq", SqsOperation::Delete, SqsFault::FailEntries(vec![(0, passing())]));
    }
    // The second try deletes one message alone.
    let slow = json!({ "ratePerSecond": 1, "runId": "run-1" });
    let first = scene.redrive_within(Duration::from_secs(30), slow.clone()).await.unwrap();
    assert_eq!((first.state, of(&first, VerdictCode::SentNotDeleted)), (RunState::Continues, 1), "{first:?}");
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let mut rest = slow;
    rest["cursor"] = "1".into();
    let last = scene.redrive(rest).await.unwrap();
    assert_eq!((last.state, last.tally.redriven), (RunState::Finished, 30));
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (30, 0));
    check_sums(&last);
    all_runs_once(&scene, 30).await;
}

#[tokio::test(start_paused = true)]
async fn the_lost_answer_to_a_delete_is_asked_for_again() {
    let scene = Scene::new();
    scene.many_dead(10);
    scene.sqs.fail_next("email-dlq", SqsOperation::Delete, SqsFault::LoseAnswer);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((of(&answer, VerdictCode::Redriven), scene.messages("email-dlq").len()), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_is_refused_is_told() {
    let scene = Scene::new();
    scene.many_dead(2);
    let access = QueueError::Refused { operation: "DeleteMessageBatch", code: "AccessDenied".into() };
    scene.sqs.fail_always("email-dlq", SqsOperation::Delete, SqsFault::Refuse(access));
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::SentNotDeleted; 2]);
    assert!(answer.verdicts[0].detail.as_deref().is_some_and(|detail| detail.contains("AccessDenied")));
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (2, 2));
    scene.sqs.heal();
    all_runs_once(&scene, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_has_expired_is_not_trusted_to_have_deleted() {
    let mut scene = Scene::new();
    scene.workbench.limits.sweep.hidden_for = Duration::from_secs(60);
    scene.many_dead(1);
    // Sending takes longer than the message stays hidden.
    scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::Delay(Duration::from_secs(100)));
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::SentNotDeleted]);
    all_runs_once(&scene, 1).await;
}

#[tokio::test(start_paused = true)]
async fn the_lost_answer_to_a_put_back_is_its_own_answer() {
    for fault in [StoreFault::LoseAnswer, StoreFault::Throttle, StoreFault::RepeatAfterLostAnswer] {
        let scene = Scene::new();
        let job = scene.dead("mail-1");
        scene.store.fail_next(StoreCall::Replace, fault);
        let answer = scene.redrive(json!({})).await.unwrap();
        assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven], "{fault:?}");
        assert_eq!((scene.record(&job).generation, scene.messages("email").len()), (1, 1), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_written_leaves_its_message() {
    let scene = Scene::new();
    scene.many_dead(3);
    for _ in 0..2 {
        scene.store.fail_next(StoreCall::Replace, StoreFault::Throttle);
    }
    // The first put-back fails twice, side by side with others: two of three are through.
    for _ in 0..4 {
        scene.store.fail_next(StoreCall::Replace, StoreFault::Throttle);
    }
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(of(&answer, VerdictCode::RecordFailed), 3, "{answer:?}");
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (0, 3));
    all_runs_once(&scene, 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_table_that_does_not_answer_stops_the_run() {
    let scene = Scene::new();
    scene.many_dead(30);
    for _ in 0..60 {
        scene.store.fail_next(StoreCall::Get, StoreFault::Throttle);
    }
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((answer.state, answer.stopped), (RunState::Stopped, Some(Stopped::Unavailable)));
    assert_eq!((scene.messages("email-dlq").len(), of(&answer, VerdictCode::RecordFailed)), (30, 10));
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now), "nothing stays hidden");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_gone_or_closed_stops_the_run_at_its_first_page() {
    for code in ["QueueDoesNotExist", "AccessDenied", "KMS.AccessDeniedException", "AWS.SimpleQueueService.NonExistentQueue"] {
        let scene = Scene::new();
        scene.many_dead(35);
        scene.sqs.fail_always("email", SqsOperation::Send, SqsFault::Refuse(refused(code)));
        let answer = scene.redrive(json!({})).await.unwrap();
        assert_eq!((answer.state, answer.stopped), (RunState::Stopped, Some(Stopped::TargetUnavailable)), "{code}");
        assert!(answer.detail.as_deref().is_some_and(|detail| detail.contains(code)), "{answer:?}");
        assert_eq!((of(&answer, VerdictCode::SendFailed), scene.messages("email-dlq").len()), (10, 35), "{code}");
        assert_eq!(scene.sqs.count("email", SqsOperation::Send), 1, "{code}");
        let now = scene.now();
        assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now), "nothing stays hidden");
        assert_eq!(scene.journal.lock_of("email"), None);
        scene.sqs.heal();
        all_runs_once(&scene, 35).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_throttles_on_and_on_stops_the_run() {
    let scene = Scene::new();
    scene.many_dead(35);
    scene.sqs.fail_always("email", SqsOperation::Send, SqsFault::Refuse(passing()));
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((answer.state, answer.stopped), (RunState::Stopped, Some(Stopped::TargetUnavailable)));
    assert_eq!(scene.messages("email-dlq").len(), 35);
    scene.sqs.heal();
    all_runs_once(&scene, 35).await;
}

#[tokio::test(start_paused = true)]
async fn one_bad_message_does_not_keep_the_others() {
    let scene = Scene::new();
    scene.many_dead(40);
    for _ in 0..4 {
        let too_long = refused("InvalidParameterValue");
        scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::FailEntries(vec![(0, too_long)]));
    }
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(
        (answer.state, of(&answer, VerdictCode::SendFailed), of(&answer, VerdictCode::Redriven)),
        (RunState::Finished, 4, 36)
    );
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_queue_that_cannot_be_read_is_told() {
    let scene = Scene::new();
    scene.many_dead(3);
    let denied = QueueError::Refused { operation: "GetQueueAttributes", code: "AccessDenied".into() };
    scene.sqs.fail_next("email-dlq", SqsOperation::Depth, SqsFault::Refuse(denied));
    let refusal = scene.redrive(json!({})).await.expect_err("no access");
    assert_eq!(refusal.code, RefusalCode::AccessDenied);
    assert_eq!(scene.journal.lock_of("email"), None);

    scene.sqs.fail_always("email-dlq", SqsOperation::Receive, SqsFault::Refuse(passing()));
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((answer.state, answer.stopped), (RunState::Stopped, Some(Stopped::Unavailable)));
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_call_loses_nothing_and_runs_no_job_twice() {
    for call in 1..=8 {
        for moment in [Moment::Before, Moment::After] {
            let scene = Scene::new();
            scene.many_dead(15);
            scene.sqs.crash_at(call, moment);
            let (request, invocation) = (redrive(json!({ "runId": "run-1" })), scene.invocation());
            tokio::select! {
                answer = run::redrive(&scene.workbench, &request, &invocation) => {
                    assert!(call > 6, "call {call} was never made: {answer:?}");
                }
                () = scene.sqs.crashed() => {}
            }
            scene.sqs.heal();
            let copies = scene.sqs.all_messages().len();
            assert!((15..=25).contains(&copies), "call {call} {moment:?}: {copies} messages, a page more at most");
            tokio::time::sleep(Duration::from_secs(1_000)).await;
            let rest = scene.redrive(json!({ "runId": "run-1" })).await.unwrap();
            assert_eq!(rest.state, RunState::Finished, "call {call} {moment:?}");
            all_runs_once(&scene, 15).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_refused_do_not_speak_of_the_queue() {
    let scene = Scene::new();
    scene.many_dead(25);
    scene.sqs.fail_always("email", SqsOperation::Send, SqsFault::Refuse(refused("InvalidMessageContents")));
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((answer.state, of(&answer, VerdictCode::SendFailed)), (RunState::Finished, 25), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_refused_as_a_whole_goes_message_by_message() {
    let scene = Scene::new();
    scene.many_dead(10);
    scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::Refuse(refused("BatchRequestTooLong")));
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((of(&answer, VerdictCode::Redriven), scene.messages("email").len()), (10, 10), "{answer:?}");
    assert_eq!(scene.sqs.count("email", SqsOperation::Send), 11);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_stops_while_it_closes_hides_nothing() {
    let scene = Scene::new();
    let jobs = scene.many_dead(60);
    for job in &jobs[..5] {
        scene.set(job, |record| record.last_error = Some(LastError::new(ErrorClass::Crash, "gone", "it died")));
    }
    let dying = async {
        tokio::time::sleep(Duration::from_secs(22)).await;
        jobs[5..20].iter().for_each(|job| scene.set(job, |record| record.status = Status::Dead));
    };
    let request = json!({ "ratePerSecond": 1, "filter": { "codes": ["unknown_user"] } });
    let (answer, ()) = tokio::join!(scene.redrive_within(Duration::from_secs(45), request), dying);
    assert_eq!(answer.unwrap().stopped, Some(Stopped::ComingBack));
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now), "nothing stays hidden");
}
