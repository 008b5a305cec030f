//! Every row of the outcome table: the record afterwards, the message's visibility, the report, the metric, the log line.

use std::time::Duration;

use ikkai::consumer::{Done, Failure};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::testing::{Bench, MessageBuilder, StoreCall, StoreFault};
use serde_json::json;

use crate::row::{Seen, exactly, expect};
use crate::script::{
    Scripted, Step, after, assert_state, blank, captured, defer, line_of, millis, permanent, record, retry, run, seconds,
    settings, visible_in,
};

#[tokio::test]
async fn done_is_recorded_and_acknowledged() {
    let done = Done::with_result(json!({"messageId": "m-1"})).provider_ref("ref-1");
    let bench = Bench::with(Scripted::new().on("a", [Step::Done(done)]), settings());
    let message = MessageBuilder::email("a");
    expect(
        &bench,
        &message,
        Seen { visible_in: None, reported: false, metric: Some("JobsSucceeded"), line: "job succeeded", outcome: "succeeded" },
    )
    .await;
    let record = record(&bench, &message);
    assert_state(&record, Status::Succeeded, 1, None);
    assert_eq!(record.result, Some(json!({"messageId": "m-1"})));
    assert_eq!(record.provider_ref.as_deref(), Some("ref-1"));
    assert_eq!(record.expires_at, Some((after(seconds(1_728_000))).to_seconds_ceil()), "kept for twenty days, in epoch seconds");
}

#[tokio::test]
async fn a_job_that_succeeded_is_acknowledged_and_counted_as_duplicate() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    run(&bench, [message.clone()]).await;
    let before = record(&bench, &message);
    let again = message.message_id("again");
    expect(
        &bench,
        &again,
        Seen { visible_in: None, reported: false, metric: Some("JobsDuplicate"), line: "job duplicate", outcome: "duplicate" },
    )
    .await;
    assert_eq!(record(&bench, &again), before, "the record is untouched");
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test]
async fn a_cancelled_job_is_acknowledged_without_work() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    let cancelled = JobRecord { payload_digest: None, ..blank(&message, Status::Cancelled) };
    bench.records.put(cancelled.clone());
    expect(
        &bench,
        &message,
        Seen { visible_in: None, reported: false, metric: Some("JobsDuplicate"), line: "job duplicate", outcome: "cancelled" },
    )
    .await;
    assert_eq!(record(&bench, &message), cancelled);
    assert_eq!(handler.starts_of("a"), 0);
}

#[tokio::test]
async fn a_retry_comes_back_after_a_backoff() {
    let bench = Bench::with(Scripted::new().on("a", [retry()]), settings());
    let message = MessageBuilder::email("a");
    expect(
        &bench,
        &message,
        Seen {
            visible_in: Some(Duration::ZERO..=seconds(10)),
            reported: true,
            metric: Some("JobsRetried"),
            line: "job retried",
            outcome: "retried",
        },
    )
    .await;
    let record = record(&bench, &message);
    assert_state(&record, Status::RetryScheduled, 1, Some("provider_error"));
    let due = record.retry_at.expect("a time to come back").since(Bench::<Scripted>::START);
    assert_eq!(Some(due), visible_in(&bench, &message).map(|set| Duration::from_millis(set.as_millis() as u64)));
}

#[tokio::test]
async fn a_retry_with_a_time_of_its_own_comes_back_then() {
    let failure = Failure::retry("provider_error", "the provider failed").after(seconds(77));
    let bench = Bench::with(Scripted::new().on("a", [Step::Fail(failure)]), settings());
    let message = MessageBuilder::email("a");
    expect(
        &bench,
        &message,
        Seen {
            visible_in: exactly(seconds(77)),
            reported: true,
            metric: Some("JobsRetried"),
            line: "job retried",
            outcome: "retried",
        },
    )
    .await;
    assert_eq!(record(&bench, &message).retry_at, Some(after(seconds(77))));
}

#[tokio::test]
async fn a_deferral_gives_the_attempt_back() {
    for (asked, waits) in [(Some(seconds(120)), seconds(120)), (None, seconds(60))] {
        let bench = Bench::with(Scripted::new().on("a", [defer(asked)]), settings());
        let message = MessageBuilder::email("a");
        expect(
            &bench,
            &message,
            Seen {
                visible_in: exactly(waits),
                reported: true,
                metric: Some("JobsDeferred"),
                line: "job deferred",
                outcome: "deferred",
            },
        )
        .await;
        assert_state(&record(&bench, &message), Status::RetryScheduled, 0, Some("provider_busy"));
    }
}

