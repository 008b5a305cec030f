//! Bounds: deadline, rate, snapshot, `max`; and how a run goes on.

use std::time::Duration;

use dlq_redrive::protocol::{RunState, VerdictCode};
use ikkai::idempotency::{ErrorClass, LastError, Status};
use ikkai::queue::OutgoingMessage;
use ikkai::testing::{Moment, SqsFault, SqsOperation};
use serde_json::json;

use crate::scene::{Scene, check_sums, codes};

#[tokio::test(start_paused = true)]
async fn ten_thousand_messages_are_put_back_selectively_in_several_parts_at_the_asked_rate() {
    let scene = Scene::new();
    scene.bury_many(10_000, |index, record| {
        if index % 2 == 0 {
            record.last_error = Some(LastError::new(ErrorClass::Exhausted, "receives_exhausted", "throttled"));
        }
    });
    let began = scene.now();
    let request = json!({ "filter": { "classes": ["exhausted"] }, "ratePerSecond": 100, "stopAtReturnedPercent": 100 });
    let answers = scene.redrive_to_the_end(Duration::from_secs(40), request).await;
    let took = scene.now().since(began).as_secs_f64();

    let last = answers.last().unwrap();
    assert_eq!((last.state, last.tally.redriven, last.tally.matched), (RunState::Finished, 5_000, 5_000), "{:?}", last.tally);
    check_sums(last);
    assert!(answers.len() >= 3, "{} parts", answers.len());
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (5_000, 5_000));
    let rate = 5_000.0 / took;
    assert!((90.0..=110.0).contains(&rate), "{rate} messages a second");
    // What was left by one part was not read again by the next.
    assert_eq!(last.tally.seen, 10_000);
    assert_eq!((scene.store.reads(), scene.store.writes()), (10_000, 5_000));
    let now = scene.now();
    assert!(
        scene.messages("email-dlq").iter().filter(|message| message.visible_at > now).count() > 0,
        "what earlier parts left comes out by itself"
    );
}

#[tokio::test(start_paused = true)]
async fn the_rate_holds_within_a_tenth_for_slow_and_fast_runs() {
    for (count, rate) in [(30, 1), (60, 7), (600, 60), (3_000, 500)] {
        let scene = Scene::new();
        scene.many_dead(count);
        let began = scene.now();
        let answer = scene.redrive(json!({ "ratePerSecond": rate, "stopAtReturnedPercent": 100 })).await.unwrap();
        let took = scene.now().since(began).as_secs_f64();
        assert_eq!(answer.tally.redriven, count as u64, "{answer:?}");
        let seen = count as f64 / took;
        assert!(seen > f64::from(rate) * 0.9 && seen < f64::from(rate) * 1.1, "{seen} instead of {rate} a second");
    }
}

#[tokio::test(start_paused = true)]
async fn near_its_deadline_a_part_stops_and_the_next_one_goes_on() {
    let scene = Scene::new();
    scene.many_dead(100);
    let answers = scene.redrive_to_the_end(Duration::from_secs(45), json!({ "ratePerSecond": 2 })).await;
    assert!(answers.len() >= 2);
    let first = &answers[0];
    assert_eq!((first.state, first.continue_after_seconds), (RunState::Continues, Some(0)));
    assert!(first.tally.redriven >= 48 && first.tally.redriven <= 52, "25 seconds at 2 a second: {:?}", first.tally);
    assert_eq!(answers.last().unwrap().tally.redriven, 100);
    assert_eq!(scene.messages("email").len(), 100, "each of them once");
    assert_eq!(answers.iter().map(|answer| answer.verdicts.len()).sum::<usize>(), 100, "each part tells its own");
}

#[tokio::test(start_paused = true)]
async fn no_more_than_max_are_put_back_over_all_parts() {
    let scene = Scene::new();
    scene.many_dead(60);
    let answers = scene.redrive_to_the_end(Duration::from_secs(25), json!({ "max": 33, "ratePerSecond": 4 })).await;
    assert!(answers.len() > 1);
    assert_eq!(answers.last().unwrap().tally.redriven, 33);
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (33, 27));
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now));
}

