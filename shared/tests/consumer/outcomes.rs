//! Every row of the outcome table: the record afterwards, the message's visibility, the report, the metric, the log line.

use std::ops::RangeInclusive;
use std::time::Duration;

use ikkai::consumer::{BatchError, ConsumerSettings, Done, Failure, IncomingEvent, Invocation};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::observability::logs::capture::Captured;
use ikkai::queue::{OutgoingMessage, QueueError};
use ikkai::testing::{Bench, MessageBuilder, QueueFault, StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::script::{
    Scripted, Step, after, captured, code, counted, defer, message_record_id, millis, permanent, record, record_by_id, retry,
    run, seconds, settings, visible_in,
};

const COUNTERS: [&str; 9] = [
    "JobsSucceeded",
    "JobsDuplicate",
    "JobsRetried",
    "JobsDeferred",
    "JobsRenewed",
    "JobsDead",
    "JobsInDoubt",
    "PoisonSeen",
    "LeaseLost",
];

/// What the rest of the world sees of one message.
struct Seen {
    /// Range of the visibility that was set last; `None`: it was left alone.
    visible_in: Option<RangeInclusive<Duration>>,
    reported: bool,
    metric: Option<&'static str>,
    line: &'static str,
    outcome: &'static str,
}

fn exactly(time: Duration) -> Option<RangeInclusive<Duration>> {
    Some(time..=time)
}

/// Runs `message` alone and compares.
async fn expect(bench: &Bench<Scripted>, message: &MessageBuilder, seen: Seen) {
    let logs = captured();
    let run = run(bench, [message.clone()]).await;
    let id = message.build().message_id.unwrap();
    assert_eq!(run.failed, if seen.reported { vec![id.clone()] } else { Vec::new() }, "the report");
    match (visible_in(bench, message), seen.visible_in) {
        (set, None) => assert_eq!(set, None, "the visibility is left alone"),
        (set, Some(range)) => assert!(set.is_some_and(|set| range.contains(&set)), "visibility {set:?} is not in {range:?}"),
    }
    for counter in COUNTERS {
        assert_eq!(counted(&run, counter), u64::from(seen.metric == Some(counter)), "{counter} in {}", run.metrics);
    }
    let line = line_of(&logs, &id);
    assert_eq!(line["message"], seen.line);
    assert_eq!(line["outcome"], seen.outcome);
    assert_eq!(line["request_id"], "request-1");
    assert_eq!(line["job_type"], "email.send");
}

fn line_of(logs: &Captured, message_id: &str) -> Value {
    let lines: Vec<_> =
        logs.parsed().into_iter().filter(|line| line["message_id"] == message_id && !line["outcome"].is_null()).collect();
    assert_eq!(lines.len(), 1, "one line a record: {lines:?}");
    lines[0].clone()
}

fn assert_state(record: &JobRecord, status: Status, attempts: u32, reason: Option<&str>) {
    assert_eq!((record.status, record.attempts, code(record)), (status, attempts, reason));
}

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
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    let waiting = JobRecord { retry_at: Some(after(seconds(300))), ..blank(&message, Status::RetryScheduled) };
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
async fn a_body_that_does_not_parse_is_recorded_dead_under_its_message_id() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::new("m2", r#"{"type":"email.send","to":"#);
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
    let record = record_by_id(&bench, &message_record_id("m2")).expect("a record under the message id");
    assert_state(&record, Status::Dead, 0, Some("body_not_json"));
    assert_eq!((record.payload, record.idempotency_key), (None, None), "nothing of the body is kept");

    expect(
        &bench,
        &message.received(2),
        Seen { visible_in: exactly(Duration::ZERO), reported: true, metric: None, line: "job dead", outcome: "ended_before" },
    )
    .await;
}

#[tokio::test]
async fn a_bad_body_does_not_disturb_its_neighbours() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let run = run(
        &bench,
        [
            MessageBuilder::email("m1"),
            MessageBuilder::new("m2", r#"{"type":"email","to":"#),
            MessageBuilder::new("m3", deep),
            MessageBuilder::new("m4", "\u{feff}"),
            MessageBuilder::new("m5", ""),
            MessageBuilder::email("m6"),
        ],
    )
    .await;
    assert_eq!(run.failed, ["m2", "m3", "m4", "m5"]);
    assert_eq!((handler.effects_of("m1"), handler.effects_of("m6")), (1, 1));
    assert_eq!((counted(&run, "PoisonSeen"), counted(&run, "JobsSucceeded")), (4, 2));
}

#[tokio::test]
async fn messages_without_a_key_never_share_a_record() {
    let bench = Bench::with(Scripted::new(), settings());
    let body = |delivery| {
        let payload = json!({"deliveryId": delivery, "templateId": "welcome", "userId": "user-42"});
        json!({"type": "email.send", "schemaVersion": 1, "payload": payload}).to_string()
    };
    let run = run(&bench, [MessageBuilder::new("m1", body("one")), MessageBuilder::new("m2", body("two"))]).await;
    assert_eq!(run.failed, ["m1", "m2"]);
    let ids: Vec<_> = bench.records.all().into_iter().map(|record| record.job_id).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&message_record_id("m1")) && ids.contains(&message_record_id("m2")), "{ids:?}");
}

