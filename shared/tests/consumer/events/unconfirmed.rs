//! Events that could not be sent: each is told at least once, and before its message is gone.

use ikkai::clock::Clock;
use ikkai::consumer::Failure;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::testing::{Bench, MessageBuilder, QueueFault, StoreCall, StoreFault};
use proptest::prelude::*;
use serde_json::json;

use super::{asking, bench, bodies, event, id_of, unavailable, with_events};
use crate::script::{
    Scripted, Step, after, captured, defer, fifo, killed_after, long_running, millis, permanent, record, run, seconds, settings,
    visible_in,
};

#[tokio::test]
async fn an_event_that_is_not_confirmed_brings_its_message_back_and_is_sent_again() {
    for fault in [QueueFault::Refuse(unavailable()), QueueFault::FailEntries(vec![(0, unavailable())]), QueueFault::LoseAnswer] {
        let handler = Scripted::new();
        let bench = bench(&handler, settings(), &["a"]);
        bench.events.fail_next(fault);
        let logs = captured();
        let message = MessageBuilder::email("a");
        let answer = run(&bench, [message.clone()]).await;
        assert_eq!((answer.failed, counted_succeeded(&bench)), (vec!["a".to_owned()], 1));
        assert!(visible_in(&bench, &message).is_some_and(|after| after <= seconds(10)), "after a backoff");
        assert!(logs.parsed().iter().any(|line| line["message"] == "completion event not sent" && line["jobs"] == 1));
        assert_eq!(record(&bench, &message).status, Status::Succeeded);

        assert!(run(&bench, [message.received(2)]).await.failed.is_empty());
        assert_eq!(bodies(&bench).last(), Some(&event("a", 0, "succeeded")));
        assert_eq!(handler.starts_of("a"), 1);
    }
}

fn counted_succeeded(bench: &Bench<Scripted>) -> usize {
    bench.records.all().iter().filter(|record| record.status == Status::Succeeded).count()
}

