//! One job, several deliveries, workers that die and answers that get lost: the effect happens once.

use aws_lambda_events::sqs::SqsMessage;
use ikkai::clock::{Clock, EpochMillis};
use ikkai::consumer::Failure;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::testing::{Bench, MessageBuilder};

use crate::script::{
    Scripted, Step, after, code, counted, killed_after, millis, record, retry, run, seconds, settings, visible_in,
};

/// Announces its effect, has it, and takes a while on both sides.
fn slow_effect() -> [Step; 4] {
    [Step::Sleep(seconds(1)), Step::Begin(seconds(2)), Step::Effect, Step::Sleep(seconds(1))]
}

// -- duplicates ------------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn two_workers_with_the_same_job_at_once_have_one_effect() {
    let handler = Scripted::new().on("a", slow_effect());
    let first = Bench::timed(handler.clone());
    let second = first.another_worker(handler.clone());
    let copy = MessageBuilder::email("a").message_id("copy");
    let (one, other) = tokio::join!(run(&first, [MessageBuilder::email("a")]), run(&second, [copy.clone()]));
    assert_eq!((one.failed, other.failed), (vec![], vec!["copy".to_owned()]));
    assert_eq!((handler.starts_of("a"), handler.effects_of("a")), (1, 1));
    let waits = visible_in(&second, &copy).expect("a visibility");
    assert!((seconds(40)..=seconds(41)).contains(&waits), "what is left of the lease: {waits:?}");
}

#[tokio::test(start_paused = true)]
async fn the_same_job_twice_in_one_batch_has_one_effect() {
    let handler = Scripted::new().on("a", slow_effect());
    let bench = Bench::timed(handler.clone());
    let answer = run(&bench, [MessageBuilder::email("a"), MessageBuilder::email("a").message_id("copy")]).await;
    assert_eq!(answer.failed, ["copy"]);
    assert_eq!(handler.effects_of("a"), 1);
    assert!(run(&bench, [MessageBuilder::email("a").message_id("copy")]).await.failed.is_empty());
    assert_eq!(handler.effects_of("a"), 1);
}

/// A message as SQS hands it out twice into one batch: the second receive has a receipt of its own.
fn twice(message: &MessageBuilder) -> [SqsMessage; 2] {
    let mut again = message.clone().received(2).build();
    again.receipt_handle = Some("receipt-of-the-second-receive".to_owned());
    [message.build(), again]
}