#[tokio::test]
async fn another_content_under_a_used_key_is_refused_and_the_first_one_stays() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let first = MessageBuilder::email("a");
    run(&bench, [first.clone()]).await;
    let before = record(&bench, &first);
    let other = MessageBuilder::job(
        "m2",
        "email.send",
        "a",
        json!({"deliveryId": "other", "templateId": "welcome", "userId": "user-42"}),
    );
    expect(
        &bench,
        &other,
        Seen {
            visible_in: exactly(Duration::ZERO),
            reported: true,
            metric: Some("PoisonSeen"),
            line: "message unparseable",
            outcome: "poison",
        },
    )
    .await;
    assert_eq!(record(&bench, &first), before);
    let refused = record_by_id(&bench, &message_record_id("m2")).expect("a record under the message id");
    assert_state(&refused, Status::Dead, 0, Some("payload_mismatch"));
    assert_eq!(handler.starts_of("other"), 0);
}

#[tokio::test]
async fn a_job_of_another_type_is_refused_by_name() {
    let bench = Bench::with(Scripted::new(), settings());
    let message = MessageBuilder::job("m1", "image.resize", "key-1", json!({"imageId": "i-1"}));
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
    let refused = record_by_id(&bench, &message_record_id("m1")).expect("a record under the message id");
    assert_state(&refused, Status::Dead, 0, Some("wrong_type"));
    assert!(refused.last_error.unwrap().message.contains("email.send"));
}

#[tokio::test]
async fn a_record_without_a_message_id_fails_the_invocation() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    for id in [json!(""), json!("  "), Value::Null] {
        let mut nameless = MessageBuilder::email("b").to_json();
        nameless["messageId"] = id.clone();
        let batch = [MessageBuilder::email("a").build(), serde_json::from_value(nameless).unwrap()];
        assert_eq!(bench.run_batch(batch).await, Err(BatchError::RecordWithoutId), "{id}");
    }
    assert!(handler.starts().is_empty() && bench.store.calls().is_empty(), "nothing is begun that could not be reported");
}

