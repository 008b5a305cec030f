//! A run that may have had its effect is not forgotten because a later one failed for another reason.

use std::time::Duration;

use ikkai::clock::Clock;
use ikkai::consumer::{ConsumerSettings, Failure};
use ikkai::idempotency::{EffectPolicy, ErrorClass, JobRecord, LastError, Status, Verdict};
use ikkai::queue::QueueError;
use ikkai::testing::{Bench, MessageBuilder, QueueFault, TokioClock};
use proptest::prelude::*;

use crate::script::{
    Scripted, Step, after, blank, code, defer, fifo, killed_after, long_running, permanent, record, retry, run, seconds,
    settings, unfinished,
};

const WINDOW: Duration = Duration::from_secs(86_400);
const REMEMBERED: EffectPolicy = EffectPolicy::Rerun { idempotent_for: Some(WINDOW), looks_up: false };
const LOOKED_UP: EffectPolicy = EffectPolicy::Rerun { idempotent_for: Some(WINDOW), looks_up: true };

fn answer_lost() -> LastError {
    LastError::new(ErrorClass::Ambiguous, "answer_lost", "the provider's answer was lost")
}

/// A job that waits for its second run after one that may have had its effect.
fn doubtful(message: &MessageBuilder) -> JobRecord {
    let first_effect_at = Some(after(Duration::ZERO));
    JobRecord { attempts: 1, last_error: Some(answer_lost()), first_effect_at, ..blank(message, Status::RetryScheduled) }
}

/// A bench whose job `a` has a doubtful run behind it.
fn bench(handler: Scripted, settings: ConsumerSettings, message: &MessageBuilder) -> Bench<Scripted, TokioClock> {
    let bench = Bench::timed_with(handler, settings);
    bench.records.put(doubtful(message));
    bench
}

fn fifo_message() -> MessageBuilder {
    MessageBuilder::email("a").queue("email.fifo").group("g")
}

/// The first heartbeat finds that the message came out again.
fn lose_the_receipt(bench: &Bench<Scripted, TokioClock>) {
    bench.queue.fail_next(QueueFault::Delay(Duration::ZERO));
    bench.queue.fail_next(QueueFault::FailEntries(vec![(0, QueueError::ReceiptLost)]));
}

async fn cancelled(bench: &Bench<Scripted, TokioClock>, message: &MessageBuilder) -> Status {
    let event = ikkai::idempotency::Event::Cancel { keep_for: seconds(60) };
    let ledger = ikkai::idempotency::Ledger::new(bench.store.clone(), std::sync::Arc::new(bench.clock.clone()));
    let answer = ledger.apply(&message.job_id().unwrap(), &event).await.expect("an answer").verdict;
    match answer {
        Verdict::Cancelled => Status::Cancelled,
        Verdict::TooLate(status) => status,
        other => panic!("{other:?}"),
    }
}

