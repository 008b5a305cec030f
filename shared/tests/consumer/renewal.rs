//! Messages whose receives run low are sent again before they are acknowledged.

use ikkai::consumer::ConsumerSettings;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::queue::{OutgoingMessage, QueueError};
use ikkai::testing::{Bench, MessageBuilder, QueueFault, StoreCall, StoreFault, TokioClock};

use crate::script::{
    Scripted, Step, after, assert_state, blank, captured, counted, defer, line_of, long_running, millis, record, retry, run,
    seconds, settings, visible_in,
};

/// Everything that comes back, by its script.
fn that_come_back() -> [(&'static str, Step); 2] {
    [("retried", retry()), ("deferred", defer(Some(seconds(7_200))))]
}

#[tokio::test]
async fn a_message_whose_receives_run_low_is_sent_again_and_then_acknowledged() {
    for receives in [5, 6] {
        for (outcome, step) in that_come_back() {
            let bench = Bench::with(Scripted::new().on("a", [step]), settings());
            let message = MessageBuilder::email("a").received(receives).attribute("AWSTraceHeader", "Root=1-5;Sampled=1");
            let logs = captured();
            let answer = run(&bench, [message.clone()]).await;
            assert!(answer.failed.is_empty(), "the original is acknowledged");
            assert_eq!(visible_in(&bench, &message), None);
            let [copy] = &bench.queue.sent()[..] else { panic!("one copy") };
            assert_eq!(Some(&copy.body), message.build().body.as_ref(), "byte for byte");
            assert_eq!(copy.trace_header.as_deref(), Some("Root=1-5;Sampled=1"));
            assert!(copy.delay <= OutgoingMessage::MAX_DELAY);
            assert_eq!(counted(&answer, "JobsRenewed"), 1);
            assert_eq!(line_of(&logs, "a")["outcome"], outcome);
            assert!(logs.parsed().iter().any(|line| line["message"] == "job renewed" && line["message_id"] == "a"));
            assert_eq!(record(&bench, &message).status, Status::RetryScheduled);
        }
    }
}

#[tokio::test]
async fn waiting_for_another_worker_and_for_the_deadline_is_renewed_too() {
    let bench = Bench::with(Scripted::new(), settings());
    let message = MessageBuilder::email("a").received(5);
    bench.records.put(JobRecord {
        attempts: 1,
        lease_token: Some("somebody".into()),
        lease_until: Some(after(seconds(25))),
        ..blank(&message, Status::Running)
    });
    assert!(run(&bench, [message]).await.failed.is_empty());
    let [copy] = &bench.queue.sent()[..] else { panic!("one copy") };
    assert!((seconds(25)..=seconds(26)).contains(&copy.delay), "{:?}", copy.delay);

    let not_started = bench.run_until([MessageBuilder::email("b").received(5).build()], Some(after(millis(150)))).await.unwrap();
    assert!(not_started.failed.is_empty());
    assert_eq!(bench.queue.sent().len(), 2);
}

#[tokio::test]
async fn a_message_with_receives_to_spare_is_not_renewed() {
    let bench = Bench::with(Scripted::new().on("a", [retry()]), settings());
    assert_eq!(run(&bench, [MessageBuilder::email("a").received(4)]).await.failed, ["a"]);
    assert!(bench.queue.sent().is_empty());
}

#[tokio::test]
async fn a_renewal_that_is_not_confirmed_leaves_the_original_in_the_queue() {
    let unavailable = QueueError::Unavailable { operation: "SendMessageBatch", code: "InternalError".into() };
    for receives in [5, 6] {
        for fault in [
            QueueFault::FailEntries(vec![(0, unavailable.clone())]),
            QueueFault::Refuse(unavailable.clone()),
            QueueFault::LoseAnswer,
        ] {
            let bench = Bench::with(Scripted::new().on("a", [defer(None)]), settings());
            bench.queue.fail_next(fault.clone());
            let message = MessageBuilder::email("a").received(receives);
            let logs = captured();
            let answer = run(&bench, [message.clone()]).await;
            assert_eq!(answer.failed, ["a"], "{fault:?}");
            assert_eq!(visible_in(&bench, &message), Some(seconds(60)), "it comes back when it is due");
            assert_eq!(counted(&answer, "JobsRenewed"), 0);
            assert!(logs.parsed().iter().any(|line| line["message"] == "renewal failed"));
        }
    }
}

#[tokio::test]
async fn of_a_batch_of_renewals_only_the_confirmed_ones_are_acknowledged() {
    let mut handler = Scripted::new();
    for name in ["a", "b", "c"] {
        handler = handler.on(name, [defer(None)]);
    }
    let bench = Bench::with(handler, settings());
    let refused = QueueError::Refused { operation: "SendMessageBatch", code: "InvalidMessageContents".into() };
    bench.queue.fail_next(QueueFault::FailEntries(vec![(1, refused)]));
    let batch = ["a", "b", "c"].map(|name| MessageBuilder::email(name).received(5));
    let answer = run(&bench, batch).await;
    assert_eq!(answer.failed, ["b"]);
    assert_eq!(counted(&answer, "JobsRenewed"), 2);
}

#[tokio::test]
async fn an_outage_of_any_length_never_dead_letters_a_job_and_ends_in_one_effect() {
    let mut handler = Scripted::new();
    for _ in 0..40 {
        handler = handler.on("a", [defer(Some(seconds(60)))]);
    }
    handler = handler.on("a", [Step::Effect]);
    let bench = Bench::with(handler.clone(), ConsumerSettings { circuit_failures: 1_000, ..settings() });
    let mut receives = 1;
    for delivery in 0.. {
        assert!(receives <= 6, "the queue would have dead-lettered the message at delivery {delivery}");
        bench.clock.advance(seconds(60));
        let sent = bench.queue.sent().len();
        let failed = run(&bench, [MessageBuilder::email("a").received(receives)]).await.failed;
        match (failed.is_empty(), bench.queue.sent().len() > sent) {
            (false, false) => receives += 1,
            (true, true) => receives = 1,
            (true, false) => break,
            (false, true) => panic!("renewed and reported"),
        }
    }
    assert_eq!((handler.starts_of("a"), handler.effects_of("a")), (41, 1));
    assert_state(&record(&bench, &MessageBuilder::email("a")), Status::Succeeded, 1, None);
}

#[tokio::test]
async fn an_unstarted_message_is_renewed_exactly_where_its_job_still_waits() {
    let died = after(seconds(0)) - seconds(3_600);
    for (name, status, sent_at, reported, copies) in [
        ("redriven after the death", Status::Dead, after(seconds(0)) - seconds(10), 0, 1),
        ("sent before the death", Status::Dead, died - seconds(10), 1, 0),
        ("in doubt", Status::InDoubt, after(seconds(0)) - seconds(10), 1, 0),
        ("waiting", Status::RetryScheduled, died, 0, 1),
        ("done by a twin", Status::Succeeded, died, 0, 0),
        ("taken back", Status::Cancelled, died, 0, 0),
    ] {
        let bench = Bench::with(Scripted::new(), settings());
        let message = MessageBuilder::email("a").received(5).sent_at(sent_at);
        bench.records.put(JobRecord { died_at: Some(died), ..blank(&message, status) });
        let answer = bench.run_until([message.build()], Some(after(millis(150)))).await.unwrap();
        assert_eq!((answer.failed.len(), bench.queue.sent().len()), (reported, copies), "{name}");
    }
}

#[tokio::test]
async fn a_message_that_grows_old_is_renewed_before_retention_removes_it_whatever_its_receives() {
    let day = seconds(86_400);
    for (age, copies) in [(day, 0), (day * 2 + seconds(1), 1)] {
        let bench = Bench::with(Scripted::new().on("a", [retry()]), ConsumerSettings { queue_retention: day * 4, ..settings() });
        run(&bench, [MessageBuilder::email("a").sent_at(after(seconds(0)) - age)]).await;
        assert_eq!(bench.queue.sent().len(), copies, "{age:?} old");
    }
}

#[tokio::test]
async fn while_the_table_is_down_an_unread_message_is_renewed_on_its_last_receive_only() {
    for (receives, copies) in [(5, 0), (6, 1)] {
        let bench = Bench::with(Scripted::new(), settings());
        bench.store.fail_next(StoreCall::Get, StoreFault::Unreachable);
        let message = MessageBuilder::email("a").received(receives);
        bench.run_until([message.build()], Some(after(millis(150)))).await.unwrap();
        assert_eq!(bench.queue.sent().len(), copies, "receive {receives}");
    }
}

// -- lost leases -----------------------------------------------------------------------------------------------------------------

/// A worker whose first heartbeat finds that the message came out again.
async fn loses_its_receipt(receives: u32) -> Bench<Scripted, TokioClock> {
    let bench = Bench::timed_with(Scripted::new().on("a", [Step::Sleep(seconds(100))]), long_running());
    bench.queue.fail_next(QueueFault::Delay(seconds(0)));
    bench.queue.fail_next(QueueFault::FailEntries(vec![(0, QueueError::ReceiptLost)]));
    let answer = run(&bench, [MessageBuilder::email("a").received(receives)]).await;
    assert_eq!(counted(&answer, "LeaseLost"), 1);
    assert_eq!(answer.failed.is_empty(), receives == 6);
    bench
}

#[tokio::test(start_paused = true)]
async fn a_message_that_came_out_again_on_its_last_receive_is_sent_again() {
    let bench = loses_its_receipt(5).await;
    assert!(bench.queue.sent().is_empty(), "whoever has it now works on it");
    let bench = loses_its_receipt(6).await;
    assert_eq!(bench.queue.sent().len(), 1, "SQS gives it to nobody any more");
}

#[tokio::test(start_paused = true)]
async fn a_lost_job_that_another_worker_ended_is_not_sent_again() {
    for (status, failed) in [(Status::Succeeded, 0), (Status::Dead, 1), (Status::InDoubt, 1), (Status::Running, 0)] {
        let bench = Bench::timed_with(Scripted::new().on("a", [Step::Sleep(seconds(100))]), long_running());
        let message = MessageBuilder::email("a").received(6).sent_at(after(seconds(0)));
        let steal = async {
            tokio::time::sleep(seconds(10)).await;
            let stolen = record(&bench, &message);
            let died_at = (status == Status::Dead).then(|| after(seconds(10)));
            bench.records.put(JobRecord { status, died_at, lease_token: Some("another worker".into()), ..stolen });
        };
        let (answer, ()) = tokio::join!(run(&bench, [message.clone()]), steal);
        assert_eq!((answer.failed.len(), bench.queue.sent().len()), (failed, usize::from(status == Status::Running)), "{status}");
        assert_eq!(visible_in(&bench, &message), Some(seconds(85)), "the heartbeat's, and none after it");
    }
}