#[tokio::test(start_paused = true)]
async fn a_message_twice_in_one_batch_is_run_once_and_waits_for_the_backoff_of_that_run() {
    let fails = Failure::retry("provider_error", "the provider failed").after(seconds(7));
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(1)), Step::Fail(fails)]);
    for reversed in [false, true] {
        let bench = Bench::timed_with(handler.clone(), settings());
        let mut batch = twice(&MessageBuilder::email("a"));
        if reversed {
            batch.reverse();
        }
        let answer = bench.run_batch(batch).await.expect("the invocation answers");
        assert_eq!(answer.failed, ["a"], "reported, and once");
        let waiting = record(&bench, &MessageBuilder::email("a"));
        assert_eq!((waiting.status, waiting.attempts), (Status::RetryScheduled, 1));
        let changes: Vec<_> = bench.queue.visibility_calls().into_iter().flatten().collect();
        let [change] = changes.as_slice() else { panic!("one change for one message: {changes:?}") };
        assert_eq!((change.visible_in, change.receipt_handle.as_str()), (seconds(7), "receipt-of-the-second-receive"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_twice_in_one_batch_whose_job_is_done_is_acknowledged() {
    let handler = Scripted::new().on("a", slow_effect());
    let bench = Bench::timed(handler.clone());
    let answer = bench.run_batch(twice(&MessageBuilder::email("a"))).await.expect("the invocation answers");
    assert!(answer.failed.is_empty(), "what is done needs no second look: {:?}", answer.failed);
    assert_eq!((handler.starts_of("a"), handler.effects_of("a")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn one_id_over_two_bodies_is_no_repetition_and_fails_where_either_does() {
    let handler = Scripted::new();
    for reversed in [false, true] {
        let bench = Bench::timed_with(handler.clone(), settings());
        let mut batch = [MessageBuilder::email("a"), MessageBuilder::new("a", "not a job")];
        if reversed {
            batch.reverse();
        }
        assert_eq!(run(&bench, batch).await.failed, ["a"]);
        assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::Succeeded);
    }
}

#[tokio::test(start_paused = true)]
async fn sixteen_workers_at_once_have_one_effect() {
    let handler = Scripted::new().on("a", slow_effect());
    let bench = Bench::timed(handler.clone());
    bench.store.set_latency(millis(7));
    let workers: Vec<_> = (0..16).map(|_| bench.another_worker(handler.clone())).collect();
    let runs =
        workers.iter().enumerate().map(|(n, worker)| run(worker, [MessageBuilder::email("a").message_id(&format!("m{n}"))]));
    let answers = futures::future::join_all(runs).await;
    assert_eq!(answers.iter().filter(|answer| answer.failed.is_empty()).count(), 1);
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test]
async fn an_expired_record_that_is_still_there_counts_as_absent() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    run(&bench, [message.clone()]).await;
    bench.clock.advance(seconds(1_728_000 + 3_600));
    let again = message.message_id("again");
    assert!(run(&bench, [again.clone()]).await.failed.is_empty());
    assert_eq!(handler.effects_of("a"), 2, "the window in which the key is remembered is over");
    let record = record(&bench, &again);
    assert_eq!((record.generation, record.attempts), (1, 1), "a new life of the record");
}

// -- workers that die ------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_worker_killed_before_its_effect_is_followed_by_another_run_after_its_lease() {
    let handler = Scripted::new().on("a", [Step::Hang]).on("a", slow_effect());
    let bench = Bench::timed(handler.clone());
    killed_after(&bench, seconds(5), [MessageBuilder::email("a")]).await;

    let answer = run(&bench, [MessageBuilder::email("a").received(2)]).await;
    assert_eq!(answer.failed, ["a"], "at once: the lease still holds");
    assert_eq!(handler.starts_of("a"), 1);
    tokio::time::sleep(visible_in(&bench, &MessageBuilder::email("a")).unwrap() + millis(1)).await;

    assert!(run(&bench, [MessageBuilder::email("a").received(3)]).await.failed.is_empty());
    let record = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((record.status, record.attempts, record.crashes), (Status::Succeeded, 2, 1));
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_killed_after_it_announced_its_effect_leaves_the_job_in_doubt() {
    for had_effect in [true, false] {
        let mut steps = vec![Step::Begin(seconds(2))];
        if had_effect {
            steps.push(Step::Effect);
        }
        steps.push(Step::Hang);
        let handler = Scripted::new().on("a", steps);
        let bench = Bench::timed(handler.clone());
        killed_after(&bench, seconds(5), [MessageBuilder::email("a")]).await;
        tokio::time::sleep(seconds(40)).await;
        for receive in 2..4 {
            let answer = run(&bench, [MessageBuilder::email("a").received(receive)]).await;
            assert_eq!(answer.failed, ["a"]);
            assert_eq!(visible_in(&bench, &MessageBuilder::email("a")), Some(seconds(0)));
            assert_eq!(counted(&answer, "JobsInDoubt"), u64::from(receive == 2), "counted when it is found out");
        }
        let record = record(&bench, &MessageBuilder::email("a"));
        assert_eq!((record.status, code(&record)), (Status::InDoubt, Some("lease_ended_after_effect_began")));
        assert_eq!(handler.starts_of("a"), 1, "the handler is not run again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_kills_its_worker_each_time_is_dead_after_its_attempts() {
    let handler = Scripted::new().on("a", [Step::Hang]);
    let bench = Bench::timed(handler.clone());
    for receive in 1..=3 {
        killed_after(&bench, seconds(5), [MessageBuilder::email("a").received(receive)]).await;
        tokio::time::sleep(seconds(60)).await;
    }
    let answer = run(&bench, [MessageBuilder::email("a").received(4)]).await;
    assert_eq!((answer.failed, handler.starts_of("a")), (vec!["a".to_owned()], 3));
    let record = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((record.status, code(&record)), (Status::Dead, Some("attempts_used_up_by_crashes")));
    assert_eq!((record.attempts, record.crashes), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_died_runs_last_and_alone() {
    let handler = Scripted::new()
        .on("crasher", [Step::Hang])
        .on("crasher", [Step::Sleep(seconds(1)), Step::Effect])
        .on("b", [Step::Sleep(seconds(3))])
        .on("c", [Step::Sleep(seconds(2))]);
    let bench = Bench::timed(handler.clone());
    killed_after(&bench, seconds(5), [MessageBuilder::email("crasher")]).await;
    tokio::time::sleep(seconds(60)).await;

    // The crasher comes first in the batch; a killed worker must not take b and c with it.
    killed_after(&bench, millis(3_500), ["crasher", "b", "c"].map(MessageBuilder::email)).await;
    assert_eq!(handler.starts(), ["crasher", "b", "c", "crasher"]);
    for done in ["b", "c"] {
        assert_eq!(record(&bench, &MessageBuilder::email(done)).status, Status::Succeeded, "{done} was settled before");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_crashed_and_then_failed_still_runs_last_and_alone() {
    let handler =
        Scripted::new().on("a", [Step::Hang]).on("a", [retry()]).on("a", [Step::Effect]).on("b", [Step::Sleep(seconds(1))]);
    let bench = Bench::timed(handler.clone());
    killed_after(&bench, seconds(5), [MessageBuilder::email("a")]).await;
    tokio::time::sleep(seconds(60)).await;
    run(&bench, [MessageBuilder::email("a")]).await;
    tokio::time::sleep(seconds(60)).await;
    assert!(run(&bench, ["a", "b"].map(MessageBuilder::email)).await.failed.is_empty());
    assert_eq!(handler.starts(), ["a", "a", "b", "a"]);
    assert_eq!(handler.most_running(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_waits_for_its_turn_loses_nothing_when_its_worker_is_killed_by_another_job() {
    // Both ways to wait: the lease of the dead worker is over, and a retry that once had a crash.
    for second in [vec![Step::Hang], vec![retry()]] {
        let handler = Scripted::new()
            .on("a", [Step::Hang])
            .on("a", second.clone())
            .on("a", [Step::Effect])
            .on("b", [Step::Sleep(seconds(10)), Step::Hang]);
        let bench = Bench::timed(handler.clone());
        killed_after(&bench, seconds(5), [MessageBuilder::email("a")]).await;
        tokio::time::sleep(seconds(60)).await;
        if matches!(second[..], [Step::Fail(_)]) {
            run(&bench, [MessageBuilder::email("a")]).await;
            tokio::time::sleep(seconds(60)).await;
        }
        let before = record(&bench, &MessageBuilder::email("a"));
        killed_after(&bench, seconds(5), ["a", "b"].map(MessageBuilder::email)).await;
        assert_eq!(record(&bench, &MessageBuilder::email("a")), before, "neither an attempt nor a crash is counted");
    }
}

// -- stale workers ---------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_worker_that_was_frozen_past_its_lease_cannot_overwrite_its_successor() {
    for (frozen, successor, status) in [
        (
            vec![Step::Sleep(seconds(90)), Step::Done(ikkai::consumer::Done::new())],
            vec![Step::Sleep(seconds(100)), Step::Effect],
            Status::Succeeded,
        ),
        (vec![Step::Sleep(seconds(90)), retry()], vec![Step::Effect], Status::Succeeded),
        (vec![Step::Sleep(seconds(90)), crate::script::permanent()], vec![Step::Effect], Status::Succeeded),
        (vec![Step::Sleep(seconds(90)), Step::Begin(seconds(1)), Step::Effect], vec![Step::Effect], Status::Succeeded),
        (
            vec![Step::Sleep(seconds(90)), Step::Done(ikkai::consumer::Done::new())],
            vec![crate::script::permanent()],
            Status::Dead,
        ),
    ] {
        let handler = Scripted::new().on("a", frozen.clone()).on("a", successor);
        // The frozen worker believes in a clock that stood still: it neither sees its deadline nor its lease pass.
        let settings =
            ikkai::consumer::ConsumerSettings { function_timeout: seconds(200), lease_whole_until: seconds(300), ..settings() };
        let slow = Bench::timed_with(handler.clone(), settings);
        let healthy = slow.worker_with_clock(handler.clone(), slow.clock.ahead(seconds(220)));
        let (stale, fresh) = tokio::join!(run(&slow, [MessageBuilder::email("a")]), async {
            tokio::time::sleep(seconds(1)).await;
            run(&healthy, [MessageBuilder::email("a").message_id("copy").received(2)]).await
        });
        assert_eq!(stale.failed, ["a"], "{frozen:?}");
        assert_eq!(fresh.failed.is_empty(), status == Status::Succeeded);
        let record = record(&slow, &MessageBuilder::email("a"));
        assert_eq!((record.status, record.attempts), (status, 2), "{frozen:?}");
        assert!(handler.effects_of("a") <= 1);
        assert_eq!(visible_in(&slow, &MessageBuilder::email("a")), None, "the receipt of another worker rules");
    }
}

// -- deadlines -------------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn an_unknown_or_nonsensical_deadline_falls_back_to_the_configured_time_and_a_lease_is_written() {
    let long_ago = EpochMillis::from_i64(600_000);
    let far_away = EpochMillis::from_i64(253_402_300_799_000);
    for deadline in [None, Some(EpochMillis::from_i64(0)), Some(long_ago), Some(after(seconds(0))), Some(far_away)] {
        let handler = Scripted::new().on("a", [Step::Hang]);
        let bench = Bench::timed_with(handler.clone(), settings());
        let answer = tokio::time::timeout(seconds(30), bench.run_until([MessageBuilder::email("a").build()], deadline)).await;
        let answer = answer.unwrap_or_else(|_| panic!("{deadline:?}: the handler outlived the configured time")).unwrap();
        assert_eq!(answer.failed, ["a"], "{deadline:?}");
        assert_eq!(handler.running(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_always_written_and_outlives_the_deadline_by_the_skew() {
    for (deadline, until) in
        [(Some(after(seconds(20))), seconds(30)), (None, seconds(40)), (Some(EpochMillis::from_i64(0)), seconds(40))]
    {
        let bench = Bench::timed_with(Scripted::new().on("a", [Step::Hang]), settings());
        let killed = tokio::time::timeout(seconds(1), bench.run_until([MessageBuilder::email("a").build()], deadline)).await;
        assert!(killed.is_err());
        assert_eq!(record(&bench, &MessageBuilder::email("a")).lease_until, Some(after(until)), "{deadline:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_by_five_seconds_neither_run_twice_nor_block() {
    for ahead in [true, false] {
        let handler = Scripted::new().on("a", [Step::Sleep(seconds(25)), Step::Effect]);
        let bench = Bench::timed(handler.clone());
        let clock = if ahead { bench.clock.ahead(seconds(5)) } else { bench.clock.behind(seconds(5)) };
        let other = bench.worker_with_clock(handler.clone(), clock);
        let (one, two) = tokio::join!(run(&bench, [MessageBuilder::email("a")]), async {
            tokio::time::sleep(seconds(24)).await;
            run(&other, [MessageBuilder::email("a").message_id("copy")]).await
        });
        assert_eq!((one.failed.len(), two.failed.len(), handler.effects_of("a")), (0, 1, 1));
        let again = run(&other, [MessageBuilder::email("a").message_id("copy").received(2)]).await;
        assert!(again.failed.is_empty());

        // A retry is not refused for being a few seconds early on another machine.
        let handler = Scripted::new()
            .on("b", [Step::Fail(Failure::retry("provider_error", "failed").after(seconds(20)))])
            .on("b", [Step::Effect]);
        let bench = Bench::timed(handler.clone());
        let clock = if ahead { bench.clock.ahead(seconds(5)) } else { bench.clock.behind(seconds(5)) };
        let other = bench.worker_with_clock(handler.clone(), clock);
        run(&bench, [MessageBuilder::email("b")]).await;
        tokio::time::sleep(seconds(20)).await;
        assert!(run(&other, [MessageBuilder::email("b").received(2)]).await.failed.is_empty(), "ahead: {ahead}");
    }
}

#[tokio::test]
async fn a_record_of_somebody_else_is_left_as_it_is() {
    let bench = Bench::with(Scripted::new(), settings());
    let message = MessageBuilder::email("a");
    let job_id = message.job_id().unwrap();
    let foreign = JobRecord {
        attempts: 1,
        lease_token: Some("foreign".into()),
        lease_until: Some(bench.clock.now() + seconds(10)),
        effect_begun: true,
        ..JobRecord::new(job_id.clone(), job_id.job_type(), 1, "test-caller", Status::Running, bench.clock.now())
    };
    bench.records.put(foreign.clone());
    run(&bench, [message.clone()]).await;
    assert_eq!(record(&bench, &message), foreign);
}