#[tokio::test]
async fn an_event_of_another_kind_gets_one_clear_error_and_the_next_event_is_served() {
    let bench = Bench::with(Scripted::new(), settings());
    let console = json!({"key1": "value1", "key2": "value2", "key3": "value3"});
    let scheduled = json!({"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}});
    let s3 = json!({"Records": [{"eventSource": "aws:s3", "awsRegion": "us-east-1", "s3": {"object": {"key": "a"}}}]});
    let other_queue = json!({"Records": [MessageBuilder::email("a").queue("orders").to_json()]});
    for (event, error) in [
        (json!({}), "Ikkai.NotAnSqsEvent"),
        (console, "Ikkai.NotAnSqsEvent"),
        (scheduled, "Ikkai.NotAnSqsEvent"),
        (json!({"Records": null}), "Ikkai.NotAnSqsEvent"),
        (s3, "Ikkai.NotFromSqs"),
        (other_queue, "Ikkai.OtherQueue"),
    ] {
        let event: IncomingEvent = serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{event}: {error}"));
        let refused = bench.processor.process(event, &Invocation::default(), &mut Vec::new()).await.unwrap_err();
        assert_eq!(refused.error_type(), error);
    }
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
}

#[tokio::test]
async fn a_record_with_null_or_missing_parts_still_runs() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    let full = MessageBuilder::email("a").to_json();
    let bare = json!({"messageId": "b", "body": MessageBuilder::email("b").to_json()["body"]});
    let mut nulled = MessageBuilder::email("c").to_json();
    for part in ["receiptHandle", "md5OfBody", "eventSourceARN", "eventSource", "awsRegion", "attributes", "messageAttributes"] {
        nulled[part] = Value::Null;
    }
    let mut garbage = MessageBuilder::email("d").to_json();
    garbage["attributes"] = json!({"ApproximateReceiveCount": "many", "SentTimestamp": "yesterday"});
    garbage["messageAttributes"] = json!({"tint": {"dataType": "String", "stringValue": "blue"}});
    let event: IncomingEvent =
        serde_json::from_value(json!({"Records": [full, bare, nulled, garbage]})).expect("parts are optional");
    let answer = bench.processor.process(event, &Invocation::default(), &mut Vec::new()).await.unwrap();
    assert!(answer.batch_item_failures.is_empty());
    assert_eq!(handler.starts().len(), 4);
}

#[tokio::test]
async fn a_message_that_stands_twice_in_a_batch_is_reported_once() {
    let bench = Bench::with(Scripted::new().on("a", [Step::Hang]), settings());
    let body = "not a job";
    let run = run(&bench, [MessageBuilder::new("m1", body), MessageBuilder::new("m1", body), MessageBuilder::email("b")]).await;
    assert_eq!(run.failed, ["m1"]);
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

// -- renewal ---------------------------------------------------------------------------------------------------------------------

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

// -- schema newer than known -----------------------------------------------------------------------------------------------------

fn of_version_2(message_id: &str) -> MessageBuilder {
    let body =
        MessageBuilder::email("a").to_json()["body"].as_str().unwrap().replace("\"schemaVersion\":1", "\"schemaVersion\":2");
    MessageBuilder::new(message_id, body)
}

#[tokio::test]
async fn a_newer_schema_waits_without_an_attempt_is_renewed_and_dies_after_the_hold() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    expect(
        &bench,
        &of_version_2("a"),
        Seen {
            visible_in: exactly(seconds(300)),
            reported: true,
            metric: Some("JobsDeferred"),
            line: "job deferred",
            outcome: "schema_held",
        },
    )
    .await;
    let held = record(&bench, &of_version_2("a"));
    assert_state(&held, Status::RetryScheduled, 0, None);
    assert_eq!(held.schema_held_since, Some(Bench::<Scripted>::START));

    bench.clock.advance(seconds(86_399));
    let answer = run(&bench, [of_version_2("a").received(5)]).await;
    assert!(answer.failed.is_empty(), "renewed, so that retention never removes it");
    let [copy] = &bench.queue.sent()[..] else { panic!("one copy") };
    assert_eq!((Some(&copy.body), copy.delay), (of_version_2("a").build().body.as_ref(), seconds(300)));

    bench.clock.advance(seconds(1));
    let answer = run(&bench, [of_version_2("a-copy")]).await;
    assert_eq!(answer.failed, ["a-copy"]);
    assert_eq!(counted(&answer, "JobsDead"), 1);
    let dead = record(&bench, &of_version_2("a"));
    assert_state(&dead, Status::Dead, 0, Some("schema_too_new"));
    assert_eq!(handler.starts_of("a"), 0);

    let answer = run(&bench, [of_version_2("a-copy").received(5)]).await;
    assert_eq!(answer.failed, ["a-copy"], "dead is not renewed");
}

#[tokio::test]
async fn a_job_that_died_of_its_schema_waits_again_when_it_is_put_back_and_runs_once_its_version_is_known() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    run(&bench, [of_version_2("a")]).await;
    bench.clock.advance(seconds(86_400));
    run(&bench, [of_version_2("a")]).await;
    let died_at = record(&bench, &of_version_2("a")).died_at.expect("dead");

    let too_soon = of_version_2("soon").sent_at(died_at + seconds(60));
    assert_eq!(run(&bench, [too_soon]).await.failed, ["soon"]);
    assert_eq!(record(&bench, &of_version_2("a")).status, Status::Dead, "a send that raced with the death is no put-back");

    bench.clock.advance(seconds(3_600));
    let put_back = of_version_2("late").sent_at(died_at + millis(60_001));
    let answer = run(&bench, [put_back]).await;
    assert_eq!((counted(&answer, "JobsDeferred"), answer.failed), (1, vec!["late".to_owned()]));
    let held = record(&bench, &of_version_2("a"));
    assert_eq!((held.status, held.generation, held.died_at), (Status::RetryScheduled, 1, None));

    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    assert_eq!(handler.effects_of("a"), 1);
}