#[tokio::test]
async fn a_job_that_runs_elsewhere_waits_for_the_rest_of_its_lease() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    let running = JobRecord {
        attempts: 1,
        lease_token: Some("somebody".into()),
        lease_until: Some(after(seconds(25))),
        ..blank(&message, Status::Running)
    };
    bench.records.put(running.clone());
    expect(
        &bench,
        &message,
        Seen {
            visible_in: Some(seconds(25)..=seconds(26)),
            reported: true,
            metric: None,
            line: "job not started",
            outcome: "waits",
        },
    )
    .await;
    assert_eq!(record(&bench, &message), running);
    assert_eq!(handler.starts_of("a"), 0);
}

#[tokio::test]
async fn a_message_that_comes_long_before_its_time_waits_for_it() {
    for status in [Status::RetryScheduled, Status::Accepted] {
        waits_for_its_time(status).await;
    }
}

async fn waits_for_its_time(status: Status) {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    let waiting = JobRecord { retry_at: Some(after(seconds(300))), ..blank(&message, status) };
    bench.records.put(waiting.clone());
    expect(
        &bench,
        &message,
        Seen {
            visible_in: Some(seconds(300)..=seconds(301)),
            reported: true,
            metric: None,
            line: "job not started",
            outcome: "waits",
        },
    )
    .await;
    assert_eq!(record(&bench, &message), waiting);
    assert_eq!(handler.starts_of("a"), 0);
}

#[tokio::test]
async fn a_job_that_was_asked_for_later_runs_when_its_time_has_come() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    let later = JobRecord { retry_at: Some(after(seconds(300))), ..blank(&message, Status::Accepted) };
    bench.records.put(JobRecord { payload_digest: None, ..later });
    bench.clock.advance(seconds(300));
    assert!(run(&bench, [message.clone()]).await.failed.is_empty());
    assert_eq!((handler.starts_of("a"), record(&bench, &message).retry_at), (1, None));
}

#[tokio::test]
async fn the_failure_of_a_target_is_an_ordinary_retry_to_its_job() {
    let failing = Failure::retry("receiver_failed", "the receiver answered 500").of_one_target();
    let bench = Bench::with(Scripted::new().on("a", [Step::Fail(failing)]), settings());
    let message = MessageBuilder::email("a");
    expect(
        &bench,
        &message,
        Seen {
            visible_in: Some(Duration::ZERO..=seconds(10)),
            reported: true,
            metric: Some("JobsRetried"),
            line: "job retried",
            outcome: "retried",
        },
    )
    .await;
    assert_state(&record(&bench, &message), Status::RetryScheduled, 1, Some("receiver_failed"));
}

#[tokio::test]
async fn a_permanent_failure_is_dead_at_once_and_on_its_way_to_the_dlq() {
    let bench = Bench::with(Scripted::new().on("a", [permanent()]), settings());
    let message = MessageBuilder::email("a");
    expect(
        &bench,
        &message,
        Seen { visible_in: exactly(Duration::ZERO), reported: true, metric: Some("JobsDead"), line: "job dead", outcome: "dead" },
    )
    .await;
    let record = record(&bench, &message);
    assert_state(&record, Status::Dead, 1, Some("user_unknown"));
    assert_eq!((record.died_at, record.expires_at), (Some(Bench::<Scripted>::START), None), "a dead record never expires");
}

#[tokio::test]
async fn the_last_attempt_is_still_reported_so_that_the_dlq_gets_it() {
    let handler = Scripted::new().on("a", [retry()]);
    let bench = Bench::with(handler.clone(), settings());
    for receive in 1..=3 {
        bench.clock.advance(seconds(900));
        let message = MessageBuilder::email("a").received(receive);
        let failed = run(&bench, [message]).await.failed;
        assert_eq!(failed, ["a"], "receive {receive}");
    }
    let message = MessageBuilder::email("a");
    assert_state(&record(&bench, &message), Status::Dead, 3, Some("provider_error"));
    assert_eq!(visible_in(&bench, &message), Some(Duration::ZERO));
    for receive in 4..=6 {
        assert_eq!(run(&bench, [MessageBuilder::email("a").received(receive)]).await.failed, ["a"], "receive {receive}");
    }
    assert_eq!(handler.starts_of("a"), 3, "three attempts are three starts");
    assert!(bench.queue.sent().is_empty(), "a dead job is not renewed");
}