#[tokio::test(start_paused = true)]
async fn what_arrives_after_the_start_is_not_touched() {
    let scene = Scene::new();
    scene.many_dead(40);
    let late = async {
        tokio::time::sleep(Duration::from_secs(6)).await;
        for index in 0..10 {
            scene.dead(&format!("late-{index}"));
        }
    };
    let (answer, ()) = tokio::join!(scene.redrive(json!({ "ratePerSecond": 4 })), late);
    let answer = answer.unwrap();
    assert_eq!((answer.tally.snapshot, answer.tally.redriven, answer.tally.matched), (40, 40, 40));
    assert_eq!(scene.messages("email-dlq").len(), 10);
}

#[tokio::test(start_paused = true)]
async fn what_arrives_later_does_not_take_the_place_of_what_somebody_else_has() {
    use ikkai::queue::Inbox;
    let scene = Scene::new();
    scene.many_dead(20);
    let taken = scene.sqs.queue("email-dlq").receive(5, Duration::from_secs(600), Duration::ZERO).await.unwrap();
    let late = async {
        tokio::time::sleep(Duration::from_secs(6)).await;
        scene.bury_many(5, |_, _| {});
    };
    let (answer, ()) = tokio::join!(scene.redrive(json!({ "ratePerSecond": 1 })), late);
    let answer = answer.unwrap();
    assert_eq!((taken.len(), answer.tally.redriven, answer.tally.matched), (5, 15, 15), "{:?}", answer.tally);
    assert_eq!(scene.messages("email-dlq").len(), 10);
}

#[tokio::test(start_paused = true)]
async fn the_snapshot_says_when_there_is_nothing_more_to_look_for() {
    let scene = Scene::new();
    scene.many_dead(12);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(answer.tally.seen, 12);
    assert_eq!(scene.sqs.count("email-dlq", SqsOperation::Receive), 2, "no look for more");
}

#[tokio::test(start_paused = true)]
async fn messages_that_do_not_match_are_left_and_visible_afterwards() {
    let scene = Scene::new();
    let jobs = scene.many_dead(25);
    for job in &jobs[..5] {
        scene.set(job, |record| record.last_error = Some(LastError::new(ErrorClass::Crash, "gone", "it died")));
    }
    let answer = scene.redrive(json!({ "filter": { "codes": ["gone"] } })).await.unwrap();
    assert_eq!((answer.tally.seen, answer.tally.matched, answer.tally.redriven), (25, 5, 5));
    let now = scene.now();
    let left = scene.messages("email-dlq");
    assert_eq!(left.len(), 20);
    assert!(left.iter().all(|message| message.visible_at <= now && message.receive_count == 1), "each was read once");
}

