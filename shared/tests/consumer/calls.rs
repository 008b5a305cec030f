//! What a batch costs: calls to the table and to the queue, and how many of them wait for each other.

use ikkai::consumer::{ConsumerSettings, IncomingEvent, Invocation};
use ikkai::queue::QueueError;
use ikkai::testing::{Bench, MessageBuilder, QueueFault, StoreCall};
use tokio::time::Instant;

use crate::script::{Scripted, Step, counted, long_running, millis, retry, run, seconds, settings, visible_in};

#[tokio::test]
async fn a_first_success_writes_twice_and_reads_nothing() {
    let bench = Bench::new(Scripted::new());
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!(bench.store.calls(), [StoreCall::Claim, StoreCall::Replace]);
    assert_eq!(bench.queue.calls().len(), 1, "the opening visibility call and nothing else");
}

#[tokio::test]
async fn announcing_the_effect_is_one_more_write() {
    let bench = Bench::new(Scripted::new().on("a", [Step::Begin(seconds(1)), Step::Effect]));
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!(bench.store.calls(), [StoreCall::Claim, StoreCall::Replace, StoreCall::Replace]);
}

#[tokio::test]
async fn a_duplicate_is_one_refused_write() {
    let bench = Bench::new(Scripted::new());
    run(&bench, [MessageBuilder::email("a")]).await;
    bench.store.forget();
    run(&bench, [MessageBuilder::email("a").message_id("again")]).await;
    assert_eq!(bench.store.calls(), [StoreCall::Claim]);
}

#[tokio::test]
async fn a_failed_attempt_writes_twice() {
    let bench = Bench::with(Scripted::new().on("a", [retry()]), settings());
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!(bench.store.calls(), [StoreCall::Claim, StoreCall::Replace]);
    assert_eq!(bench.queue.calls().len(), 1, "its visibility");
}

fn batch_of(names: impl IntoIterator<Item = u32>) -> Vec<MessageBuilder> {
    names.into_iter().map(|name| MessageBuilder::email(&format!("job-{name}"))).collect()
}

/// With a circuit that stays closed whatever fails.
fn enduring(settings: ConsumerSettings) -> ConsumerSettings {
    ConsumerSettings { circuit_failures: 1_000, ..settings }
}

fn failing(names: impl IntoIterator<Item = u32>) -> Scripted {
    names.into_iter().fold(Scripted::new(), |handler, name| handler.on(&format!("job-{name}"), [retry()]))
}

#[tokio::test]
async fn a_failing_batch_of_ten_adds_one_visibility_call_after_settling() {
    let bench = Bench::with(failing(0..10), enduring(ikkai::testing::settings()));
    run(&bench, batch_of(0..10)).await;
    assert_eq!(bench.store.writes(), 20);
    let calls = bench.queue.visibility_calls();
    assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10], "one opening call, one after settling");
    assert_eq!(bench.queue.calls().len(), 2);
}

#[tokio::test]
async fn a_succeeding_batch_of_ten_makes_the_opening_call_only() {
    let bench = Bench::new(Scripted::new());
    run(&bench, batch_of(0..10)).await;
    assert_eq!((bench.store.writes(), bench.store.reads(), bench.queue.calls().len()), (20, 0, 1));
}

#[tokio::test]
async fn visibility_calls_of_a_large_batch_carry_ten_messages_each() {
    let bench = Bench::with(failing(0..25), enduring(settings()));
    assert_eq!(run(&bench, batch_of(0..25)).await.failed.len(), 25);
    assert_eq!(bench.queue.visibility_calls().iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_tick_of_the_heartbeat_is_one_visibility_call_for_ten_messages_and_one_write_for_a_running_job() {
    // Three jobs are still running at the only tick, after 15 s; the others are through at once.
    let slow = (0..3).fold(Scripted::new(), |handler, name| {
        handler.on(&format!("job-{name}"), [Step::Sleep(seconds(20)), Step::Begin(seconds(5)), Step::Effect])
    });
    let settings = ConsumerSettings { batch_concurrency: 25, ..long_running() };
    let bench = Bench::timed_with(slow, settings);
    assert!(run(&bench, batch_of(0..25)).await.failed.is_empty());
    let calls = bench.queue.visibility_calls();
    assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5, 10, 10, 5], "the opening calls, and one tick");
    // Claims, one extension and one announcement of each slow job, completions.
    assert_eq!((bench.store.writes(), bench.store.reads()), (25 + 2 * 3 + 25, 0), "nothing for jobs that are through");
}

