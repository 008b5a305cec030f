//! Messages that hold several jobs: each has its own record, and the message is what its most urgent job is.

use ikkai::clock::Clock as _;
use ikkai::consumer::{BatchError, ConsumerSettings, FifoAfterDeath};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::queue::{QueueError, QueueName};
use ikkai::testing::{Bench, MessageBuilder, QueueFault, StoreCall, StoreFault};

use crate::objects::{record_of, s3_event, s3_record};
use crate::script::{
    Scripted, Step, after, assert_state, captured, counted, defer, fifo, killed_after, long_running, message_record_id, millis,
    permanent, record_by_id, retry, run, seconds, settings,
};

fn handler() -> Scripted {
    Scripted::new().mails_about_objects("welcome")
}

/// A message about these uploads.
fn about(names: &[&str]) -> MessageBuilder {
    let records: Vec<_> = names.iter().map(|name| s3_record(&format!("uploads/{name}"))).collect();
    MessageBuilder::new("m1", s3_event(&records))
}

fn visible_in(bench: &Bench<Scripted>) -> Option<std::time::Duration> {
    bench.queue.last_visibility("receipt-m1")
}

#[tokio::test]
async fn each_job_has_its_own_record_line_and_count() {
    let handler = handler();
    let bench = Bench::with(handler.clone(), settings());
    let logs = captured();
    let answer = run(&bench, [about(&["a", "b", "c"])]).await;
    assert!(answer.failed.is_empty() && bench.queue.calls().is_empty());
    assert_eq!((counted(&answer, "JobsSucceeded"), bench.store.writes()), (3, 6));
    for name in ["a", "b", "c"] {
        let record = record_of(&bench, name).unwrap();
        assert_state(&record, Status::Succeeded, 1, None);
        let lines = logs.parsed();
        let of_job: Vec<_> = lines.iter().filter(|line| line["job_id"] == record.job_id.as_str()).collect();
        assert_eq!(of_job.len(), 1);
        assert_eq!((&of_job[0]["message_id"], &of_job[0]["message"]), (&"m1".into(), &"job succeeded".into()));
    }
}

#[tokio::test]
async fn a_message_with_one_job_to_come_back_is_reported_and_the_others_are_not_redone() {
    let handler = handler().on("b", [retry()]).on("b", [Step::Effect]);
    let bench = Bench::with(handler.clone(), settings());
    assert_eq!(run(&bench, [about(&["a", "b", "c"])]).await.failed, ["m1"]);
    assert!(visible_in(&bench).is_some());
    bench.clock.advance(seconds(3_600));
    let answer = run(&bench, [about(&["a", "b", "c"]).received(2)]).await;
    assert!(answer.failed.is_empty());
    assert_eq!((counted(&answer, "JobsDuplicate"), counted(&answer, "JobsSucceeded")), (2, 1));
    assert_eq!(["a", "b", "c"].map(|name| handler.effects_of(name)), [1, 1, 1]);
}

#[tokio::test]
async fn the_verdicts_of_the_jobs_fold_into_one() {
    let wait = |delay| defer(Some(seconds(delay)));
    for (what, scripts, reported, visible) in [
        ("all done", vec![Step::Effect, Step::Effect], false, None),
        ("the earliest due time", vec![wait(300), wait(60), Step::Effect], true, Some(60)),
        ("dead and waiting", vec![permanent(), wait(60)], true, Some(60)),
        ("done and dead", vec![Step::Effect, permanent()], true, Some(0)),
        ("only dead", vec![permanent(), permanent()], true, Some(0)),
    ] {
        let names = ["a", "b", "c"];
        let handler = names.iter().zip(&scripts).fold(handler(), |handler, (name, step)| handler.on(name, [step.clone()]));
        let bench = Bench::with(handler.clone(), settings());
        let answer = run(&bench, [about(&names[..scripts.len()])]).await;
        assert_eq!((answer.failed.len(), visible_in(&bench)), (usize::from(reported), visible.map(seconds)), "{what}");
        assert_eq!(handler.starts().len(), scripts.len(), "{what}");
    }
}