#[tokio::test]
async fn an_effect_that_cannot_be_known_is_in_doubt_and_on_its_way_to_the_dlq() {
    let bench = Bench::with(Scripted::new().on("a", [Step::Begin(seconds(1)), Step::Effect, retry()]), settings());
    let message = MessageBuilder::email("a");
    expect(
        &bench,
        &message,
        Seen {
            visible_in: exactly(Duration::ZERO),
            reported: true,
            metric: Some("JobsInDoubt"),
            line: "job in doubt",
            outcome: "in_doubt",
        },
    )
    .await;
    let record = record(&bench, &message);
    assert_state(&record, Status::InDoubt, 1, Some("provider_error"));
    assert_eq!(record.expires_at, None, "a record in doubt never expires");
}

#[tokio::test]
async fn a_job_that_ended_before_is_left_alone_on_its_way_to_the_dlq() {
    for status in [Status::Dead, Status::InDoubt] {
        let handler = Scripted::new();
        let bench = Bench::with(handler.clone(), settings());
        let message = MessageBuilder::email("a").received(2);
        let error = ikkai::idempotency::LastError::new(ikkai::idempotency::ErrorClass::Permanent, "user_unknown", "no such user");
        let ended = JobRecord {
            last_error: Some(error),
            died_at: (status == Status::Dead).then_some(Bench::<Scripted>::START),
            ..blank(&message, status)
        };
        bench.records.put(ended.clone());
        expect(
            &bench,
            &message,
            Seen { visible_in: exactly(Duration::ZERO), reported: true, metric: None, line: "job dead", outcome: "ended_before" },
        )
        .await;
        assert_eq!(record(&bench, &message), ended);
        assert_eq!(handler.starts_of("a"), 0, "{status}");
    }
}

#[tokio::test]
async fn a_table_that_does_not_answer_sends_the_message_back_untouched() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    bench.store.fail_next(StoreCall::Claim, StoreFault::Throttle);
    let message = MessageBuilder::email("a");
    expect(
        &bench,
        &message,
        Seen {
            visible_in: Some(Duration::ZERO..=seconds(10)),
            reported: true,
            metric: Some("JobsRetried"),
            line: "job retried",
            outcome: "unrecorded",
        },
    )
    .await;
    assert_eq!(bench.record_of(&message), None);
    assert_eq!(handler.starts_of("a"), 0);
}

#[tokio::test]
async fn a_bad_body_whose_reason_cannot_be_recorded_comes_back_for_another_try() {
    let bench = Bench::with(Scripted::new(), settings());
    bench.store.fail_next(StoreCall::Create, StoreFault::Throttle);
    let message = MessageBuilder::new("m1", "not a job");
    expect(
        &bench,
        &message,
        Seen {
            visible_in: Some(Duration::ZERO..=seconds(10)),
            reported: true,
            metric: Some("JobsRetried"),
            line: "job retried",
            outcome: "unrecorded",
        },
    )
    .await;
    bench.store.fail_next(StoreCall::Create, StoreFault::RepeatAfterLostAnswer);
    expect(
        &bench,
        &message,
        Seen {
            visible_in: exactly(Duration::ZERO),
            reported: true,
            metric: Some("PoisonSeen"),
            line: "message unparseable",
            outcome: "poison",
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_started_near_the_deadline_comes_back_at_once() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let logs = captured();
    let message = MessageBuilder::email("a");
    let answer = bench.run_until([message.build()], Some(after(millis(150)))).await.unwrap();
    assert_eq!(answer.failed, ["a"]);
    assert_eq!(visible_in(&bench, &message), Some(Duration::ZERO));
    assert_eq!((bench.record_of(&message), handler.starts_of("a")), (None, 0), "no attempt is used");
    assert_eq!(
        (&line_of(&logs, "a")["message"], &line_of(&logs, "a")["outcome"]),
        (&json!("job not started"), &json!("not_started"))
    );
}

#[tokio::test]
async fn a_result_too_big_for_the_record_is_replaced_by_a_note_and_the_job_stays_done() {
    let big = json!({"text": "x".repeat(500_000)});
    let handler = Scripted::new().on("a", [Step::Done(Done::with_result(big))]);
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    assert!(run(&bench, [message.clone()]).await.failed.is_empty());
    let record = record(&bench, &message);
    assert_state(&record, Status::Succeeded, 1, None);
    let kept = record.result.expect("a note");
    assert_eq!(kept["truncated"], true);
    assert!(kept.to_string().len() < 200, "{kept}");
}
