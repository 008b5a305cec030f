//! Bounds: handlers at a time, starts a second, the circuit breaker, and the batch that fails as a whole.

use std::time::Duration;

use ikkai::consumer::{BatchError, ConsumerSettings, Failure};
use ikkai::idempotency::Status;
use ikkai::testing::{Bench, MessageBuilder, StoreCall, StoreFault};
use tokio::time::Instant;

use crate::script::{
    Scripted, Step, after, counted, defer, killed_after, permanent, record, retry, run, seconds, settings, visible_in,
};

fn names(count: u32) -> Vec<String> {
    (0..count).map(|n| format!("job-{n}")).collect()
}

fn batch(names: &[String]) -> Vec<MessageBuilder> {
    names.iter().map(|name| MessageBuilder::email(name)).collect()
}

fn each(names: &[String], step: &Step) -> Scripted {
    names.iter().fold(Scripted::new(), |handler, name| handler.on(name, [step.clone()]))
}

// -- concurrency -----------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn no_more_handlers_run_at_a_time_than_configured_and_no_fewer() {
    for limit in [1, 3, 10] {
        let names = names(12);
        let handler = each(&names, &Step::Sleep(seconds(1)));
        let bench = Bench::timed_with(handler.clone(), ConsumerSettings { batch_concurrency: limit, ..settings() });
        assert!(run(&bench, batch(&names)).await.failed.is_empty());
        assert_eq!(handler.most_running(), limit);
    }
}

// -- rate ------------------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn handlers_start_at_this_sandboxes_share_of_the_rate() {
    // Four a second over two sandboxes: one start every half second.
    let names = names(5);
    let handler = Scripted::new();
    let limited = ConsumerSettings { provider_rate_per_second: Some(4), max_concurrency: 2, ..settings() };
    let bench = Bench::timed_with(handler.clone(), limited);
    let began = Instant::now();
    assert!(run(&bench, batch(&names)).await.failed.is_empty());
    assert_eq!(began.elapsed(), seconds(2));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_the_rate_does_not_allow_in_time_comes_back_later_without_an_attempt() {
    // One start in twenty seconds: of three records one runs, one is too late for a patience of 14 s, and so is the third.
    let names = names(3);
    let handler = Scripted::new();
    let limited = ConsumerSettings { provider_rate_per_second: Some(1), max_concurrency: 20, ..settings() };
    let bench = Bench::timed_with(handler.clone(), limited);
    let answer = run(&bench, batch(&names)).await;
    assert_eq!((answer.failed.len(), handler.starts().len()), (2, 1));
    assert_eq!(counted(&answer, "JobsDeferred"), 2);
    for message in &batch(&names)[1..] {
        let waiting = record(&bench, message);
        assert_eq!((waiting.status, waiting.attempts), (Status::RetryScheduled, 0));
        let comes_back = visible_in(&bench, message).expect("a visibility");
        assert!(comes_back >= seconds(20), "not at once, only to be turned away again: {comes_back:?}");
    }
}

// -- circuit ---------------------------------------------------------------------------------------------------------------------