#[tokio::test]
async fn a_record_that_is_poison_does_not_stop_its_siblings_and_has_a_record_of_its_own() {
    let handler = handler();
    let bench = Bench::with(handler.clone(), settings());
    let message = about(&["a", "%zz", "b", "%ff"]);
    for receives in 1..=2 {
        let answer = run(&bench, [message.clone().received(receives)]).await;
        assert_eq!((answer.failed, visible_in(&bench)), (vec!["m1".to_owned()], Some(seconds(0))));
    }
    assert_eq!((handler.effects_of("a"), handler.effects_of("b"), bench.records.all().len()), (1, 1, 4));
    for place in [1, 3] {
        let record = record_by_id(&bench, &message_record_id(&format!("m1-{place}"))).expect("a record of its own");
        assert_state(&record, Status::Dead, 0, Some("object_key_malformed"));
    }
}

#[tokio::test]
async fn more_jobs_than_a_message_may_hold_are_poison_and_none_is_started() {
    let names: Vec<_> = (0..101).map(|n| format!("job-{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let handler = handler();
    let bench = Bench::with(handler.clone(), settings());
    assert!(run(&bench, [about(&names[..100])]).await.failed.is_empty());
    assert_eq!(handler.starts().len(), 100);
    assert_eq!(run(&bench, [about(&names).message_id("m2")]).await.failed, ["m2"]);
    assert_eq!(handler.starts().len(), 100);
    let record = record_by_id(&bench, &message_record_id("m2")).expect("one record for the message");
    assert_state(&record, Status::Dead, 0, Some("too_many_jobs"));
}

#[tokio::test(start_paused = true)]
async fn concurrency_counts_jobs_and_not_messages() {
    let names = ["a", "b", "c", "d", "e"];
    let handler = names.iter().fold(handler(), |handler, name| handler.on(name, [Step::Sleep(seconds(1))]));
    let bench = Bench::timed_with(handler.clone(), ConsumerSettings { batch_concurrency: 3, ..settings() });
    let batch = [about(&names[..4]), about(&names[4..]).message_id("m2")];
    assert!(run(&bench, batch).await.failed.is_empty());
    assert_eq!(handler.most_running(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_runs_after_its_siblings_and_alone() {
    let handler = handler().on("a", [Step::Hang]).on("a", [Step::Sleep(seconds(1))]).on("b", [Step::Sleep(seconds(1))]);
    let bench = Bench::timed_with(handler.clone(), settings());
    killed_after(&bench, seconds(5), [about(&["a"])]).await;
    tokio::time::sleep(seconds(60)).await;
    let answer = run(&bench, [about(&["a", "b", "c"]).message_id("m2")]).await;
    assert!(answer.failed.is_empty());
    assert_eq!(handler.starts().last().map(String::as_str), Some("a"));
    assert_eq!(handler.starts_of("a"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_killed_leaves_each_job_as_it_was() {
    let handler = handler().on("b", [Step::Hang]).on("b", [Step::Effect]);
    let bench = Bench::timed_with(handler.clone(), settings());
    killed_after(&bench, seconds(5), [about(&["a", "b"])]).await;
    tokio::time::sleep(seconds(60)).await;
    assert!(run(&bench, [about(&["a", "b"]).received(2)]).await.failed.is_empty());
    assert_eq!((handler.effects_of("a"), handler.effects_of("b"), handler.starts_of("b")), (1, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn one_receipt_that_is_lost_stops_every_job_of_its_message_and_no_other() {
    let handler = ["a", "b", "other"].iter().fold(handler(), |handler, name| handler.on(name, [Step::Sleep(seconds(60))]));
    let bench = Bench::timed_with(handler.clone(), long_running());
    bench.queue.fail_next(QueueFault::Delay(millis(0)));
    bench.queue.fail_next(QueueFault::FailEntries(vec![(0, QueueError::ReceiptLost)]));
    let answer = run(&bench, [about(&["a", "b"]), about(&["other"]).message_id("m2")]).await;
    assert_eq!(answer.failed, ["m1"]);
    assert_eq!(counted(&answer, "LeaseLost"), 2);
    assert_eq!(bench.queue.last_visibility("receipt-m1"), Some(seconds(85)), "only the opening call touched it");
    let receipts = bench.queue.visibility_calls();
    assert!(receipts.iter().all(|changes| changes.iter().filter(|change| change.receipt_handle == "receipt-m1").count() <= 1));
}

#[tokio::test]
async fn a_batch_fails_as_a_whole_only_where_every_job_of_every_message_failed() {
    let settings = ConsumerSettings { error_when_all_fail: true, ..settings() };
    let both_fail = handler().on("a", [retry()]).on("b", [retry()]);
    let bench = Bench::with(both_fail, settings.clone());
    let failed = bench.run_batch([about(&["a", "b"]).build()]).await;
    assert_eq!(failed, Err(BatchError::AllFailed { started: 2 }));
    let bench = Bench::with(handler().on("a", [retry()]), settings);
    assert_eq!(run(&bench, [about(&["a", "b"])]).await.failed, ["m1"], "one of its jobs is done");
}

#[tokio::test]
async fn jobs_that_could_not_start_come_back_with_their_message() {
    let handler = handler();
    let bench = Bench::with(handler.clone(), settings());
    let answer = bench.run_until([about(&["a", "b"]).build()], Some(after(millis(150)))).await.unwrap();
    assert_eq!((answer.failed, visible_in(&bench)), (vec!["m1".to_owned()], Some(seconds(0))));
    assert!(handler.starts().is_empty() && bench.store.calls().is_empty());
}

// -- renewal -----------------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_message_whose_receives_run_low_is_copied_once_for_all_its_jobs() {
    let handler = handler().on("b", [defer(Some(seconds(300)))]).on("c", [defer(Some(seconds(60)))]);
    let bench = Bench::with(handler, settings());
    let message = about(&["b", "c"]).received(5);
    assert!(run(&bench, [message.clone()]).await.failed.is_empty());
    let [copy] = &bench.queue.sent()[..] else { panic!("one copy") };
    assert_eq!((Some(&copy.body), copy.delay), (message.build().body.as_ref(), seconds(60)));
}

#[tokio::test]
async fn a_copy_leaves_out_what_is_done_so_that_it_does_not_run_again_when_its_record_is_gone() {
    let half_a_day = || defer(Some(seconds(43_200)));
    let handler = handler().on("b", [half_a_day()]).on("b", [half_a_day()]).on("b", [Step::Effect]);
    let bench = Bench::with(handler.clone(), settings());
    let first = about(&["a", "b", "c"]).received(5);
    assert!(run(&bench, [first]).await.failed.is_empty());
    let mut copies = bench.queue.sent();
    let copy = copies.remove(0);
    assert_eq!(copy.body, s3_event(&[s3_record("uploads/b")]));

    // An outage of months: the message is copied again and again, and the records of what was done expire.
    bench.clock.advance(settings().record_retention + seconds(60));
    let copy = MessageBuilder::new("copy", copy.body).sent_at(bench.clock.now()).received(5);
    assert!(run(&bench, [copy]).await.failed.is_empty());
    bench.clock.advance(seconds(43_200));
    let last = MessageBuilder::new("last", bench.queue.sent().remove(1).body).sent_at(bench.clock.now());
    assert!(run(&bench, [last]).await.failed.is_empty());
    assert_eq!(["a", "b", "c"].map(|name| handler.effects_of(name)), [1, 1, 1]);
}

#[tokio::test]
async fn a_done_job_that_cannot_be_told_of_in_time_is_left_out_of_the_copy_with_an_error() {
    let retention = settings().queue_retention;
    // A copy may wait in the queue for as long as the queue keeps it.
    for (left, copied, errors) in [(retention + seconds(60), &["a", "b"][..], 0), (retention - seconds(60), &["b"], 1)] {
        let handler = handler().on("b", [defer(Some(seconds(60)))]);
        let with_events = ConsumerSettings { events_queue_name: Some(QueueName::new("webhook")), ..settings() };
        let bench = Bench::with(handler, with_events);
        run(&bench, [about(&["a", "b"])]).await;
        let expires_at = Some((bench.clock.now() + seconds(60) + left).to_seconds_ceil());
        let callback_url = Some("https://example.com/hook".to_owned());
        bench.records.put(JobRecord { callback_url, expires_at, ..record_of(&bench, "a").unwrap() });
        bench.clock.advance(seconds(60));
        bench.events.fail_next(QueueFault::Refuse(QueueError::ReceiptLost));
        let logs = captured();
        assert!(run(&bench, [about(&["a", "b"]).received(5)]).await.failed.is_empty());
        let [copy] = &bench.queue.sent()[..] else { panic!("one copy") };
        let records: Vec<_> = copied.iter().map(|name| s3_record(&format!("uploads/{name}"))).collect();
        assert_eq!(copy.body, s3_event(&records));
        assert_eq!(logs.parsed().iter().filter(|line| line["message"] == "completion event given up").count(), errors);
    }
}

/// Records of a message that is received for the fifth time while nothing can be started, by the status of each job.
async fn unstarted(receives: u32, statuses: &[(&str, Status)], faults: usize) -> (usize, Vec<String>) {
    let bench = Bench::with(handler(), settings());
    let names: Vec<_> = statuses.iter().map(|(name, _)| *name).collect();
    let message = about(&names).received(receives);
    // The first run makes the records, with the ids that the core derives.
    run(&bench, [message.clone().message_id("m0").received(1)]).await;
    for (name, status) in statuses {
        let record = record_of(&bench, name).unwrap();
        bench.records.put(JobRecord { status: *status, died_at: Some(after(seconds(0))), expires_at: None, ..record });
    }
    for _ in 0..faults {
        bench.store.fail_next(StoreCall::Get, StoreFault::Unreachable);
    }
    let answer = bench.run_until([message.build()], Some(after(millis(150)))).await.unwrap();
    (answer.failed.len(), bench.queue.sent().into_iter().map(|copy| copy.body).collect())
}

#[tokio::test]
async fn a_copy_is_made_when_every_record_was_asked_and_none_has_ended() {
    let whole = about(&["a", "b"]).build().body.unwrap();
    let done = Status::Succeeded;
    let waits = Status::RetryScheduled;
    let waiting = about(&["b"]).build().body.unwrap();
    assert_eq!(unstarted(5, &[("a", waits), ("b", waits)], 0).await, (0, vec![whole.clone()]));
    assert_eq!(unstarted(5, &[("a", done), ("b", waits)], 0).await, (0, vec![waiting]));
    assert_eq!(unstarted(5, &[("a", done), ("b", Status::Cancelled)], 0).await, (0, vec![]), "all done: it may go");
    assert_eq!(unstarted(5, &[("a", done), ("b", Status::Dead)], 0).await, (1, vec![]), "on its way to the DLQ");
    assert_eq!(unstarted(5, &[("a", Status::Dead), ("b", waits)], 0).await, (1, vec![]), "a copy would put the dead one back");
    assert_eq!(unstarted(5, &[("a", done), ("b", waits)], 1).await, (1, vec![]), "one record did not answer");
    assert_eq!(unstarted(6, &[("a", done), ("b", waits)], 2).await, (0, vec![whole]), "an outage dead-letters nothing");
}

#[tokio::test]
async fn on_the_last_receive_what_waits_leaves_what_has_ended() {
    let handler = handler().on("a", [permanent()]).on("b", [retry()]).on("b", [Step::Effect]);
    let bench = Bench::with(handler.clone(), settings());
    run(&bench, [about(&["a", "b"])]).await;
    bench.clock.advance(seconds(3_600));
    bench.records.put(JobRecord {
        status: Status::RetryScheduled,
        retry_at: Some(after(seconds(7_200))),
        ..record_of(&bench, "b").unwrap()
    });

    let answer = run(&bench, [about(&["a", "b"]).received(6)]).await;
    assert_eq!((answer.failed, visible_in(&bench)), (vec!["m1".to_owned()], Some(seconds(0))), "the original goes to the DLQ");
    let [copy] = &bench.queue.sent()[..] else { panic!("one message for the job that waits") };
    assert_eq!(copy.body, s3_event(&[s3_record("uploads/b")]));

    bench.clock.advance(seconds(7_200));
    let copy = MessageBuilder::new("copy", copy.body.clone()).sent_at(after(seconds(3_600)));
    assert!(run(&bench, [copy]).await.failed.is_empty());
    assert_eq!((handler.effects_of("b"), handler.starts_of("a")), (1, 1));
    assert_state(&record_of(&bench, "a").unwrap(), Status::Dead, 1, Some("user_unknown"));
}

#[tokio::test]
async fn a_split_that_is_not_confirmed_leaves_the_original_reported() {
    let handler = handler().on("a", [permanent()]).on("b", [defer(Some(seconds(60)))]);
    let bench = Bench::with(handler, settings());
    bench.queue.fail_next(QueueFault::LoseAnswer);
    assert_eq!(run(&bench, [about(&["a", "b"]).received(6)]).await.failed, ["m1"]);
    assert_eq!(visible_in(&bench), Some(seconds(60)));
}

// -- FIFO --------------------------------------------------------------------------------------------------------------------

fn in_group(message: MessageBuilder) -> MessageBuilder {
    message.queue("email.fifo").group("g")
}

#[tokio::test]
async fn on_a_fifo_queue_the_jobs_of_a_message_keep_their_order_and_wait_behind_a_failed_one() {
    let handler = handler().on("b", [defer(Some(seconds(60)))]);
    let bench = Bench::with(handler.clone(), fifo());
    let batch = [in_group(about(&["a", "b", "c"])), in_group(about(&["d"]).message_id("m2"))];
    let answer = run(&bench, batch).await;
    assert_eq!(answer.failed, ["m1", "m2"]);
    assert_eq!(handler.starts(), ["a", "b"]);
    assert_eq!(visible_in(&bench), Some(seconds(60)), "a job that waits behind the failed one does not hurry the message");
    assert_eq!(bench.queue.last_visibility("receipt-m2"), Some(seconds(0)));
    let order: Vec<_> = bench.queue.visibility_calls().into_iter().flatten().map(|change| change.receipt_handle).collect();
    assert_eq!(order, ["receipt-m2", "receipt-m1"], "followers before their head");
}

#[tokio::test]
async fn a_dead_job_holds_back_later_messages_of_its_group_and_not_its_siblings() {
    for (after_death, starts) in [(FifoAfterDeath::HoldGroup, vec!["a", "b"]), (FifoAfterDeath::Continue, vec!["a", "b", "c"])] {
        let handler = handler().on("a", [permanent()]);
        let bench = Bench::with(handler.clone(), ConsumerSettings { fifo_after_death: after_death, ..fifo() });
        let batch = [in_group(about(&["a", "b"])), in_group(about(&["c"]).message_id("m2"))];
        run(&bench, batch).await;
        assert_eq!(handler.starts(), starts);
    }
}

#[tokio::test]
async fn on_its_last_receive_each_job_of_a_fifo_message_gets_a_reason() {
    let handler = handler().on("a", [retry()]);
    let bench = Bench::with(handler.clone(), fifo());
    assert_eq!(run(&bench, [in_group(about(&["a", "b"])).received(6)]).await.failed, ["m1"]);
    assert_state(&record_of(&bench, "a").unwrap(), Status::Dead, 1, Some("receives_exhausted"));
    assert_state(&record_of(&bench, "b").unwrap(), Status::Succeeded, 1, None);
}
