//! Effects that must not happen twice: every kind of failure before and after the announcement, under both policies.

use std::time::Duration;

use ikkai::consumer::{Done, Failure, Handler, JobContext};
use ikkai::idempotency::{EffectPolicy, ErrorClass, Status};
use ikkai::job::{EmailSend, Job};
use ikkai::testing::{Bench, MessageBuilder, StoreCall, StoreFault};

use crate::script::{Scripted, Step, after, code, defer, millis, permanent, record, retry, run, seconds, settings};

fn ambiguous() -> Step {
    Step::Fail(Failure::ambiguous("answer_lost", "the provider's answer was lost"))
}

fn surely_not_done(step: Step) -> Step {
    match step {
        Step::Fail(failure) => Step::Fail(failure.surely_not_done()),
        other => other,
    }
}

/// How a run may end, by name.
fn endings() -> [(&'static str, Step); 7] {
    [
        ("retry", retry()),
        ("defer", defer(None)),
        ("permanent", permanent()),
        ("ambiguous", ambiguous()),
        ("panic with a str", Step::Panic("boom")),
        ("panic with a String", Step::PanicOwned("boom".to_owned())),
        ("timeout", Step::Hang),
    ]
}

async fn ends_as(policy: EffectPolicy, steps: Vec<Step>, max_attempts: u32) -> Status {
    let handler = Scripted::new().policy(policy).on("a", steps);
    let bench = Bench::timed_with(handler, ikkai::consumer::ConsumerSettings { max_attempts, ..settings() });
    let answer = run(&bench, ["a", "neighbour"].map(MessageBuilder::email)).await;
    assert_eq!(answer.failed, ["a"], "the neighbour is not disturbed");
    record(&bench, &MessageBuilder::email("a")).status
}

#[tokio::test(start_paused = true)]
async fn under_hold_a_failure_before_the_announcement_is_an_ordinary_one() {
    for (name, step) in endings() {
        let (first, last) = match name {
            "permanent" => (Status::Dead, Status::Dead),
            "defer" => (Status::RetryScheduled, Status::RetryScheduled),
            // The handler says that it may have happened, announced or not.
            "ambiguous" => (Status::InDoubt, Status::InDoubt),
            _ => (Status::RetryScheduled, Status::Dead),
        };
        assert_eq!(ends_as(EffectPolicy::Hold, vec![step.clone()], 3).await, first, "{name} on the first attempt");
        assert_eq!(ends_as(EffectPolicy::Hold, vec![step], 1).await, last, "{name} on the last attempt");
    }
}

#[tokio::test(start_paused = true)]
async fn under_hold_every_failure_after_the_announcement_leaves_the_job_in_doubt() {
    for (name, step) in endings() {
        for max_attempts in [3, 1] {
            let steps = vec![Step::Begin(seconds(1)), Step::Effect, step.clone()];
            assert_eq!(ends_as(EffectPolicy::Hold, steps, max_attempts).await, Status::InDoubt, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_the_handler_marks_as_surely_not_done_is_ordinary_even_after_the_announcement() {
    for (name, step) in endings().into_iter().take(3) {
        let (first, last) = match name {
            "permanent" => (Status::Dead, Status::Dead),
            "defer" => (Status::RetryScheduled, Status::RetryScheduled),
            _ => (Status::RetryScheduled, Status::Dead),
        };
        let steps = vec![Step::Begin(seconds(1)), surely_not_done(step)];
        assert_eq!(ends_as(EffectPolicy::Hold, steps.clone(), 3).await, first, "{name} on the first attempt");
        assert_eq!(ends_as(EffectPolicy::Hold, steps, 1).await, last, "{name} on the last attempt");
    }
}

#[tokio::test(start_paused = true)]
async fn under_rerun_failures_are_repeated_and_an_ambiguous_last_one_is_in_doubt() {
    for (name, step) in endings() {
        let (first, last) = match name {
            "permanent" => (Status::Dead, Status::Dead),
            "defer" => (Status::RetryScheduled, Status::RetryScheduled),
            "ambiguous" | "timeout" => (Status::RetryScheduled, Status::InDoubt),
            _ => (Status::RetryScheduled, Status::Dead),
        };
        let steps = vec![Step::Effect, step];
        assert_eq!(ends_as(EffectPolicy::RERUN, steps.clone(), 3).await, first, "{name} on the first attempt");
        assert_eq!(ends_as(EffectPolicy::RERUN, steps, 1).await, last, "{name} on the last attempt");
    }
}

const WINDOW: Duration = Duration::from_secs(86_400);
const REMEMBERED: EffectPolicy = EffectPolicy::Rerun { idempotent_for: Some(WINDOW), looks_up: false };

#[tokio::test(start_paused = true)]
async fn where_a_repetition_is_harmless_for_a_while_only_a_panic_on_the_last_attempt_is_in_doubt() {
    for panic in [Step::Panic("boom"), Step::PanicOwned("boom".to_owned())] {
        assert_eq!(ends_as(REMEMBERED, vec![Step::Effect, panic.clone()], 3).await, Status::RetryScheduled);
        assert_eq!(ends_as(REMEMBERED, vec![Step::Effect, panic], 1).await, Status::InDoubt);
    }
}

/// Panics before it returns its future, which no `await` sees.
struct PanicsAtOnce;

impl Handler for PanicsAtOnce {
    type Payload = EmailSend;

    #[allow(clippy::manual_async_fn)] // The synchronous part is the point.
    fn handle(&self, job: &Job<EmailSend>, _: &JobContext) -> impl Future<Output = Result<Done, Failure>> + Send {
        if job.payload.delivery_id.as_str() == "a" {
            std::panic::resume_unwind(Box::new("boom"));
        }
        async { Ok(Done::new()) }
    }
}

#[tokio::test]
async fn a_panic_in_the_synchronous_part_of_a_handler_ends_its_record_only() {
    let bench = Bench::with(PanicsAtOnce, settings());
    let answer = run(&bench, ["a", "b"].map(MessageBuilder::email)).await;
    assert_eq!(answer.failed, ["a"]);
    let record = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((record.status, code(&record)), (Status::RetryScheduled, Some("handler_panicked")));
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_stopped_in_time_to_settle_and_nothing_of_it_runs_on() {
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(100)), Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), settings());
    let answer = tokio::time::timeout(seconds(30), run(&bench, [MessageBuilder::email("a")])).await.expect("an answer in time");
    assert_eq!((answer.failed, handler.running()), (vec!["a".to_owned()], 0));
    let stopped = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((stopped.status, code(&stopped)), (Status::RetryScheduled, Some("handler_timed_out")));
    tokio::time::sleep(seconds(200)).await;
    assert_eq!(handler.effects_of("a"), 0, "nothing runs on after the answer");
}

// -- begin_effect ----------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn an_effect_that_could_not_finish_in_time_is_not_begun_and_the_attempt_is_given_back() {
    let handler =
        Scripted::new().on("a", [Step::Sleep(seconds(20)), Step::Begin(seconds(10)), Step::Effect]).on("a", [Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), settings());
    assert_eq!(run(&bench, [MessageBuilder::email("a")]).await.failed, ["a"]);
    let released = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((released.status, released.attempts, released.effect_begun), (Status::RetryScheduled, 0, false));
    assert_eq!((code(&released), handler.effects_of("a")), (Some("no_time_for_effect"), 0));
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_just_fits_begins_and_its_lease_covers_the_provider() {
    // 30 s less 2 s for settling: a provider that may take 8 s fits at second 20, and no later.
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(20)), Step::Begin(seconds(8)), Step::Effect, Step::Hang]);
    let bench = Bench::timed_with(handler.clone(), settings());
    let killed = tokio::time::timeout(seconds(21), run(&bench, [MessageBuilder::email("a")])).await;
    assert!(killed.is_err());
    let begun = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((begun.effect_begun, begun.first_effect_at), (true, Some(after(seconds(20)))));
    assert!(begun.lease_until >= Some(after(seconds(28))), "{:?}", begun.lease_until);
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_announcement_that_fails_starts_no_effect() {
    for fault in [StoreFault::Throttle, StoreFault::Unreachable, StoreFault::LoseAnswer] {
        let handler = Scripted::new().on("a", [Step::Begin(seconds(1)), Step::Effect]);
        let bench = Bench::timed_with(handler.clone(), settings());
        bench.store.fail_next(StoreCall::Replace, fault);
        assert_eq!(run(&bench, [MessageBuilder::email("a")]).await.failed, ["a"]);
        let record = record(&bench, &MessageBuilder::email("a"));
        assert_eq!((record.status, record.attempts), (Status::RetryScheduled, 1), "{fault:?}");
        assert_eq!((record.effect_begun, handler.effects_of("a")), (false, 0), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_with_two_effects_is_in_doubt_when_the_second_announcement_is_refused() {
    let too_late = vec![Step::Begin(seconds(1)), Step::Effect, Step::Sleep(seconds(20)), Step::Begin(seconds(10)), Step::Effect];
    let unanswered = vec![Step::Begin(seconds(1)), Step::Effect, Step::Begin(seconds(1)), Step::Effect];
    for (steps, faulty) in [(too_late, false), (unanswered, true)] {
        let handler = Scripted::new().on("a", steps);
        let bench = Bench::timed_with(handler.clone(), settings());
        if faulty {
            bench.store.fail_next(StoreCall::Replace, StoreFault::Delay(millis(1)));
            bench.store.fail_next(StoreCall::Replace, StoreFault::Throttle);
        }
        assert_eq!(run(&bench, [MessageBuilder::email("a")]).await.failed, ["a"]);
        assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::InDoubt, "the first effect happened");
        assert_eq!(handler.effects_of("a"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_after_a_retry_of_a_not_done_effect_may_begin_again() {
    let not_done = surely_not_done(retry());
    let handler = Scripted::new().on("a", [Step::Begin(seconds(1)), not_done]).on("a", [Step::Begin(seconds(1)), Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), settings());
    run(&bench, [MessageBuilder::email("a")]).await;
    let waiting = record(&bench, &MessageBuilder::email("a"));
    assert!(!waiting.effect_begun);
    assert_eq!(waiting.first_effect_at, Some(after(seconds(0))), "the first announcement is never forgotten");
    tokio::time::sleep(seconds(10)).await;
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    assert_eq!(record(&bench, &MessageBuilder::email("a")).first_effect_at, Some(after(seconds(0))));
}

// -- the provider's memory of keys -----------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn an_effect_is_repeated_only_while_the_provider_remembers_its_key() {
    for (waited, status, effects) in [(WINDOW - seconds(1), Status::Succeeded, 2), (WINDOW + seconds(1), Status::InDoubt, 1)] {
        let handler = Scripted::new().policy(REMEMBERED).on("a", [Step::Effect, ambiguous()]).on("a", [Step::Effect]);
        let bench = Bench::timed_with(handler.clone(), settings());
        run(&bench, [MessageBuilder::email("a")]).await;
        assert_eq!(record(&bench, &MessageBuilder::email("a")).first_effect_at, Some(after(seconds(0))));
        tokio::time::sleep(waited).await;
        run(&bench, [MessageBuilder::email("a").received(2)]).await;
        let record = record(&bench, &MessageBuilder::email("a"));
        assert_eq!((record.status, handler.effects_of("a")), (status, effects), "after {waited:?}");
        if status == Status::InDoubt {
            assert_eq!(code(&record), Some("idempotency_window_over"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_surely_did_not_happen_does_not_start_the_window() {
    let handler = Scripted::new().policy(REMEMBERED).on("a", [surely_not_done(defer(None))]).on("a", [Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), settings());
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!(record(&bench, &MessageBuilder::email("a")).first_effect_at, None);
    tokio::time::sleep(WINDOW + seconds(60)).await;
    assert!(run(&bench, [MessageBuilder::email("a").received(2)]).await.failed.is_empty());

    let handler = Scripted::new().policy(REMEMBERED).on("a", [surely_not_done(permanent())]).on("b", [permanent()]);
    let bench = Bench::timed_with(handler, settings());
    run(&bench, ["a", "b"].map(MessageBuilder::email)).await;
    let noted = ["a", "b"].map(|name| record(&bench, &MessageBuilder::email(name)).first_effect_at.is_some());
    assert_eq!(noted, [false, true], "a dead job that is put back begins anew, if it surely was not done");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_looks_effects_up_runs_after_the_window_too_and_knows_of_the_first_try() {
    struct LooksUp;
    impl Handler for LooksUp {
        type Payload = EmailSend;

        fn effect_policy(&self) -> EffectPolicy {
            EffectPolicy::Rerun { idempotent_for: Some(WINDOW), looks_up: true }
        }

        async fn handle(&self, _: &Job<EmailSend>, context: &JobContext) -> Result<Done, Failure> {
            match context.first_effect_at() {
                None => Err(Failure::ambiguous("answer_lost", "the provider's answer was lost")),
                Some(first) => Ok(Done::with_result(serde_json::json!(first))),
            }
        }
    }
    let bench = Bench::timed_with(LooksUp, settings());
    run(&bench, [MessageBuilder::email("a")]).await;
    tokio::time::sleep(WINDOW * 3).await;
    assert!(run(&bench, [MessageBuilder::email("a").received(2)]).await.failed.is_empty());
    assert_eq!(record(&bench, &MessageBuilder::email("a")).result, Some(serde_json::json!(after(seconds(0)))));
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_a_run_that_may_have_had_its_effect_ends_in_doubt_and_cannot_be_cancelled_before() {
    let rerun = EffectPolicy::Rerun { idempotent_for: Some(seconds(3_600)), looks_up: true };
    let possibly = |step: Step| match step {
        Step::Fail(failure) => Step::Fail(failure.possibly_done()),
        other => other,
    };
    for (name, step, first, last) in [
        ("retry", retry(), Status::RetryScheduled, Status::InDoubt),
        ("defer", defer(None), Status::RetryScheduled, Status::RetryScheduled),
        ("permanent", permanent(), Status::InDoubt, Status::InDoubt),
    ] {
        assert_eq!(ends_as(rerun, vec![possibly(step.clone())], 3).await, first, "{name} on the first attempt");
        assert_eq!(ends_as(rerun, vec![possibly(step)], 1).await, last, "{name} on the last attempt");
    }
    let handler = Scripted::new().policy(rerun).on("a", [possibly(defer(None))]);
    let bench = Bench::timed_with(handler, settings());
    run(&bench, [MessageBuilder::email("a")]).await;
    let error = record(&bench, &MessageBuilder::email("a")).last_error.expect("a reason");
    assert_eq!(error.class, ErrorClass::Ambiguous, "which is what a cancellation asks about");
}