#[tokio::test(start_paused = true)]
async fn all_means_every_queue_of_the_stack() {
    let scene = Scene::new();
    scene.many_dead(15);
    scene.sqs.bury("billing", &[OutgoingMessage::new("no job"), OutgoingMessage::new("neither")]);
    let answer = scene.redrive(json!({ "queue": "all" })).await.unwrap();
    assert_eq!((answer.tally.snapshot, answer.tally.redriven), (17, 17));
    assert_eq!((scene.messages("email").len(), scene.messages("billing").len()), (15, 2));
    assert_eq!(scene.journal.runs()[0].summary.queues, ["email", "billing"]);
    assert_eq!((scene.journal.lock_of("email"), scene.journal.lock_of("billing")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn all_goes_on_in_the_queue_where_it_was() {
    let scene = Scene::new();
    scene.many_dead(30);
    let bodies: Vec<_> = (0..30).map(|index| OutgoingMessage::new(format!("no job {index}"))).collect();
    scene.sqs.bury("billing", &bodies);
    let answers = scene.redrive_to_the_end(Duration::from_secs(30), json!({ "queue": "all", "ratePerSecond": 4 })).await;
    assert!(answers.len() > 1);
    assert_eq!((scene.messages("email").len(), scene.messages("billing").len()), (30, 30));
    check_sums(answers.last().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_slow_run_keeps_its_messages_hidden_until_their_turn() {
    let mut scene = Scene::new();
    scene.workbench.limits.sweep.hidden_for = Duration::from_secs(8);
    scene.many_dead(10);
    // Ten messages at one a second: the last of a page would be visible again before its turn.
    let answer = scene.redrive(json!({ "ratePerSecond": 1 })).await.unwrap();
    assert_eq!((answer.tally.redriven, codes(&answer.verdicts)), (10, vec![VerdictCode::Redriven; 10]));
    assert!(scene.sqs.count("email-dlq", SqsOperation::ChangeVisibility) > 0);
    assert_eq!((scene.messages("email").len(), scene.messages("email-dlq").len()), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_not_taken_at_its_word() {
    let scene = Scene::new();
    scene.many_dead(3);
    scene.sqs.fail_next("email-dlq", SqsOperation::Receive, ikkai::testing::SqsFault::FindNothing);
    scene.sqs.fail_next("email-dlq", SqsOperation::Receive, ikkai::testing::SqsFault::FindNothing);
    assert_eq!(scene.redrive(json!({})).await.unwrap().tally.redriven, 3);
}

#[tokio::test(start_paused = true)]
async fn messages_that_somebody_else_has_are_told_of() {
    use ikkai::queue::Inbox;
    let scene = Scene::new();
    scene.many_dead(5);
    let taken = scene.sqs.queue("email-dlq").receive(2, Duration::from_secs(600), Duration::ZERO).await.unwrap();
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!((taken.len(), answer.tally.redriven), (2, 3));
    assert!(answer.detail.as_deref().is_some_and(|detail| detail.starts_with("2 of the 5")), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_part_that_dies_does_not_make_more_of_max() {
    let scene = Scene::new();
    scene.many_dead(60);
    // Two pages are through: the depth, and a receive, a send and a delete for each.
    scene.sqs.crash_at(8, Moment::Before);
    let request = json!({ "max": 30, "runId": "run-1" });
    tokio::select! {
        answer = scene.redrive(request.clone()) => panic!("{answer:?}"),
        () = scene.sqs.crashed() => {}
    }
    scene.sqs.heal();
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let answer = scene.redrive(request).await.unwrap();
    assert_eq!((answer.tally.redriven, scene.messages("email").len()), (30, 30), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn wherever_a_part_dies_no_more_than_max_are_put_back() {
    for (moment, max) in [Moment::Before, Moment::After].into_iter().flat_map(|moment| [(moment, 15), (moment, 130)]) {
        // The depth, then a receive, a send and a delete for each page.
        for call in 1..=3 * max / 10 + 3 {
            let scene = Scene::new();
            scene.many_dead(300);
            scene.sqs.crash_at(call, moment);
            let request = json!({ "max": max, "runId": "run-1", "stopAtReturnedPercent": 100 });
            let died = tokio::select! {
                _ = scene.redrive(request.clone()) => false,
                () = scene.sqs.crashed() => true,
            };
            scene.sqs.heal();
            tokio::time::sleep(Duration::from_secs(1_000)).await;
            let answer = scene.redrive(request).await.unwrap();
            let sent = scene.messages("email").len() as u64;
            assert!(sent <= max, "{sent} of {max} at {call} {moment:?}: {answer:?}");
            // What is not known is one page at first, and no more than two hundred later.
            let unknown = if sent < 100 { 10 } else { 100 };
            assert!(sent + unknown >= max, "{sent} of {max} at {call} {moment:?}: {answer:?}");
            let told = answer.detail.as_deref().is_some_and(|detail| detail.contains("count towards max"));
            assert!(told || sent == max || !died, "{sent} of {max} at {call} {moment:?}: {answer:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_sent_counts_towards_max() {
    let scene = Scene::new();
    scene.many_dead(30);
    for _ in 0..2 {
        scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::LoseAnswer);
    }
    let answer = scene.redrive(json!({ "max": 10, "ratePerSecond": 5 })).await.unwrap();
    assert_eq!(answer.tally.by_verdict[&VerdictCode::SendFailed], 5);
    assert_eq!(answer.tally.redriven, 5, "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_was_begun_just_before_the_end_does_not_outlast_the_invocation() {
    let hanging = || SqsFault::Delay(Duration::from_secs(60));
    for (queue, operation, verdict) in
        [("email", SqsOperation::Send, VerdictCode::SendFailed), ("email-dlq", SqsOperation::Delete, VerdictCode::SentNotDeleted)]
    {
        let scene = Scene::new();
        scene.many_dead(40);
        // The page at hand when a call hangs, with a second left before nothing new is begun.
        scene.sqs.fail_next("email-dlq", SqsOperation::Receive, SqsFault::Delay(Duration::from_secs(24)));
        scene.sqs.fail_next(queue, operation, hanging());
        let began = scene.now();
        let answer = scene.redrive_within(Duration::from_secs(45), json!({ "runId": "run-1" })).await.unwrap();
        let took = scene.now().since(began);
        assert!(took < Duration::from_secs(45), "{operation:?}: {took:?}");
        assert_eq!(answer.state, RunState::Continues, "{operation:?}: {answer:?}");
        assert_eq!(codes(&answer.verdicts), vec![verdict; 10], "{operation:?}");
        assert_eq!(scene.journal.lock_of("run/run-1"), None, "written down and let go");
    }
    let scene = Scene::new();
    scene.many_dead(5);
    scene.sqs.fail_next("email-dlq", SqsOperation::Receive, hanging());
    let began = scene.now();
    let answer = scene.redrive_within(Duration::from_secs(45), json!({})).await.unwrap();
    assert_eq!((answer.state, answer.tally.seen), (RunState::Continues, 0));
    assert!(scene.now().since(began) < Duration::from_secs(45));
}

#[tokio::test(start_paused = true)]
async fn a_receive_that_takes_all_the_time_is_followed_by_nothing() {
    let scene = Scene::new();
    scene.many_dead(15);
    scene.sqs.fail_next("email-dlq", SqsOperation::Receive, SqsFault::Delay(Duration::from_secs(30)));
    let answer = scene.redrive_within(Duration::from_secs(45), json!({ "runId": "run-1" })).await.unwrap();
    assert_eq!((answer.state, scene.messages("email").len()), (RunState::Continues, 0));
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now), "the next part finds them at once");
    let last = scene.redrive(json!({ "runId": "run-1", "cursor": "1" })).await.unwrap();
    assert_eq!((last.tally.seen, last.tally.redriven), (15, 15));
}

#[tokio::test(start_paused = true)]
async fn a_send_that_takes_all_the_time_is_followed_by_nothing() {
    let scene = Scene::new();
    scene.many_dead(10);
    scene.sqs.fail_next("email", SqsOperation::Send, SqsFault::Delay(Duration::from_secs(30)));
    let slow = json!({ "runId": "run-1", "ratePerSecond": 5 });
    let answer = scene.redrive_within(Duration::from_secs(45), slow).await.unwrap();
    assert_eq!((answer.state, scene.messages("email").len()), (RunState::Continues, 5));
    let now = scene.now();
    assert!(scene.messages("email-dlq").iter().all(|message| message.visible_at <= now), "the next part finds them at once");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_left_is_judged_once_over_all_parts() {
    let scene = Scene::new();
    scene.buried("mail-doubt", |record| record.status = Status::InDoubt);
    scene.many_dead(40);
    let mut request = json!({ "runId": "run-1", "ratePerSecond": 1 });
    let first = scene.redrive_within(Duration::from_secs(40), request.clone()).await.unwrap();
    assert_eq!((first.state, first.tally.by_verdict[&VerdictCode::InDoubt]), (RunState::Continues, 1));
    // What was left comes out again.
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    request["cursor"] = "1".into();
    let last = scene.redrive(request).await.unwrap();
    assert_eq!((last.tally.redriven, last.tally.by_verdict[&VerdictCode::InDoubt]), (40, 1), "{last:?}");
}