// -- put back --------------------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_dead_job_runs_again_only_for_a_message_that_was_sent_well_after_its_death() {
    let handler = Scripted::new().on("a", [permanent()]).on("a", [Step::Effect]);
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    run(&bench, [message.clone()]).await;
    let died_at = record(&bench, &message).died_at.expect("dead");
    for (sent_at, id) in [(died_at, "at-death"), (died_at + seconds(60), "margin")] {
        assert_eq!(run(&bench, [MessageBuilder::email("a").message_id(id).sent_at(sent_at)]).await.failed, [id]);
    }
    assert_eq!(handler.starts_of("a"), 1);
    let redriven = MessageBuilder::email("a").message_id("redriven").sent_at(died_at + millis(60_001));
    assert!(run(&bench, [redriven]).await.failed.is_empty());
    let record = record(&bench, &message);
    assert_state(&record, Status::Succeeded, 1, None);
    assert_eq!((record.generation, handler.effects_of("a")), (1, 1));
    let again = MessageBuilder::email("a").message_id("again").sent_at(died_at + seconds(3_600));
    assert!(run(&bench, [again]).await.failed.is_empty(), "what succeeded is acknowledged");
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test]
async fn a_job_in_doubt_never_runs_again_by_a_redrive() {
    let handler = Scripted::new().on("a", [Step::Begin(seconds(1)), Step::Effect, retry()]);
    let bench = Bench::with(handler.clone(), settings());
    run(&bench, [MessageBuilder::email("a")]).await;
    bench.clock.advance(seconds(7_200));
    let redriven = MessageBuilder::email("a").message_id("redriven").sent_at(after(seconds(7_000)));
    assert_eq!(run(&bench, [redriven]).await.failed, ["redriven"]);
    assert_eq!((handler.starts_of("a"), handler.effects_of("a")), (1, 1));
}

#[tokio::test]
async fn rounds_of_redrive_are_bounded() {
    let handler = Scripted::new().on("a", [permanent()]);
    let bench = Bench::with(handler.clone(), settings());
    for round in 0..20u64 {
        bench.clock.advance(seconds(3_600));
        let message =
            MessageBuilder::email("a").message_id(&format!("round-{round}")).sent_at(after(seconds(3_600 * (round + 1))));
        run(&bench, [message]).await;
    }
    assert_eq!(handler.starts_of("a"), 11, "the first round and ten put-backs");
}

/// A record of this message's job as the producer would have made it.
fn blank(message: &MessageBuilder, status: Status) -> JobRecord {
    let job_id = message.job_id().expect("a job");
    let job_type = job_id.job_type();
    JobRecord::new(job_id, job_type, 1, "test-caller", status, Bench::<Scripted>::START)
}

// -- payload types with bugs -----------------------------------------------------------------------------------------------------

/// A payload type whose own check panics for some values.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fragile {
    page: u32,
}

impl ikkai::job::JobPayload for Fragile {
    const TYPE: &'static str = "report.generate";
    const SCHEMA_VERSION: u32 = 1;

    fn check(&self) -> Vec<ikkai::job::FieldError> {
        if self.page == 0 {
            std::panic::resume_unwind(Box::new("division by zero"));
        }
        Vec::new()
    }
}

struct Reports;

impl ikkai::consumer::Handler for Reports {
    type Payload = Fragile;

    async fn handle(&self, _: &ikkai::job::Job<Fragile>, _: &ikkai::consumer::JobContext) -> Result<Done, Failure> {
        Ok(Done::new())
    }
}

#[tokio::test]
async fn a_check_that_panics_ends_its_own_record_as_poison() {
    let bench = Bench::with(Reports, settings());
    let job = |id: &str, page: u32| MessageBuilder::job(id, "report.generate", id, json!({"page": page}));
    let answer = bench.run_batch([job("a", 1).build(), job("b", 0).build(), job("c", 2).build()]).await.unwrap();
    assert_eq!((counted(&answer, "JobsSucceeded"), answer.failed), (2, vec!["b".to_owned()]));
    let reason =
        bench.records.all().into_iter().find(|record| record.status == Status::Dead).and_then(|record| record.last_error);
    assert_eq!(reason.map(|error| error.code), Some("payload_check_panicked".to_owned()));
}
