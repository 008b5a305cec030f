//! When messages come back: the opening call, the heartbeat of long invocations, and the backoff that nothing overwrites.

use std::time::Duration;

use ikkai::clock::Clock;
use ikkai::consumer::{ConsumerSettings, Failure};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::queue::QueueError;
use ikkai::testing::{Bench, MessageBuilder, QueueFault, StoreCall, StoreFault};
use ikkai::visibility::visibility_seconds;

use crate::script::{
    Scripted, Step, after, captured, code, counted, killed_after, long_running, millis, permanent, record, retry, run, seconds,
    settings, visible_in,
};

/// Lets the next call through.
fn pass() -> QueueFault {
    QueueFault::Delay(Duration::ZERO)
}

// -- the opening call ------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn messages_of_a_killed_worker_come_back_when_its_leases_end() {
    for (settings, lease, visible) in
        [(ikkai::testing::settings(), seconds(40), seconds(70)), (long_running(), seconds(55), seconds(85))]
    {
        let bench = Bench::timed_with(Scripted::new().on("a", [Step::Hang]), settings);
        killed_after(&bench, seconds(1), ["a", "b"].map(MessageBuilder::email)).await;
        assert_eq!(record(&bench, &MessageBuilder::email("a")).lease_until, Some(after(lease)));
        for name in ["a", "b"] {
            assert_eq!(visible_in(&bench, &MessageBuilder::email(name)), Some(visible), "the lease and thirty seconds more");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_never_answers_costs_no_answer() {
    let bench = Bench::timed(Scripted::new());
    bench.queue.fail_next(QueueFault::Hang);
    let answer = tokio::time::timeout(seconds(30), run(&bench, [MessageBuilder::email("a")])).await;
    assert!(answer.expect("an answer before the deadline").failed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn closing_calls_that_hang_do_not_outlast_the_deadline() {
    // The handler uses all the time there is, and then the queue hangs: in renewals and in visibility.
    let handler = (0..25).fold(Scripted::new(), |handler, n| handler.on(&format!("job-{n}"), [Step::Hang]));
    let settings = ConsumerSettings { batch_concurrency: 25, opening_visibility: false, ..ikkai::testing::settings() };
    let bench = Bench::timed_with(handler, settings);
    for _ in 0..10 {
        bench.queue.fail_next(QueueFault::Hang);
    }
    let batch = (0..25).map(|n| MessageBuilder::email(&format!("job-{n}")).received(if n < 5 { 5 } else { 1 }));
    let answer = tokio::time::timeout(seconds(30), run(&bench, batch)).await.expect("an answer before the deadline");
    assert_eq!(answer.failed.len(), 25, "nothing is acknowledged that was not confirmed");
}

#[tokio::test(start_paused = true)]
async fn a_failed_visibility_call_is_logged_and_fails_nothing() {
    let bench = Bench::timed(Scripted::new().on("a", [retry()]));
    let unavailable = QueueError::Unavailable { operation: "ChangeMessageVisibilityBatch", code: "InternalError".into() };
    bench.queue.fail_next(QueueFault::Refuse(unavailable.clone()));
    bench.queue.fail_next(QueueFault::Refuse(unavailable));
    let logs = captured();
    let answer = run(&bench, ["a", "b"].map(MessageBuilder::email)).await;
    assert_eq!((counted(&answer, "JobsSucceeded"), answer.failed), (1, vec!["a".to_owned()]));
    let lines: Vec<_> = logs.parsed().into_iter().filter(|line| line["message"] == "visibility call failed").collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["level"] == "WARN"), "{lines:?}");
}

// -- the heartbeat ---------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_slow_healthy_handler_keeps_its_lease_and_its_message() {
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(600)), Step::Begin(seconds(5)), Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), long_running());
    let other = bench.another_worker(handler.clone());
    let watch = async {
        for _ in 0..11 {
            tokio::time::sleep(seconds(50)).await;
            let (now, running) = (bench.clock.now(), record(&bench, &MessageBuilder::email("a")));
            assert!(running.lease_until.unwrap() > now + seconds(30), "the lease has time to spare");
            assert_eq!(run(&other, [MessageBuilder::email("a").message_id("copy")]).await.failed, ["copy"]);
        }
    };
    let (answer, ()) = tokio::join!(run(&bench, [MessageBuilder::email("a")]), watch);
    assert!(answer.failed.is_empty());
    assert_eq!((handler.starts_of("a"), handler.effects_of("a")), (1, 1));
    let extensions: Vec<_> =
        bench.queue.visibility_calls().into_iter().flatten().filter(|set| set.receipt_handle == "receipt-a").collect();
    assert!(extensions.len() >= 40, "one every fifteen seconds: {}", extensions.len());
    assert!(extensions.iter().all(|set| set.visible_in == seconds(85)), "chunk, skew and margin");
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_long_batch_stay_invisible_until_its_answer() {
    // a is through at once, b waits for its turn behind c: without extensions both would come out again in between.
    let handler = Scripted::new().on("a", [retry()]).on("c", [Step::Sleep(seconds(400))]);
    let settings = ConsumerSettings { batch_concurrency: 1, ..long_running() };
    let bench = Bench::timed_with(handler.clone(), settings);
    let watch = async {
        tokio::time::sleep(seconds(350)).await;
        let calls = bench.queue.visibility_calls();
        for receipt in ["receipt-a", "receipt-b", "receipt-c"] {
            let extended = calls.iter().flatten().filter(|set| set.receipt_handle == receipt && set.visible_in == seconds(85));
            assert_eq!(extended.count(), 24, "{receipt}: the opening call and one every fifteen seconds");
        }
    };
    let (answer, ()) = tokio::join!(run(&bench, ["a", "c", "b"].map(MessageBuilder::email)), watch);
    assert_eq!(answer.failed, ["a"]);
    assert!(visible_in(&bench, &MessageBuilder::email("a")).unwrap() <= seconds(10), "the backoff is what was set last");
}