#[tokio::test]
async fn an_empty_batch_makes_no_call_and_reports_nothing() {
    let bench = Bench::new(Scripted::new());
    let event: IncomingEvent = serde_json::from_str(r#"{"Records":[]}"#).unwrap();
    let answer = bench.processor.process(event, &Invocation::default(), &mut Vec::new()).await.unwrap();
    assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"batchItemFailures":[]}"#);
    assert!(bench.store.calls().is_empty() && bench.queue.calls().is_empty());
}

/// Time a batch of ten takes when each call takes 100 ms.
async fn round_trips(handler: Scripted) -> std::time::Duration {
    let bench = Bench::timed(handler);
    bench.store.set_latency(millis(100));
    bench.queue.set_latency(millis(100));
    let began = Instant::now();
    let answer = run(&bench, batch_of(0..10)).await;
    assert_eq!(counted(&answer, "JobsSucceeded"), 10);
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_ten_waits_for_two_round_trips_and_not_for_twenty() {
    assert_eq!(round_trips(Scripted::new()).await, millis(200), "claims and the opening call side by side, then settlements");
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_ten_that_announces_its_effects_waits_for_three() {
    let announcing = (0..10)
        .fold(Scripted::new(), |handler, name| handler.on(&format!("job-{name}"), [Step::Begin(seconds(1)), Step::Effect]));
    assert_eq!(round_trips(announcing).await, millis(300));
}

#[tokio::test(start_paused = true)]
async fn without_the_opening_call_the_queue_hears_nothing_of_a_success() {
    let bench = Bench::timed_with(Scripted::new(), ConsumerSettings { opening_visibility: false, ..ikkai::testing::settings() });
    run(&bench, batch_of(0..10)).await;
    assert!(bench.queue.calls().is_empty());
}

#[tokio::test]
async fn one_bad_receipt_does_not_keep_the_others_from_their_backoff() {
    let bench = Bench::with(failing(0..10), enduring(settings()));
    bench.queue.fail_next(QueueFault::FailEntries(vec![(4, QueueError::ReceiptLost)]));
    let messages = batch_of(0..10);
    assert_eq!(run(&bench, messages.clone()).await.failed.len(), 10, "a failed entry fails no record");
    let set = messages.iter().filter(|message| visible_in(&bench, message).is_some()).count();
    assert_eq!((set, bench.queue.visibility_calls().len()), (9, 1));
}

#[tokio::test]
async fn a_visibility_call_that_is_refused_as_a_whole_is_repeated_message_by_message() {
    for refusal in
        [QueueError::ReceiptLost, QueueError::Refused { operation: "ChangeMessageVisibilityBatch", code: "400".into() }]
    {
        let bench = Bench::with(failing(0..10), enduring(settings()));
        bench.queue.fail_next(QueueFault::Refuse(refusal));
        // Of the single calls, the third one is the one with the bad receipt.
        bench.queue.fail_next(QueueFault::Delay(millis(0)));
        bench.queue.fail_next(QueueFault::Delay(millis(0)));
        bench.queue.fail_next(QueueFault::Refuse(QueueError::ReceiptLost));
        let messages = batch_of(0..10);
        assert_eq!(run(&bench, messages.clone()).await.failed.len(), 10);
        let set: Vec<_> = messages.iter().map(|message| visible_in(&bench, message).is_some()).collect();
        assert_eq!(set.iter().filter(|set| **set).count(), 9, "{set:?}");
    }
}