#[tokio::test]
async fn of_several_events_only_the_unconfirmed_ones_bring_their_messages_back() {
    let handler = Scripted::new().on("b", [permanent()]);
    let bench = bench(&handler, settings(), &["a", "b", "c"]);
    bench.events.fail_next(QueueFault::FailEntries(vec![(0, unavailable()), (1, unavailable())]));
    let batch = ["a", "b", "c", "silent"].map(MessageBuilder::email);
    assert_eq!(run(&bench, batch.clone()).await.failed, ["a", "b"]);
    // A dead job's message would leave for the DLQ at once; it gets the time for another try.
    for message in &batch[..2] {
        assert!(visible_in(&bench, message).is_some_and(|after| after <= seconds(10)));
    }
    assert_eq!(run(&bench, batch.map(|message| message.received(2))).await.failed, ["b"]);
    assert_eq!(bodies(&bench).iter().filter(|body| **body == event("b", 0, "dead")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_queue_of_events_that_hangs_costs_no_answer_and_no_visibility() {
    let handler = Scripted::new().on("b", [defer(Some(seconds(60)))]);
    let bench = Bench::timed_with(handler, with_events(settings()));
    bench.records.put(asking("a", Status::Accepted));
    bench.events.fail_next(QueueFault::Hang);
    let batch = ["a", "b"].map(MessageBuilder::email);
    let answer = tokio::time::timeout(seconds(30), run(&bench, batch.clone())).await.expect("an answer before the deadline");
    assert_eq!(answer.failed, ["a", "b"]);
    let back_at = visible_in(&bench, &batch[1]).map(|left| bench.clock.now() + left);
    assert_eq!((back_at, record(&bench, &batch[1]).retry_at), (Some(after(seconds(60))), back_at), "when it is due");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_between_the_record_and_the_event_leaves_it_to_the_next_delivery() {
    let handler = Scripted::new();
    let bench = Bench::timed_with(handler.clone(), with_events(settings()));
    bench.records.put(asking("a", Status::Accepted));
    bench.events.fail_next(QueueFault::Delay(seconds(2)));
    killed_after(&bench, seconds(1), [MessageBuilder::email("a")]).await;
    assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::Succeeded);
    assert!(bench.events.sent().is_empty() && bench.queue.calls().is_empty(), "the event comes before everything else");

    assert!(run(&bench, [MessageBuilder::email("a").received(2)]).await.failed.is_empty());
    assert_eq!((bench.events.sent().len(), handler.effects_of("a")), (1, 1));
}

#[tokio::test]
async fn a_done_job_whose_receives_run_low_is_renewed_until_its_event_is_out() {
    let bench = bench(&Scripted::new(), settings(), &["a"]);
    bench.events.fail_next(QueueFault::Refuse(unavailable()));
    let answer = run(&bench, [MessageBuilder::email("a").received(6)]).await;
    assert!(answer.failed.is_empty(), "the copy takes its place");
    let [copy] = &bench.queue.sent()[..] else { panic!("one copy") };
    assert!(run(&bench, [MessageBuilder::new("copy", copy.body.clone())]).await.failed.is_empty());
    assert_eq!(bodies(&bench), [event("a", 0, "succeeded")]);
}

#[tokio::test(start_paused = true)]
async fn in_a_long_batch_an_untold_job_is_renewed_and_not_let_go() {
    let handler = Scripted::new().on("b", [Step::Sleep(seconds(120))]);
    let bench = Bench::timed_with(handler, with_events(long_running()));
    bench.records.put(asking("a", Status::Accepted));
    bench.events.fail_next(QueueFault::Refuse(unavailable()));
    let answer = run(&bench, [MessageBuilder::email("a").received(5), MessageBuilder::email("b")]).await;
    assert!(answer.failed.is_empty());
    assert_eq!(bench.queue.sent().len(), 1);
}

#[tokio::test]
async fn a_dead_job_whose_event_is_not_out_is_never_copied() {
    let bench = bench(&Scripted::new().on("a", [permanent()]), settings(), &["a"]);
    bench.events.fail_next(QueueFault::Refuse(unavailable()));
    assert_eq!(run(&bench, [MessageBuilder::email("a").received(6)]).await.failed, ["a"]);
    assert!(bench.queue.sent().is_empty(), "a copy would put it back");
}

// -- done, untold, and its record unread -----------------------------------------------------------------------------------------

/// The copy that takes the place of a message is delivered.
async fn deliver_copy<C: Clock + Clone>(bench: &Bench<Scripted, C>) {
    let [copy] = &bench.queue.sent()[..] else { panic!("one copy: {:?}", bench.queue.sent()) };
    assert!(run(bench, [MessageBuilder::new("copy", copy.body.clone())]).await.failed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_done_job_whose_settlement_was_not_answered_is_told_by_its_copy() {
    let bench = Bench::timed_with(Scripted::new(), with_events(settings()));
    bench.records.put(asking("a", Status::Accepted));
    bench.store.fail_next(StoreCall::Replace, StoreFault::LoseAnswer);
    (0..9).for_each(|_| bench.store.fail_next(StoreCall::Replace, StoreFault::Unreachable));
    assert!(run(&bench, [MessageBuilder::email("a").received(6)]).await.failed.is_empty());
    assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::Succeeded);
    assert!(bench.events.sent().is_empty());
    deliver_copy(&bench).await;
    let told: Vec<_> = bench.events.sent().into_iter().map(|sent| sent.body).collect();
    assert_eq!(told, [event("a", 0, "succeeded")]);
}

#[tokio::test(start_paused = true)]
async fn a_done_job_that_nobody_told_of_before_the_circuit_opened_is_told_by_its_copy() {
    let handler = Scripted::new().on("opens", [Step::Fail(Failure::defer("key_refused", "no key", None).opening_circuit())]);
    let bench = Bench::timed_with(handler, with_events(settings()));
    bench.records.put(JobRecord { attempts: 1, ..asking("a", Status::Succeeded) });
    run(&bench, [MessageBuilder::email("opens")]).await;
    let message = MessageBuilder::email("a").received(5);
    assert!(run(&bench, [message]).await.failed.is_empty(), "the copy takes its place");
    tokio::time::sleep(seconds(60)).await;
    deliver_copy(&bench).await;
    assert_eq!(bench.events.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_queue_for_events_a_done_job_is_let_go_and_not_copied() {
    let handler = Scripted::new().on("opens", [Step::Fail(Failure::defer("key_refused", "no key", None).opening_circuit())]);
    let bench = Bench::timed_with(handler, settings());
    bench.records.put(asking("a", Status::Succeeded));
    run(&bench, [MessageBuilder::email("opens")]).await;
    assert!(run(&bench, [MessageBuilder::email("a").received(5)]).await.failed.is_empty());
    assert!(bench.queue.sent().is_empty());
}

// -- given up --------------------------------------------------------------------------------------------------------------------

fn given_up(logs: &ikkai::observability::logs::capture::Captured) -> Vec<serde_json::Value> {
    logs.parsed().into_iter().filter(|line| line["message"] == "completion event given up").collect()
}

#[tokio::test]
async fn an_untold_job_is_not_copied_past_the_end_of_its_record() {
    let retention = settings().queue_retention;
    // A copy may wait in the queue for as long as the queue keeps it.
    for (left, is_copied) in [(retention + seconds(60), true), (retention - seconds(60), false)] {
        let bench = bench(&Scripted::new(), settings(), &[]);
        let expires_at = Some((bench.clock.now() + left).to_seconds_ceil());
        bench.records.put(JobRecord { expires_at, ..asking("a", Status::Succeeded) });
        bench.events.fail_next(QueueFault::Refuse(unavailable()));
        let logs = captured();
        assert!(run(&bench, [MessageBuilder::email("a").received(5)]).await.failed.is_empty());
        assert_eq!((bench.queue.sent().len(), given_up(&logs).len()), if is_copied { (1, 0) } else { (0, 1) });
        if let [line] = &given_up(&logs)[..] {
            assert_eq!(
                (&line["level"], &line["job_id"], &line["message_id"]),
                (&json!("ERROR"), &json!(id_of("a")), &json!("a"))
            );
        }
    }
}

#[tokio::test]
async fn on_the_last_receive_of_a_fifo_queue_a_done_job_is_acknowledged_untold_with_an_error() {
    for (receives, failed) in [(5, 1), (6, 0)] {
        let bench = bench(&Scripted::new().on("b", [permanent()]), fifo(), &["a", "b"]);
        (0..2).for_each(|_| bench.events.fail_next(QueueFault::Refuse(unavailable())));
        let message = |name| MessageBuilder::email(name).queue("email.fifo").group(name).received(receives);
        let logs = captured();
        assert_eq!(run(&bench, [message("a")]).await.failed.len(), failed);
        assert_eq!((record(&bench, &message("a")).status, given_up(&logs).len()), (Status::Succeeded, 1 - failed));
        assert_eq!(run(&bench, [message("b")]).await.failed, ["b"], "what is dead belongs into the DLQ, told or not");
    }
}

fn faults() -> impl Strategy<Value = Vec<QueueFault>> {
    let fault = proptest::sample::select(vec![
        QueueFault::Refuse(unavailable()),
        QueueFault::LoseAnswer,
        QueueFault::FailEntries(vec![(0, unavailable())]),
        QueueFault::Delay(millis(300)),
        QueueFault::Hang,
    ]);
    proptest::collection::vec(fault, 0..4)
}

proptest! {
    #[test]
    fn no_job_that_asked_leaves_the_queue_untold(events in faults(), sends in faults(), kills in proptest::collection::vec(any::<bool>(), 4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async move {
            let handler = Scripted::new();
            let bench = Bench::timed_with(handler.clone(), with_events(settings()));
            bench.records.put(asking("a", Status::Accepted));
            events.into_iter().for_each(|fault| bench.events.fail_next(fault));
            sends.into_iter().for_each(|fault| bench.queue.fail_next(fault));
            let mut kills = kills.into_iter();
            let mut receives = 1;
            loop {
                tokio::time::sleep(seconds(120)).await;
                prop_assert!(receives <= 6, "the queue would have dead-lettered the message");
                let message = MessageBuilder::email("a").received(receives);
                let copies = bench.queue.sent().len();
                let run = bench.run_batch([message.build()]);
                let answer = if kills.next() == Some(true) {
                    tokio::time::timeout(millis(200), run).await.ok()
                } else {
                    Some(run.await)
                };
                let gone = answer.is_some_and(|answer| answer.unwrap().failed.is_empty());
                match (gone, bench.queue.sent().len() > copies) {
                    (true, false) => break,
                    (true, true) => receives = 1,
                    (false, _) => receives += 1,
                }
            }
            prop_assert!(bench.events.sent().iter().any(|sent| sent.body == event("a", 0, "succeeded")));
            prop_assert_eq!(handler.effects_of("a"), 1);
            Ok(())
        })?;
    }
}