// -- a lease that is lost in the middle of a run ----------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_lost_while_the_handler_runs_leaves_the_note_of_its_first_try() {
    for (policy, doubt) in [(REMEMBERED, true), (LOOKED_UP, true), (EffectPolicy::RERUN, true), (EffectPolicy::Hold, false)] {
        let handler = Scripted::new().policy(policy).on("a", [Step::Sleep(seconds(100))]);
        let bench = Bench::timed_with(handler, long_running());
        lose_the_receipt(&bench);
        let message = MessageBuilder::email("a");
        assert_eq!(run(&bench, [message.clone()]).await.failed, ["a"]);
        let waiting = record(&bench, &message);
        assert_eq!((waiting.status, waiting.attempts, code(&waiting)), (Status::RetryScheduled, 0, Some("lease_lost")));
        let is_ambiguous = waiting.last_error.is_some_and(|error| error.class == ErrorClass::Ambiguous);
        assert_eq!((is_ambiguous, waiting.first_effect_at.is_some()), (doubt, policy.notes_first_effect()), "{policy:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_charge_cut_off_by_a_lost_lease_is_not_repeated_after_the_provider_has_forgotten_it() {
    let handler = Scripted::new().policy(REMEMBERED).on("a", [Step::Effect, Step::Sleep(seconds(100))]).on("a", [Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), long_running());
    lose_the_receipt(&bench);
    run(&bench, [MessageBuilder::email("a")]).await;
    tokio::time::sleep(WINDOW + seconds(60)).await;
    run(&bench, [MessageBuilder::email("a").received(2)]).await;
    assert_eq!(handler.effects_of("a"), 1, "the first one may have happened");
    assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::InDoubt);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_lost_before_the_handler_starts_begins_no_window() {
    let handler = Scripted::new().policy(REMEMBERED).on("b", [Step::Sleep(seconds(1))]);
    let settings =
        ConsumerSettings { provider_rate_per_second: Some(1), max_concurrency: 30, batch_concurrency: 2, ..long_running() };
    let bench = Bench::timed_with(handler.clone(), settings);
    bench.queue.fail_next(QueueFault::Delay(Duration::ZERO));
    bench.queue.fail_next(QueueFault::FailEntries(vec![(1, QueueError::ReceiptLost)]));
    run(&bench, ["b", "a"].map(MessageBuilder::email)).await;
    let waiting = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((handler.starts_of("a"), code(&waiting), waiting.first_effect_at), (0, Some("lease_lost"), None));
    assert_ne!(waiting.last_error.unwrap().class, ErrorClass::Ambiguous);
}

// -- failures that say nothing about the runs before -------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_run_that_did_not_reach_its_effect_leaves_the_doubt_about_the_one_before() {
    let not_in_time = [Step::Sleep(seconds(20)), Step::Begin(seconds(10)), Step::Effect];
    for policy in [REMEMBERED, EffectPolicy::RERUN] {
        let handler = Scripted::new().policy(policy).on("a", not_in_time.clone());
        let message = MessageBuilder::email("a");
        let bench = bench(handler, settings(), &message);
        assert_eq!(run(&bench, [message.clone()]).await.failed, ["a"]);
        let waiting = record(&bench, &message);
        assert_eq!((waiting.status, waiting.attempts, waiting.last_error), (Status::RetryScheduled, 1, Some(answer_lost())));
        assert_eq!(cancelled(&bench, &message).await, Status::RetryScheduled, "it cannot be taken back");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_leaves_no_start_leaves_the_doubt() {
    let message = MessageBuilder::email("a");
    let limited = ConsumerSettings { provider_rate_per_second: Some(1), max_concurrency: 200, ..settings() };
    let bench = bench(Scripted::new().policy(REMEMBERED), limited, &message);
    assert_eq!(run(&bench, [MessageBuilder::email("b"), message.clone()]).await.failed, ["a"]);
    let waiting = record(&bench, &message);
    assert_eq!((waiting.status, waiting.last_error), (Status::RetryScheduled, Some(answer_lost())));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_lost_before_the_start_leaves_the_doubt() {
    let message = MessageBuilder::email("a");
    let limited = ConsumerSettings { provider_rate_per_second: Some(1), max_concurrency: 30, ..long_running() };
    let bench = bench(Scripted::new().policy(REMEMBERED), limited, &message);
    bench.queue.fail_next(QueueFault::Delay(Duration::ZERO));
    bench.queue.fail_next(QueueFault::FailEntries(vec![(1, QueueError::ReceiptLost)]));
    run(&bench, [MessageBuilder::email("b"), message.clone()]).await;
    let waiting = record(&bench, &message);
    assert_eq!((waiting.status, waiting.last_error), (Status::RetryScheduled, Some(answer_lost())));
}

#[tokio::test(start_paused = true)]
async fn a_fifo_message_that_is_given_up_unstarted_is_in_doubt_where_an_earlier_run_was() {
    for (doubt, status) in [(true, Status::InDoubt), (false, Status::Dead)] {
        let message = fifo_message().received(6);
        let handler = Scripted::new().policy(REMEMBERED).on("head", [retry()]);
        let bench = bench(handler.clone(), fifo(), &message);
        if !doubt {
            bench.records.put(JobRecord { last_error: None, first_effect_at: None, ..doubtful(&message) });
        }
        let head = MessageBuilder::email("head").queue("email.fifo").group("g");
        run(&bench, [head, message.clone()]).await;
        assert_eq!(handler.starts_of("a"), 0, "it waits behind its head");
        let ended = record(&bench, &message);
        assert_eq!((ended.status, ended.attempts), (status, 2));
        assert_eq!(code(&ended), Some(if doubt { "answer_lost" } else { "receives_exhausted" }));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_says_about_one_run_says_nothing_about_another_under_a_key_that_is_forgotten() {
    let sure = |step: Step| match step {
        Step::Fail(failure) => Step::Fail(failure.surely_not_done()),
        other => other,
    };
    for step in [retry(), defer(None), permanent(), sure(retry()), sure(defer(None)), sure(permanent())] {
        let message = MessageBuilder::email("a");
        let bench = bench(Scripted::new().policy(REMEMBERED).on("a", [step.clone()]), settings(), &message);
        run(&bench, [message.clone()]).await;
        let failed = record(&bench, &message);
        let wanted = if matches!(&step, Step::Fail(failure) if failure.code == "user_unknown") {
            Status::InDoubt
        } else {
            Status::RetryScheduled
        };
        assert_eq!((failed.status, failed.last_error), (wanted, Some(answer_lost())), "{step:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_a_repetition_is_harmless_for_ever_the_handlers_last_word_counts() {
    for (step, status) in [(permanent(), Status::Dead), (retry(), Status::RetryScheduled)] {
        let message = MessageBuilder::email("a");
        let bench = bench(Scripted::new().policy(EffectPolicy::RERUN).on("a", [step]), settings(), &message);
        run(&bench, [message.clone()]).await;
        let failed = record(&bench, &message);
        assert_eq!((failed.status, failed.last_error.map(|error| error.class == ErrorClass::Ambiguous)), (status, Some(false)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_ends_every_doubt() {
    let message = MessageBuilder::email("a");
    let bench = bench(Scripted::new().policy(REMEMBERED), settings(), &message);
    run(&bench, [message.clone()]).await;
    assert_eq!((record(&bench, &message).status, record(&bench, &message).last_error), (Status::Succeeded, None));
}

#[tokio::test(start_paused = true)]
async fn a_part_that_is_done_leaves_the_doubt() {
    let step = serde_json::json!({"row": 1});
    for (unfinished, earlier) in [(unfinished(), true), (Step::Fail(Failure::unfinished().possibly_done()), false)] {
        let message = MessageBuilder::email("a");
        let handler = Scripted::new().policy(REMEMBERED).on("a", [Step::Save(step.clone()), unfinished]);
        let bench = bench(handler, settings(), &message);
        if !earlier {
            bench.records.put(JobRecord { last_error: None, ..doubtful(&message) });
        }
        run(&bench, [message.clone()]).await;
        assert_eq!(cancelled(&bench, &message).await, Status::RetryScheduled, "it cannot be taken back");
    }
}

// -- workers that die ------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_worker_that_died_in_a_run_under_a_key_leaves_a_doubt_that_stays() {
    let handler = Scripted::new().policy(REMEMBERED).on("a", [Step::Effect, Step::Hang]).on("a", [defer(None)]);
    let bench = Bench::timed_with(handler, settings());
    let message = MessageBuilder::email("a");
    killed_after(&bench, seconds(5), [message.clone()]).await;
    tokio::time::sleep(seconds(60)).await;
    run(&bench, [message.clone()]).await;
    let waiting = record(&bench, &message);
    assert_eq!((waiting.status, code(&waiting)), (Status::RetryScheduled, Some("lease_ended_after_effect_began")));
    assert_eq!(cancelled(&bench, &message).await, Status::RetryScheduled, "it cannot be taken back");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_died_in_the_last_run_leaves_the_doubt_about_the_one_before() {
    let handler = Scripted::new().policy(EffectPolicy::RERUN).on("a", [Step::Hang]);
    let message = MessageBuilder::email("a");
    let bench = bench(handler, ConsumerSettings { max_attempts: 2, ..settings() }, &message);
    killed_after(&bench, seconds(5), [message.clone()]).await;
    tokio::time::sleep(seconds(60)).await;
    run(&bench, [message.clone()]).await;
    assert_eq!((record(&bench, &message).status, record(&bench, &message).crashes), (Status::InDoubt, 1));
}

#[tokio::test(start_paused = true)]
async fn fewer_attempts_in_the_settings_do_not_turn_a_doubt_into_a_death() {
    let message = MessageBuilder::email("a");
    for (error, status) in [(answer_lost(), Status::InDoubt), (LastError::crashes_used_up(), Status::Dead)] {
        let bench = bench(Scripted::new(), ConsumerSettings { max_attempts: 2, ..settings() }, &message);
        bench.records.put(JobRecord { attempts: 2, last_error: Some(error.clone()), ..doubtful(&message) });
        assert_eq!(run(&bench, [message.clone()]).await.failed, ["a"]);
        let ended = record(&bench, &message);
        assert_eq!((ended.status, ended.last_error), (status, Some(error)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_of_a_newer_schema_that_waited_too_long_leaves_the_doubt() {
    let body =
        MessageBuilder::email("a").to_json()["body"].as_str().unwrap().replace("\"schemaVersion\":1", "\"schemaVersion\":2");
    let message = MessageBuilder::email("a");
    let bench = bench(Scripted::new(), settings(), &message);
    bench.records.put(JobRecord { schema_held_since: Some(after(Duration::ZERO)), ..doubtful(&message) });
    tokio::time::sleep(settings().schema_hold).await;
    run(&bench, [message.clone().body(body)]).await;
    assert_eq!((record(&bench, &message).status, code(&record(&bench, &message))), (Status::InDoubt, Some("answer_lost")));
}

// -- for any order of runs -------------------------------------------------------------------------------------------------------

/// How a run of the law ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    LeaseLost,
    Killed,
    Ambiguous,
    Refused,
    Deferred,
    NoTime,
}

fn ends() -> impl Strategy<Value = Vec<(End, bool, u64)>> {
    let end =
        proptest::sample::select(vec![End::LeaseLost, End::Killed, End::Ambiguous, End::Refused, End::Deferred, End::NoTime]);
    let pause = proptest::sample::select(vec![60u64, 3_600, 90_000]);
    proptest::collection::vec((end, any::<bool>(), pause), 1..5)
}

fn steps_of(end: End, acts: bool) -> Vec<Step> {
    // What a handler denies did not happen.
    let mut steps =
        if acts && matches!(end, End::LeaseLost | End::Killed | End::Ambiguous) { vec![Step::Effect] } else { vec![] };
    steps.push(match end {
        End::LeaseLost | End::Killed => Step::Sleep(seconds(100)),
        End::Ambiguous => Step::Fail(Failure::ambiguous("answer_lost", "the answer was lost")),
        End::Refused => Step::Fail(Failure::retry("refused", "surely refused").surely_not_done()),
        End::Deferred => Step::Fail(Failure::defer("provider_busy", "busy", None).surely_not_done()),
        End::NoTime => Step::Fail(Failure::no_time()),
    });
    steps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the order of lost leases, deaths and failures: after the provider has forgotten its key nothing is repeated that may have
    /// happened, and a job that may have had its effect is neither dead nor can it be taken back.
    #[test]
    fn an_effect_under_a_key_is_never_repeated_after_its_window_nor_denied(ends in ends()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async move {
            let scripts = ends.iter().map(|(end, acts, _)| steps_of(*end, *acts));
            let handler = scripts.fold(Scripted::new().policy(REMEMBERED), |handler, steps| handler.on("a", steps)).on("a", [Step::Effect]);
            let bench = Bench::timed_with(handler.clone(), ConsumerSettings { max_attempts: 9, ..long_running() });
            let message = MessageBuilder::email("a");
            let mut first_effect = None;
            for (end, _, pause) in ends.into_iter().chain([(End::Refused, false, 60)]) {
                let (started, effects) = (bench.clock.now(), handler.effects_of("a"));
                match end {
                    End::LeaseLost => {
                        lose_the_receipt(&bench);
                        run(&bench, [message.clone()]).await;
                    }
                    End::Killed => drop(tokio::time::timeout(seconds(5), run(&bench, [message.clone()])).await),
                    _ => drop(bench.run_batch([message.build()]).await),
                }
                if handler.effects_of("a") > effects {
                    let first = *first_effect.get_or_insert(started);
                    prop_assert!(started.since(first) <= WINDOW, "repeated after {:?}", started.since(first));
                }
                let status = record(&bench, &message).status;
                prop_assert!(first_effect.is_none() || status != Status::Dead, "dead, and may be done");
                if first_effect.is_some() && status == Status::RetryScheduled {
                    prop_assert_eq!(cancelled(&bench, &message).await, Status::RetryScheduled, "taken back, and may be done");
                }
                tokio::time::sleep(seconds(pause)).await;
            }
            Ok(())
        })?;
    }
}