#[tokio::test(start_paused = true)]
async fn a_lost_receipt_cancels_a_handler_that_has_not_begun_its_effect_and_gives_the_job_back() {
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(100)), Step::Effect]).on("a", [Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), long_running());
    bench.queue.fail_next(pass());
    bench.queue.fail_next(QueueFault::FailEntries(vec![(0, QueueError::ReceiptLost)]));
    let began = tokio::time::Instant::now();
    let answer = run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!(began.elapsed(), seconds(15), "cancelled at the first tick");
    assert_eq!((counted(&answer, "LeaseLost"), answer.failed), (1, vec!["a".to_owned()]));
    assert_eq!((handler.effects_of("a"), handler.running()), (0, 0));
    let released = record(&bench, &MessageBuilder::email("a"));
    assert_eq!(
        (released.status, released.attempts, released.crashes),
        (Status::RetryScheduled, 0, 0),
        "whoever has the message runs it now"
    );
    let other = bench.another_worker(handler.clone());
    assert!(run(&other, [MessageBuilder::email("a").received(2)]).await.failed.is_empty());
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_receipt_does_not_cancel_a_handler_whose_effect_has_begun() {
    let handler = Scripted::new().on("a", [Step::Begin(seconds(5)), Step::Sleep(seconds(100)), Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), long_running());
    bench.queue.fail_next(pass());
    bench.queue.fail_next(QueueFault::FailEntries(vec![(0, QueueError::ReceiptLost)]));
    let answer = run(&bench, [MessageBuilder::email("a")]).await;
    assert!(answer.failed.is_empty());
    assert_eq!((handler.effects_of("a"), record(&bench, &MessageBuilder::email("a")).status), (1, Status::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_another_worker_took_cancels_the_handler_and_is_left_alone() {
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(100)), Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), long_running());
    let steal = async {
        tokio::time::sleep(seconds(10)).await;
        let mut stolen = record(&bench, &MessageBuilder::email("a"));
        stolen.lease_token = Some("thief".into());
        bench.records.put(stolen.clone());
        stolen
    };
    let (answer, stolen) = tokio::join!(run(&bench, [MessageBuilder::email("a")]), steal);
    assert_eq!((answer.failed, handler.effects_of("a")), (vec!["a".to_owned()], 0));
    assert_eq!(record(&bench, &MessageBuilder::email("a")), stolen);
}