fn breaker(failures: u32) -> ConsumerSettings {
    ConsumerSettings { circuit_failures: failures, batch_concurrency: 1, ..settings() }
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_open_the_circuit_and_the_rest_is_deferred_untouched() {
    for step in [retry(), defer(None)] {
        let names = names(6);
        let handler = each(&names, &step);
        let bench = Bench::timed_with(handler.clone(), breaker(3));
        let answer = run(&bench, batch(&names)).await;
        assert_eq!((answer.failed.len(), handler.starts().len()), (6, 3));
        for message in &batch(&names)[3..] {
            assert_eq!(bench.record_of(message), None, "the table is not touched");
            let comes_back = visible_in(&bench, message).expect("a visibility");
            assert!((seconds(30)..=seconds(40)).contains(&comes_back), "after the cool-down: {comes_back:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn failures_of_single_targets_neither_open_the_circuit_nor_fail_the_invocation() {
    let names = names(6);
    let handler = each(&names, &Step::Fail(Failure::retry("receiver_failed", "the receiver answered 500").of_one_target()));
    let bench = Bench::timed_with(handler.clone(), ConsumerSettings { error_when_all_fail: true, ..breaker(3) });
    let answer = run(&bench, batch(&names)).await;
    assert_eq!((answer.failed.len(), handler.starts().len()), (6, 6));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_would_meet_every_job_opens_the_circuit_at_once_and_uses_no_attempt() {
    let names = names(4);
    let failure = Failure::defer("key_refused", "the provider refuses the key", None).surely_not_done().opening_circuit();
    let handler = Scripted::new().on("job-0", [Step::Fail(failure)]);
    let bench = Bench::timed_with(handler.clone(), breaker(1_000));
    let answer = run(&bench, batch(&names)).await;
    assert_eq!((answer.failed.len(), handler.starts()), (4, vec!["job-0".to_owned()]));
    let first = record(&bench, &MessageBuilder::email("job-0"));
    assert_eq!((first.status, first.attempts), (Status::RetryScheduled, 0));
    tokio::time::sleep(seconds(30)).await;
    assert!(run(&bench, batch(&names[1..])).await.failed.is_empty(), "after the cool-down a job tries, and all go on");
}

#[tokio::test(start_paused = true)]
async fn after_the_cool_down_one_job_tries_and_its_success_closes_the_circuit() {
    let handler = Scripted::new().on("bad", [retry()]);
    let bench = Bench::timed_with(handler.clone(), breaker(1));
    run(&bench, [MessageBuilder::email("bad")]).await;
    assert_eq!(run(&bench, [MessageBuilder::email("early")]).await.failed, ["early"]);
    tokio::time::sleep(seconds(30)).await;
    assert!(run(&bench, ["b", "c", "d"].map(MessageBuilder::email)).await.failed.is_empty());
    assert_eq!(handler.starts(), ["bad", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_try_after_the_cool_down_opens_the_circuit_again() {
    let handler = Scripted::new().on("bad", [retry()]).on("worse", [retry()]);
    let bench = Bench::timed_with(handler.clone(), breaker(1));
    run(&bench, [MessageBuilder::email("bad")]).await;
    tokio::time::sleep(seconds(30)).await;
    assert_eq!(run(&bench, ["worse", "c"].map(MessageBuilder::email)).await.failed, ["worse", "c"]);
    assert_eq!(handler.starts(), ["bad", "worse"]);
}

#[tokio::test(start_paused = true)]
async fn the_one_try_goes_to_a_job_that_really_asks_the_provider() {
    // After the cool-down come: a job done before, one that is dead, a bad body. None of them says anything about the provider.
    let handler = Scripted::new().on("dead", [permanent()]).on("bad", [retry()]);
    let bench = Bench::timed_with(handler.clone(), breaker(1));
    run(&bench, ["done", "dead", "bad"].map(MessageBuilder::email)).await;
    tokio::time::sleep(seconds(30)).await;
    let answer = run(&bench, ["done", "dead", "good", "better"].map(MessageBuilder::email)).await;
    assert_eq!(answer.failed, ["dead"]);
    assert_eq!(handler.starts_of("good") + handler.starts_of("better"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_can_be_the_one_that_tries() {
    let handler = Scripted::new().on("crashed", [Step::Hang]).on("crashed", [Step::Effect]).on("bad", [retry()]);
    let bench = Bench::timed_with(handler.clone(), breaker(1));
    killed_after(&bench, seconds(1), [MessageBuilder::email("crashed")]).await;
    tokio::time::sleep(seconds(60)).await;
    run(&bench, [MessageBuilder::email("bad")]).await;
    tokio::time::sleep(seconds(30)).await;
    assert!(run(&bench, [MessageBuilder::email("crashed").received(2)]).await.failed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_neither_opens_the_circuit_nor_keeps_it_open() {
    let names = names(6);
    let handler = each(&names, &permanent());
    let bench = Bench::timed_with(handler.clone(), breaker(1));
    run(&bench, batch(&names)).await;
    assert_eq!(handler.starts().len(), 6);

    let handler = Scripted::new().on("bad", [retry()]).on("unknown", [permanent()]);
    let bench = Bench::timed_with(handler.clone(), breaker(1));
    run(&bench, [MessageBuilder::email("bad")]).await;
    tokio::time::sleep(seconds(30)).await;
    assert_eq!(run(&bench, ["unknown", "good"].map(MessageBuilder::email)).await.failed, ["unknown"]);
    assert_eq!(handler.starts_of("good"), 1, "it is the next one to try");
}

#[tokio::test(start_paused = true)]
async fn with_the_circuit_open_a_fifo_job_on_its_last_receive_still_runs() {
    let settings = ConsumerSettings { circuit_failures: 1, batch_concurrency: 1, ..crate::script::fifo() };
    let handler = Scripted::new().on("bad", [retry()]);
    let bench = Bench::timed_with(handler.clone(), settings);
    let message = |name: &str| MessageBuilder::email(name).queue("email.fifo").group(name);
    run(&bench, [message("bad")]).await;
    assert_eq!(run(&bench, [message("other").received(5), message("last").received(6)]).await.failed, ["other"]);
}

// -- all failed ------------------------------------------------------------------------------------------------------------------

fn slowing_down() -> ConsumerSettings {
    ConsumerSettings { error_when_all_fail: true, ..settings() }
}

async fn outcome_of(
    handler: Scripted,
    settings: ConsumerSettings,
    names: &[&str],
) -> (Bench<Scripted>, Result<usize, BatchError>) {
    let bench = Bench::with(handler, settings);
    let answer = bench.run_batch(names.iter().map(|name| MessageBuilder::email(name).build())).await;
    (bench, answer.map(|answer| answer.failed.len()))
}

#[tokio::test]
async fn a_batch_in_which_everything_failed_for_a_while_errors_as_a_whole_and_keeps_its_backoffs() {
    for step in [retry(), defer(None)] {
        let handler = Scripted::new().on("a", [step.clone()]).on("b", [step]);
        let (bench, answer) = outcome_of(handler, slowing_down(), &["a", "b"]).await;
        assert_eq!(answer, Err(BatchError::AllFailed { started: 2 }));
        for name in ["a", "b"] {
            assert!(visible_in(&bench, &MessageBuilder::email(name)).is_some(), "visibilities that were set stay");
            assert_eq!(record(&bench, &MessageBuilder::email(name)).status, Status::RetryScheduled);
        }
    }
}

#[tokio::test]
async fn a_batch_with_one_success_one_death_or_one_renewal_does_not_error() {
    let fails = || Scripted::new().on("a", [retry()]);
    let (_, with_success) = outcome_of(fails(), slowing_down(), &["a", "good"]).await;
    let (_, with_death) = outcome_of(fails().on("b", [permanent()]), slowing_down(), &["a", "b"]).await;
    let (_, switched_off) = outcome_of(fails(), settings(), &["a"]).await;
    assert_eq!((with_success, with_death, switched_off), (Ok(1), Ok(2), Ok(1)));

    let bench = Bench::with(fails(), slowing_down());
    let renewed = bench.run_batch([MessageBuilder::email("a").received(5).build()]).await;
    assert!(renewed.unwrap().failed.is_empty());
}

#[tokio::test]
async fn a_batch_that_only_waits_does_not_error() {
    let bench = Bench::with(Scripted::new(), slowing_down());
    let now = ikkai::clock::Clock::now(&bench.clock);
    let answer = bench.run_until([MessageBuilder::email("a").build()], Some(now + Duration::from_millis(100))).await.unwrap();
    assert_eq!(answer.failed, ["a"]);
}

#[tokio::test]
async fn a_table_that_refuses_everything_errors_as_a_whole_too() {
    let bench = Bench::with(Scripted::new(), slowing_down());
    for _ in 0..2 {
        bench.store.fail_next(StoreCall::Claim, StoreFault::Throttle);
    }
    let answer = bench.run_batch(["a", "b"].map(|name| MessageBuilder::email(name).build())).await;
    assert_eq!(answer, Err(BatchError::AllFailed { started: 2 }));
}

// -- delays ----------------------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn no_provider_makes_a_job_wait_for_longer_than_sqs_can() {
    for step in
        [defer(Some(seconds(u64::MAX / 1_000_000))), Step::Fail(Failure::retry("busy", "busy").after(seconds(4_294_967_295)))]
    {
        let bench = Bench::with(Scripted::new().on("a", [step]), settings());
        run(&bench, [MessageBuilder::email("a")]).await;
        let waiting = record(&bench, &MessageBuilder::email("a"));
        assert_eq!((waiting.status, waiting.retry_at), (Status::RetryScheduled, Some(after(seconds(43_200)))));
    }
}
