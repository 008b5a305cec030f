//! Answers of the table that get lost, in every position: nothing is done twice, and nothing is believed that was not confirmed.

use ikkai::idempotency::Status;
use ikkai::testing::{Bench, MessageBuilder, StoreCall, StoreFault};

use crate::script::{Scripted, Step, counted, millis, record, retry, run, seconds, visible_in};

/// Announces its effect, has it, and takes a while on both sides.
fn slow_effect() -> [Step; 4] {
    [Step::Sleep(seconds(1)), Step::Begin(seconds(2)), Step::Effect, Step::Sleep(seconds(1))]
}

#[tokio::test(start_paused = true)]
async fn the_sdk_meeting_its_own_write_changes_nothing_in_any_position() {
    for position in 0..3 {
        let handler = Scripted::new().on("a", slow_effect());
        let bench = Bench::timed(handler.clone());
        let calls = [StoreCall::Claim, StoreCall::Replace, StoreCall::Replace];
        for passed in &calls[..position] {
            bench.store.fail_next(*passed, StoreFault::Delay(millis(1)));
        }
        bench.store.fail_next(calls[position], StoreFault::RepeatAfterLostAnswer);
        let answer = run(&bench, [MessageBuilder::email("a")]).await;
        assert!(answer.failed.is_empty(), "position {position}");
        assert_eq!(
            (counted(&answer, "JobsSucceeded"), counted(&answer, "JobsDuplicate")),
            (1, 0),
            "it is no duplicate of itself"
        );
        let record = record(&bench, &MessageBuilder::email("a"));
        assert_eq!((record.status, record.attempts, handler.effects_of("a")), (Status::Succeeded, 1, 1), "position {position}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_sdk_meeting_its_own_settlement_of_a_failure_changes_nothing() {
    for (step, status) in [(retry(), Status::RetryScheduled), (crate::script::permanent(), Status::Dead)] {
        let bench = Bench::timed(Scripted::new().on("a", [step]));
        bench.store.fail_next(StoreCall::Replace, StoreFault::RepeatAfterLostAnswer);
        assert_eq!(run(&bench, [MessageBuilder::email("a")]).await.failed, ["a"]);
        let record = record(&bench, &MessageBuilder::email("a"));
        assert_eq!((record.status, record.attempts), (status, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_got_lost_is_asked_again_and_goes_on() {
    let handler = Scripted::new().on("a", slow_effect());
    let bench = Bench::timed(handler.clone());
    bench.store.fail_next(StoreCall::Claim, StoreFault::LoseAnswer);
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    let record = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((record.status, record.attempts, record.crashes), (Status::Succeeded, 1, 0));
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_first_call_after_a_freeze_may_fail_once() {
    let handler = Scripted::new();
    let bench = Bench::timed(handler.clone());
    bench.store.fail_next(StoreCall::Claim, StoreFault::Unreachable);
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    assert_eq!(bench.store.calls(), [StoreCall::Claim, StoreCall::Claim, StoreCall::Replace]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_never_answered_ends_well_after_the_lease() {
    let handler = Scripted::new().on("a", slow_effect());
    let bench = Bench::timed(handler.clone());
    bench.store.fail_next(StoreCall::Claim, StoreFault::LoseAnswer);
    bench.store.fail_next(StoreCall::Claim, StoreFault::LoseAnswer);
    assert_eq!(run(&bench, [MessageBuilder::email("a")]).await.failed, ["a"]);
    assert_eq!(handler.starts_of("a"), 0);
    tokio::time::sleep(seconds(45)).await;
    assert!(run(&bench, [MessageBuilder::email("a").received(2)]).await.failed.is_empty());
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_announcement_whose_answer_got_lost_starts_no_effect_and_is_tried_again() {
    let handler = Scripted::new().on("a", slow_effect());
    let bench = Bench::timed(handler.clone());
    bench.store.fail_next(StoreCall::Replace, StoreFault::LoseAnswer);
    assert_eq!(run(&bench, [MessageBuilder::email("a")]).await.failed, ["a"]);
    let first = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((first.status, first.effect_begun, handler.effects_of("a")), (Status::RetryScheduled, false, 0));
    tokio::time::sleep(seconds(10)).await;
    assert!(run(&bench, [MessageBuilder::email("a").received(2)]).await.failed.is_empty());
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_settlement_whose_answer_got_lost_is_asked_again_and_recognised() {
    let handler = Scripted::new().on("a", slow_effect());
    let bench = Bench::timed(handler.clone());
    bench.store.fail_next(StoreCall::Replace, StoreFault::Delay(millis(1)));
    bench.store.fail_next(StoreCall::Replace, StoreFault::LoseAnswer);
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_settlement_that_is_never_answered_fails_closed_and_the_record_decides_later() {
    // Written although nobody heard of it: the next delivery is a duplicate. Never written: in doubt, since the effect had begun.
    for (fault, status, failed) in
        [(StoreFault::LoseAnswer, Status::Succeeded, vec![]), (StoreFault::Throttle, Status::InDoubt, vec!["a".to_owned()])]
    {
        let handler = Scripted::new().on("a", slow_effect());
        let bench = Bench::timed(handler.clone());
        bench.store.fail_next(StoreCall::Replace, StoreFault::Delay(millis(1)));
        let faults = if fault == StoreFault::LoseAnswer {
            vec![fault, StoreFault::Throttle, StoreFault::Throttle, StoreFault::Throttle]
        } else {
            vec![fault; 4]
        };
        for fault in faults {
            bench.store.fail_next(StoreCall::Replace, fault);
        }
        let answer = run(&bench, [MessageBuilder::email("a")]).await;
        assert_eq!(answer.failed, ["a"], "not known to be done");
        tokio::time::sleep(visible_in(&bench, &MessageBuilder::email("a")).unwrap()).await;
        assert_eq!(run(&bench, [MessageBuilder::email("a").received(2)]).await.failed, failed, "{fault:?}");
        assert_eq!(record(&bench, &MessageBuilder::email("a")).status, status);
        assert_eq!((handler.starts_of("a"), handler.effects_of("a")), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_table_delays_a_settlement_but_does_not_lose_it() {
    let handler = Scripted::new();
    let bench = Bench::timed(handler.clone());
    for _ in 0..3 {
        bench.store.fail_next(StoreCall::Replace, StoreFault::Throttle);
    }
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_table_that_hangs_for_one_record_costs_the_others_nothing() {
    for call in [StoreCall::Claim, StoreCall::Replace] {
        let handler = Scripted::new();
        let bench = Bench::timed(handler.clone());
        bench.store.fail_next(call, StoreFault::Hang);
        let answer = tokio::time::timeout(seconds(30), run(&bench, ["a", "b", "c"].map(MessageBuilder::email))).await;
        let answer = answer.unwrap_or_else(|_| panic!("{call:?}: no answer before the deadline"));
        assert_eq!(answer.failed, ["a"], "{call:?}");
        assert_eq!(counted(&answer, "JobsSucceeded"), 2);
    }
}