#[tokio::test(start_paused = true)]
async fn a_handler_whose_lease_could_not_be_renewed_until_it_was_over_is_stopped() {
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(300)), Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), long_running());
    for _ in 0..30 {
        bench.store.fail_next(StoreCall::Replace, StoreFault::Unreachable);
    }
    let began = tokio::time::Instant::now();
    let answer = run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!((answer.failed, handler.effects_of("a")), (vec!["a".to_owned()], 0));
    assert!(began.elapsed() < seconds(80), "stopped once its lease of 55 s was over: {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn two_lost_ticks_do_not_lose_the_lease() {
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(100)), Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), long_running());
    for _ in 0..2 {
        bench.store.fail_next(StoreCall::Replace, StoreFault::Unreachable);
    }
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_short_invocation_renews_nothing() {
    let bench = Bench::timed(Scripted::new().on("a", [Step::Sleep(seconds(25))]));
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!((bench.queue.calls().len(), bench.store.writes()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_rate_keeps_the_lease_too() {
    let handler = Scripted::new();
    let settings = ConsumerSettings { provider_rate_per_second: Some(1), max_concurrency: 200, ..long_running() };
    let bench = Bench::timed_with(handler.clone(), settings);
    let watch = async {
        tokio::time::sleep(seconds(150)).await;
        let waiting = record(&bench, &MessageBuilder::email("b"));
        assert_eq!((waiting.status, waiting.lease_is_over(bench.clock.now())), (Status::Running, false));
    };
    let (answer, ()) = tokio::join!(run(&bench, ["a", "b"].map(MessageBuilder::email)), watch);
    assert!(answer.failed.is_empty());
}

// -- the wait of a job in a long batch ---------------------------------------------------------------------------------------------

/// Fails, and asks for this wait.
fn retry_after(wait: Duration) -> Step {
    Step::Fail(Failure::retry("provider_error", "the provider failed").after(wait))
}

#[tokio::test(start_paused = true)]
async fn a_job_that_failed_early_in_a_long_batch_comes_back_when_it_is_due_and_never_before() {
    // It failed at once; the batch took 17.3 s more, and the job has waited for them.
    let handler = Scripted::new().on("a", [retry_after(seconds(60))]).on("c", [Step::Sleep(millis(17_300)), Step::Effect]);
    let bench = Bench::timed_with(handler, settings());
    let answer = run(&bench, ["a", "c"].map(MessageBuilder::email)).await;
    assert_eq!(answer.failed, ["a"]);
    let due = record(&bench, &MessageBuilder::email("a")).retry_at.expect("it waits");
    assert_eq!(due, after(seconds(60)));
    let visible_in = visible_in(&bench, &MessageBuilder::email("a")).expect("a visibility");
    assert_eq!((bench.clock.now() + visible_in, visible_in), (due, millis(42_700)));
    assert_eq!(visibility_seconds(visible_in), 43, "SQS counts whole seconds");
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_wait_is_over_when_its_batch_closes_comes_back_at_once() {
    let handler = Scripted::new().on("a", [retry_after(seconds(5))]).on("c", [Step::Sleep(seconds(20)), Step::Effect]);
    let bench = Bench::timed_with(handler, settings());
    run(&bench, ["a", "c"].map(MessageBuilder::email)).await;
    assert_eq!(visible_in(&bench, &MessageBuilder::email("a")), Some(Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_a_message_whose_job_failed_early_in_a_long_batch_arrives_when_the_job_is_due() {
    let handler = Scripted::new().on("a", [retry_after(seconds(60))]).on("c", [Step::Sleep(seconds(20)), Step::Effect]);
    let bench = Bench::timed_with(handler, settings());
    run(&bench, [MessageBuilder::email("a").received(5), MessageBuilder::email("c")]).await;
    let delays: Vec<_> = bench.queue.sent().into_iter().map(|copy| copy.delay).collect();
    assert_eq!(delays, [seconds(40)]);
}

// -- heartbeat against backoff ---------------------------------------------------------------------------------------------------

/// A handler that ends right when an extension is on its way.
fn ends_during_a_tick(end: Step) -> Scripted {
    Scripted::new().on("a", [Step::Sleep(millis(15_100)), end])
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_is_held_up_never_overwrites_the_backoff() {
    for held_up in [millis(400), millis(500), seconds(5)] {
        let bench = Bench::timed_with(ends_during_a_tick(retry()), long_running());
        bench.queue.fail_next(pass());
        bench.queue.fail_next(QueueFault::OnItsWay(held_up));
        let answer = run(&bench, [MessageBuilder::email("a")]).await;
        assert_eq!(answer.failed, ["a"]);
        assert!(
            visible_in(&bench, &MessageBuilder::email("a")).unwrap() <= seconds(10),
            "the backoff, not the extension of 85 s"
        );
        let before = bench.queue.calls();
        tokio::time::sleep(seconds(120)).await;
        assert_eq!(bench.queue.calls(), before, "nothing runs on after the answer");
    }
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_starts_while_a_record_is_settled_does_not_overwrite_the_backoff_either() {
    // The handler ends at 14.9 s, its settlement takes a second, and the tick of 15 s takes two.
    let bench = Bench::timed_with(Scripted::new().on("a", [Step::Sleep(millis(14_900)), retry()]), long_running());
    bench.store.fail_next(StoreCall::Replace, StoreFault::Delay(seconds(1)));
    bench.queue.fail_next(pass());
    bench.queue.fail_next(QueueFault::OnItsWay(seconds(2)));
    run(&bench, [MessageBuilder::email("a")]).await;
    tokio::time::sleep(seconds(120)).await;
    assert!(visible_in(&bench, &MessageBuilder::email("a")).unwrap() <= seconds(10), "the backoff, not the extension of 85 s");
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_meets_a_message_that_is_gone_disturbs_nothing() {
    let gone = || QueueFault::DelayedRefusal(millis(500), QueueError::ReceiptLost);
    for (end, failed, status) in [
        (Step::Effect, vec![], Status::Succeeded),
        (retry(), vec!["a".to_owned()], Status::RetryScheduled),
        (permanent(), vec!["a".to_owned()], Status::Dead),
    ] {
        let bench = Bench::timed_with(ends_during_a_tick(end), long_running());
        bench.queue.fail_next(pass());
        bench.queue.fail_next(gone());
        let logs = captured();
        let answer = run(&bench, [MessageBuilder::email("a")]).await;
        assert_eq!((answer.failed, record(&bench, &MessageBuilder::email("a")).status), (failed, status));
        assert!(logs.parsed().iter().all(|line| line["level"] != "ERROR" || status == Status::Dead));
    }
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_hangs_near_the_deadline_leaves_time_to_settle() {
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(2_000))]);
    let bench = Bench::timed_with(handler, long_running());
    // Opening, ticks at 15, 30, … 885 s; the last one and a few more hang.
    for _ in 0..59 {
        bench.queue.fail_next(pass());
    }
    for _ in 0..3 {
        bench.queue.fail_next(QueueFault::Hang);
    }
    let answer = tokio::time::timeout(seconds(900), run(&bench, [MessageBuilder::email("a")])).await;
    assert_eq!(answer.expect("an answer before the deadline").failed, ["a"]);
    assert_eq!(code(&record(&bench, &MessageBuilder::email("a"))), Some("handler_timed_out"));
}

// -- the deadline ----------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn near_the_deadline_unstarted_records_are_listed_and_not_started() {
    // Ten records, two at a time, three seconds each, ten seconds (eight for handlers): six start.
    let handler =
        (0..10).fold(Scripted::new(), |handler, n| handler.on(&format!("job-{n}"), [Step::Sleep(seconds(3)), Step::Effect]));
    let settings = ConsumerSettings { batch_concurrency: 2, opening_visibility: false, ..ikkai::testing::settings() };
    let bench = Bench::timed_with(handler.clone(), settings);
    let messages: Vec<_> = (0..10).map(|n| MessageBuilder::email(&format!("job-{n}"))).collect();
    let batch: Vec<_> = messages.iter().map(MessageBuilder::build).collect();
    let answer = tokio::time::timeout(seconds(10), bench.run_until(batch, Some(after(seconds(10))))).await;
    let answer = answer.expect("an answer before the deadline").unwrap();
    assert_eq!(handler.starts().len(), 6);
    assert_eq!(answer.failed, ["job-4", "job-5", "job-6", "job-7", "job-8", "job-9"]);
    for message in &messages[6..] {
        assert_eq!((bench.record_of(message), visible_in(&bench, message)), (None, Some(Duration::ZERO)));
    }
    tokio::time::sleep(seconds(60)).await;
    assert_eq!((handler.starts().len(), handler.running()), (6, 0), "nothing runs on after the answer");
}

// -- renewal and put-backs -------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_renewal_at_the_end_of_a_long_batch_does_not_put_back_a_job_that_died_meanwhile() {
    let handler = Scripted::new().on("a", [permanent()]).on("b", [Step::Sleep(seconds(400))]);
    let bench = Bench::timed_with(handler.clone(), long_running());
    let message = MessageBuilder::email("a").received(5);
    let job_id = message.job_id().unwrap();
    bench.records.put(JobRecord {
        attempts: 1,
        lease_token: Some("somebody".into()),
        lease_until: Some(after(seconds(60))),
        ..JobRecord::new(job_id.clone(), job_id.job_type(), 1, "test-caller", Status::Running, after(seconds(0)))
    });
    let other = bench.another_worker(handler.clone());
    let death = async {
        tokio::time::sleep(seconds(100)).await;
        run(&other, [MessageBuilder::email("a").message_id("copy")]).await;
        assert_eq!(record(&other, &MessageBuilder::email("a")).status, Status::Dead);
    };
    let (_, ()) = tokio::join!(run(&bench, [message.clone(), MessageBuilder::email("b")]), death);
    for copy in bench.queue.sent() {
        let sent_at = bench.clock.now();
        run(&bench, [message.clone().message_id("renewed").body(copy.body).received(1).sent_at(sent_at)]).await;
    }
    assert_eq!(handler.starts_of("a"), 1, "nobody put the dead job back");
}
