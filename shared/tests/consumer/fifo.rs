//! FIFO queues: groups run in order and side by side, a failure holds back its own group only, and nothing ends without a reason.

use std::time::Duration;

use ikkai::consumer::{ConsumerSettings, Failure, FifoAfterDeath};
use ikkai::idempotency::Status;
use ikkai::testing::{Bench, MessageBuilder, QueueCall};

use crate::script::{
    Scripted, Step, captured, code, defer, fifo, killed_after, message_record_id, millis, permanent, record, record_by_id, retry,
    run, seconds, visible_in,
};

fn message(name: &str, group: &str) -> MessageBuilder {
    MessageBuilder::email(name).queue("email.fifo").group(group)
}

#[tokio::test(start_paused = true)]
async fn a_failure_holds_back_the_rest_of_its_group_and_nothing_else() {
    let handler = Scripted::new().on("m2", [retry()]);
    let bench = Bench::timed_with(handler.clone(), fifo());
    let batch = [message("m1", "g1"), message("m2", "g2"), message("m3", "g2"), message("m4", "g1"), message("m5", "g2")];
    assert_eq!(run(&bench, batch).await.failed, ["m2", "m3", "m5"]);
    let mut starts = handler.starts();
    starts.sort();
    assert_eq!(starts, ["m1", "m2", "m4"]);
    for follower in ["m3", "m5"] {
        assert_eq!(bench.record_of(&message(follower, "g2")), None, "no attempt is used");
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_runs_in_order_and_groups_run_side_by_side() {
    let mut handler = Scripted::new();
    for name in ["a1", "a2", "b1", "b2"] {
        handler = handler.on(name, [Step::Sleep(seconds(1)), Step::Effect]);
    }
    let bench = Bench::timed_with(handler.clone(), fifo());
    let began = tokio::time::Instant::now();
    let batch = [message("a1", "a"), message("a2", "a"), message("b1", "b"), message("b2", "b")];
    assert!(run(&bench, batch).await.failed.is_empty());
    assert_eq!((handler.starts(), began.elapsed()), (["a1", "b1", "a2", "b2"].map(str::to_owned).to_vec(), seconds(2)));
}

#[tokio::test]
async fn followers_get_their_visibility_before_their_head_and_never_a_longer_one() {
    for (step, head) in [(Step::Fail(Failure::retry("e", "failed").after(seconds(30))), seconds(30)), (defer(None), seconds(60))]
    {
        let bench = Bench::with(Scripted::new().on("m00", [step]), fifo());
        let batch: Vec<_> = (0..25).map(|n| message(&format!("m{n:02}"), "g")).collect();
        assert_eq!(run(&bench, batch.clone()).await.failed.len(), 25);
        let order: Vec<_> = bench.queue.visibility_calls().into_iter().flatten().collect();
        assert_eq!(order.len(), 25);
        let last = order.last().unwrap();
        assert_eq!((last.receipt_handle.as_str(), last.visible_in), ("receipt-m00", head), "the head comes last");
        assert!(order.iter().all(|set| set.visible_in <= head), "{order:?}");
    }
}

#[tokio::test]
async fn followers_that_were_not_started_are_logged() {
    let bench = Bench::with(Scripted::new().on("m1", [retry()]), fifo());
    let logs = captured();
    run(&bench, [message("m1", "g"), message("m2", "g")]).await;
    let line = logs.parsed().into_iter().find(|line| line["message_id"] == "m2").expect("a line");
    assert_eq!((line["message"].as_str(), line["outcome"].as_str()), (Some("job not started"), Some("not_started")));
}

#[tokio::test]
async fn after_the_death_of_a_head_its_group_goes_on_or_waits_as_configured() {
    for (setting, failed, starts) in
        [(FifoAfterDeath::Continue, vec!["m1"], vec!["m1", "m2"]), (FifoAfterDeath::HoldGroup, vec!["m1", "m2"], vec!["m1"])]
    {
        let handler = Scripted::new().on("m1", [permanent()]);
        let bench = Bench::with(handler.clone(), ConsumerSettings { fifo_after_death: setting, ..fifo() });
        assert_eq!(run(&bench, [message("m1", "g"), message("m2", "g")]).await.failed, failed, "{setting:?}");
        assert_eq!(handler.starts(), starts);
        // While the dead head spins towards the DLQ, the rule stays the same.
        let again = run(&bench, [message("m1", "g").received(2), message("m3", "g")]).await;
        assert_eq!(again.failed.len(), if setting == FifoAfterDeath::Continue { 1 } else { 2 });
        assert_eq!(handler.starts_of("m3"), usize::from(setting == FifoAfterDeath::Continue));
    }
}

#[tokio::test]
async fn a_bad_body_holds_its_group_only_where_deaths_do() {
    for (setting, failed) in [(FifoAfterDeath::Continue, 1), (FifoAfterDeath::HoldGroup, 2)] {
        let bench = Bench::with(Scripted::new(), ConsumerSettings { fifo_after_death: setting, ..fifo() });
        let bad = MessageBuilder::new("m1", "not a job").queue("email.fifo").group("g");
        assert_eq!(run(&bench, [bad, message("m2", "g")]).await.failed.len(), failed);
        assert_eq!(code(&record_by_id(&bench, &message_record_id("m1")).unwrap()), Some("body_not_json"));
    }
}

// -- the last receive ------------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn fifo_messages_are_never_renewed() {
    let bench = Bench::with(Scripted::new().on("m1", [retry()]), fifo());
    assert_eq!(run(&bench, [message("m1", "g").received(5)]).await.failed, ["m1"]);
    assert!(!bench.queue.calls().iter().any(|call| matches!(call, QueueCall::Send(_))));
    assert_eq!(record(&bench, &message("m1", "g")).status, Status::RetryScheduled);
}

#[tokio::test]
async fn what_wants_to_come_back_on_its_last_receive_is_dead_with_a_reason() {
    for step in [retry(), defer(None)] {
        let bench = Bench::with(Scripted::new().on("m1", [step]), fifo());
        assert_eq!(run(&bench, [message("m1", "g").received(6)]).await.failed, ["m1"]);
        let record = record(&bench, &message("m1", "g"));
        assert_eq!((record.status, code(&record)), (Status::Dead, Some("receives_exhausted")));
        assert!(record.last_error.unwrap().message.contains("provider_"), "the last failure is named");
        assert_eq!(visible_in(&bench, &message("m1", "g")), Some(Duration::ZERO));
    }
}

#[tokio::test]
async fn a_job_that_works_on_its_last_receive_is_done() {
    let bench = Bench::with(Scripted::new(), fifo());
    assert!(run(&bench, [message("m1", "g").received(6)]).await.failed.is_empty());
}

#[tokio::test]
async fn an_effect_that_cannot_be_known_on_the_last_receive_is_in_doubt_and_not_dead() {
    let bench = Bench::with(Scripted::new().on("m1", [Step::Begin(seconds(1)), Step::Effect, retry()]), fifo());
    run(&bench, [message("m1", "g").received(6)]).await;
    assert_eq!(record(&bench, &message("m1", "g")).status, Status::InDoubt);
}

#[tokio::test]
async fn a_follower_that_was_held_back_on_its_last_receive_is_dead_with_a_reason() {
    let handler = Scripted::new().on("m1", [retry()]);
    let bench = Bench::with(handler.clone(), fifo());
    let answer = run(&bench, [message("m1", "g"), message("m2", "g").received(6), message("m3", "g").received(5)]).await;
    assert_eq!(answer.failed, ["m1", "m2", "m3"]);
    let record = record(&bench, &message("m2", "g"));
    assert_eq!((record.status, code(&record)), (Status::Dead, Some("receives_exhausted")));
    assert_eq!(bench.record_of(&message("m3", "g")), None, "one receive is left");
    assert_eq!(handler.starts_of("m2"), 0);
}

#[tokio::test]
async fn a_record_not_started_at_the_deadline_of_its_last_receive_is_dead_with_a_reason() {
    let bench = Bench::with(Scripted::new(), fifo());
    let now = ikkai::clock::Clock::now(&bench.clock);
    let answer = bench.run_until([message("m1", "g").received(6).build()], Some(now + millis(150))).await.unwrap();
    assert_eq!(answer.failed, ["m1"]);
    let record = record(&bench, &message("m1", "g"));
    assert_eq!((record.status, code(&record)), (Status::Dead, Some("receives_exhausted")));
}

#[tokio::test]
async fn a_newer_schema_on_its_last_receive_is_dead_as_too_new() {
    let bench = Bench::with(Scripted::new(), fifo());
    let body = message("m1", "g").to_json()["body"].as_str().unwrap().replace("\"schemaVersion\":1", "\"schemaVersion\":2");
    for receive in 1..=6 {
        assert_eq!(run(&bench, [message("m1", "g").body(body.clone()).received(receive)]).await.failed, ["m1"]);
    }
    let record = record(&bench, &message("m1", "g"));
    assert_eq!((record.status, code(&record)), (Status::Dead, Some("schema_too_new")));
}

// -- crashes ---------------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_head_whose_worker_died_runs_last_and_before_its_followers() {
    let handler = Scripted::new().on("a1", [Step::Hang]).on("a1", [Step::Effect]).on("b1", [Step::Sleep(seconds(1))]);
    let bench = Bench::timed_with(handler.clone(), fifo());
    killed_after(&bench, seconds(5), [message("a1", "a")]).await;
    tokio::time::sleep(seconds(60)).await;
    let batch = [message("a1", "a").received(2), message("a2", "a"), message("b1", "b"), message("b2", "b")];
    assert!(run(&bench, batch).await.failed.is_empty());
    assert_eq!(handler.starts(), ["a1", "b1", "b2", "a1", "a2"]);
    assert_eq!(record(&bench, &message("a1", "a")).crashes, 1);
}

#[tokio::test(start_paused = true)]
async fn a_head_whose_lease_still_holds_keeps_its_followers_waiting() {
    let handler = Scripted::new().on("a1", [Step::Hang]);
    let bench = Bench::timed_with(handler.clone(), fifo());
    killed_after(&bench, seconds(5), [message("a1", "a")]).await;
    assert_eq!(run(&bench, [message("a1", "a").received(2), message("a2", "a")]).await.failed, ["a1", "a2"]);
    assert_eq!(handler.starts(), ["a1"]);
}
