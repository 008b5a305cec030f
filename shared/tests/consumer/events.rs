//! Completion events: who asked to be told is told how a job ended, at least once, and before its message is gone.

use ikkai::clock::Clock;
use ikkai::consumer::{ConsumerSettings, Done, Failure, Handler, JobContext};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::{Envelope, Job, JobId, JobType, Parsed, WebhookDeliver};
use ikkai::queue::{OutgoingMessage, QueueError, QueueName};
use ikkai::testing::{Bench, MessageBuilder, QueueCall, QueueFault, StoreCall, StoreFault};
use proptest::prelude::*;
use serde_json::json;

use crate::objects::{record_of, s3_event, s3_record};
use crate::script::{
    Scripted, Step, after, assert_state, blank, captured, counted, defer, fifo, killed_after, long_running, millis, permanent,
    record, retry, run, seconds, settings, visible_in,
};

fn with_events(settings: ConsumerSettings) -> ConsumerSettings {
    ConsumerSettings { events_queue_name: Some(QueueName::new("webhook")), ..settings }
}

/// A bench on whose table the jobs of these messages wait, their callers asking to be told.
fn bench(handler: &Scripted, settings: ConsumerSettings, names: &[&str]) -> Bench<Scripted> {
    let bench = Bench::with(handler.clone(), with_events(settings));
    names.iter().for_each(|name| bench.records.put(asking(name, Status::Accepted)));
    bench
}

fn asking(name: &str, status: Status) -> JobRecord {
    JobRecord { callback_url: Some("https://example.com/hook".into()), ..blank(&MessageBuilder::email(name), status) }
}

fn id_of(name: &str) -> JobId {
    MessageBuilder::email(name).job_id().unwrap()
}

/// The body of the event that says how the job called `name` ended.
fn event(name: &str, generation: u32, status: &str) -> String {
    let job_id = id_of(name);
    let key = format!("{job_id}:{generation}:{status}");
    let job_type = JobType::parse("webhook.deliver").unwrap();
    let event_id = JobId::for_direct_sender("webhook", &job_type, &key.parse().unwrap());
    format!(
        r#"{{"jobId":"{event_id}","type":"webhook.deliver","schemaVersion":1,"idempotencyKey":"{key}","payload":{{"generation":{generation},"jobId":"{job_id}","status":"{status}"}}}}"#
    )
}

fn bodies(bench: &Bench<Scripted>) -> Vec<String> {
    bench.events.sent().into_iter().map(|event| event.body).collect()
}

fn unavailable() -> QueueError {
    QueueError::Unavailable { operation: "SendMessageBatch", code: "InternalError".into() }
}

#[tokio::test]
async fn the_end_of_a_job_is_told_to_who_asked_for_it() {
    let handler = Scripted::new();
    let bench = bench(&handler, settings(), &["a"]);
    let message = MessageBuilder::email("a").attribute("AWSTraceHeader", "Root=1-5;Sampled=1");
    let answer = run(&bench, [message]).await;
    assert!(answer.failed.is_empty() && bench.queue.calls().is_empty());
    let trace_header = Some("Root=1-5;Sampled=1".to_owned());
    assert_eq!(bench.events.sent(), [OutgoingMessage { trace_header, ..OutgoingMessage::new(event("a", 0, "succeeded")) }]);
    assert_eq!(bench.store.calls(), [StoreCall::Claim, StoreCall::Replace], "no write of its own");
    let kind = ikkai::job::find("webhook.deliver").unwrap();
    assert!(matches!(Envelope::parse(&bodies(&bench)[0], kind), Ok(Parsed::Job(_))), "the webhook consumer reads it");
}

#[tokio::test]
async fn nobody_is_told_who_did_not_ask() {
    let handler = Scripted::new().on("b", [permanent()]).on("c", [Step::Begin(seconds(1)), retry()]);
    let bench = Bench::with(handler, with_events(settings()));
    let batch = ["a", "b", "c", "d"].map(MessageBuilder::email);
    bench.records.put(blank(&batch[3], Status::Dead));
    for receives in 1..=2 {
        run(&bench, batch.clone().map(|message| message.received(receives))).await;
    }
    run(&bench, [MessageBuilder::new("m1", "not a job")]).await;
    assert!(bench.events.calls().is_empty(), "not even a call");
}

#[tokio::test]
async fn every_end_is_told_and_nothing_else() {
    let may_be_done = Failure::ambiguous("answer_lost", "the answer was lost");
    for (what, steps, told) in [
        ("done", vec![Step::Effect], Some("succeeded")),
        ("given up", vec![permanent()], Some("dead")),
        ("unclear", vec![Step::Begin(seconds(1)), Step::Effect, retry()], Some("in_doubt")),
        ("said to be unclear", vec![Step::Fail(may_be_done)], Some("in_doubt")),
        ("failed", vec![retry()], None),
        ("put off", vec![defer(None)], None),
    ] {
        let bench = bench(&Scripted::new().on("a", steps), settings(), &["a"]);
        run(&bench, [MessageBuilder::email("a")]).await;
        assert_eq!(bodies(&bench), told.map(|status| event("a", 0, status)).into_iter().collect::<Vec<_>>(), "{what}");
    }
}

#[tokio::test]
async fn an_end_that_the_claim_finds_out_is_told_too() {
    let lease_over = JobRecord {
        attempts: 3,
        lease_token: Some("somebody".into()),
        lease_until: Some(after(seconds(0)) - seconds(1)),
        ..asking("a", Status::Running)
    };
    let after_effect = JobRecord { effect_begun: true, ..lease_over.clone() };
    for (stored, status) in [(lease_over, "dead"), (after_effect, "in_doubt")] {
        let bench = bench(&Scripted::new(), settings(), &[]);
        bench.records.put(stored);
        assert_eq!(run(&bench, [MessageBuilder::email("a")]).await.failed, ["a"]);
        assert_eq!(bodies(&bench), [event("a", 0, status)]);
    }

    let held_long =
        JobRecord { schema_held_since: Some(after(seconds(0)) - seconds(90_000)), ..asking("a", Status::RetryScheduled) };
    let bench = bench(&Scripted::new(), settings(), &[]);
    bench.records.put(held_long);
    let newer =
        MessageBuilder::email("a").to_json()["body"].as_str().unwrap().replace("\"schemaVersion\":1", "\"schemaVersion\":2");
    run(&bench, [MessageBuilder::new("m1", newer)]).await;
    assert_eq!(bodies(&bench), [event("a", 0, "dead")]);
}

#[tokio::test]
async fn a_job_that_is_running_waiting_or_cancelled_is_not_told() {
    let running =
        JobRecord { lease_token: Some("somebody".into()), lease_until: Some(after(seconds(60))), ..asking("a", Status::Running) };
    let waiting = JobRecord { retry_at: Some(after(seconds(600))), ..asking("a", Status::RetryScheduled) };
    for stored in [running, waiting, asking("a", Status::Cancelled)] {
        let bench = bench(&Scripted::new(), settings(), &[]);
        bench.records.put(stored);
        run(&bench, [MessageBuilder::email("a")]).await;
        assert!(bench.events.calls().is_empty());
    }
}

#[tokio::test]
async fn a_redelivery_tells_the_same_end_again() {
    for (steps, status) in
        [(vec![Step::Effect], "succeeded"), (vec![permanent()], "dead"), (vec![Step::Begin(seconds(1)), retry()], "in_doubt")]
    {
        let handler = Scripted::new().on("a", steps);
        let bench = bench(&handler, settings(), &["a"]);
        for receives in 1..=3 {
            run(&bench, [MessageBuilder::email("a").received(receives)]).await;
        }
        assert_eq!(bodies(&bench), vec![event("a", 0, status); 3]);
        assert_eq!(handler.starts_of("a"), 1);
    }
}

#[tokio::test]
async fn the_end_of_a_job_that_was_put_back_is_another_event() {
    let handler = Scripted::new().on("a", [permanent()]).on("a", [Step::Effect]);
    let bench = bench(&handler, settings(), &["a"]);
    run(&bench, [MessageBuilder::email("a")]).await;
    bench.clock.advance(seconds(3_600));
    run(&bench, [MessageBuilder::email("a").sent_at(after(seconds(3_600)))]).await;
    assert_eq!(bodies(&bench), [event("a", 0, "dead"), event("a", 1, "succeeded")]);
}

#[tokio::test]
async fn another_content_under_the_key_of_an_ended_job_tells_nobody() {
    let bench = bench(&Scripted::new(), settings(), &["a"]);
    run(&bench, [MessageBuilder::email("a")]).await;
    let other = json!({"deliveryId": "other", "templateId": "welcome", "userId": "user-42"});
    assert_eq!(run(&bench, [MessageBuilder::job("m2", "email.send", "a", other)]).await.failed, ["m2"]);
    assert_eq!(bodies(&bench).len(), 1);
}

// -- sends that fail -----------------------------------------------------------------------------------------------------------

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
    assert_eq!(visible_in(&bench, &batch[1]), Some(seconds(60)));
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

// -- around it -----------------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn without_a_queue_for_events_there_is_one_warning_a_batch_and_no_failure() {
    let bench = Bench::with(Scripted::new(), settings());
    for name in ["a", "b"] {
        bench.records.put(asking(name, Status::Accepted));
    }
    let logs = captured();
    assert!(run(&bench, ["a", "b", "c"].map(MessageBuilder::email)).await.failed.is_empty());
    let warnings: Vec<_> = logs.parsed().into_iter().filter(|line| line["level"] == "WARN").collect();
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    assert_eq!((&warning["message"], &warning["jobs"]), (&json!("completion events are off"), &json!(2)));
    assert!(bench.events.calls().is_empty());
}

#[tokio::test]
async fn the_events_of_a_batch_go_out_ten_a_call() {
    let names: Vec<_> = (0..25).map(|n| format!("job-{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let bench = bench(&Scripted::new(), settings(), &names);
    assert!(run(&bench, names.iter().map(|name| MessageBuilder::email(name))).await.failed.is_empty());
    let sizes: Vec<_> =
        bench.events.calls().into_iter().map(|call| if let QueueCall::Send(sent) = call { sent.len() } else { 0 }).collect();
    assert_eq!(sizes, [10, 10, 5]);
}

#[tokio::test]
async fn jobs_of_one_message_are_told_one_by_one() {
    let handler = Scripted::new().mails_about_objects("welcome").on("b", [permanent()]).on("c", [retry()]);
    let bench = bench(&handler, settings(), &[]);
    let body = s3_event(&["a", "b", "c", "d"].map(|name| s3_record(&format!("uploads/{name}"))));
    let message = MessageBuilder::new("m1", body);
    // The first run makes the records; nobody asks yet.
    run(&bench, [message.clone()]).await;
    for name in ["a", "b", "c"] {
        let record = record_of(&bench, name).unwrap();
        bench.records.put(JobRecord { callback_url: Some("https://example.com/hook".into()), ..record });
    }
    run(&bench, [message.received(2)]).await;
    let told: Vec<_> = bench.events.sent().into_iter().map(|event| event.body).collect();
    assert_eq!(told.len(), 2, "c waits, and nobody asked about d: {told:?}");
    assert!(told[0].contains("\"status\":\"succeeded\"") && told[1].contains("\"status\":\"dead\""));
}

#[tokio::test]
async fn a_fifo_source_tells_too_and_a_message_that_comes_back_for_its_event_holds_nobody_back() {
    let handler = Scripted::new();
    let bench = bench(&handler, fifo(), &["a", "b"]);
    bench.events.fail_next(QueueFault::FailEntries(vec![(0, unavailable())]));
    let batch = ["a", "b"].map(|name| MessageBuilder::email(name).queue("email.fifo").group("g"));
    assert_eq!(run(&bench, batch).await.failed, ["a"]);
    assert_eq!(handler.starts(), ["a", "b"]);
    assert_eq!(bodies(&bench), [event("b", 0, "succeeded")]);
    assert_state(&record(&bench, &MessageBuilder::email("a")), Status::Succeeded, 1, None);
}

/// Delivers nothing, successfully.
struct Deliver;

impl Handler for Deliver {
    type Payload = WebhookDeliver;

    async fn handle(&self, _: &Job<WebhookDeliver>, _: &JobContext) -> Result<Done, Failure> {
        Ok(Done::new())
    }
}

#[tokio::test]
async fn the_delivery_of_an_event_has_no_event() {
    let bench = Bench::with(Deliver, with_events(settings()));
    let ended = MessageBuilder::email("a").job_id().unwrap();
    let payload = json!({"jobId": ended.as_str(), "status": "dead", "generation": 0});
    let message = MessageBuilder::job("m1", "webhook.deliver", &format!("{ended}:0:dead"), payload);
    bench.records.put(JobRecord { callback_url: Some("https://example.com/hook".into()), ..blank(&message, Status::Accepted) });
    let answer = bench.run_batch([message.build()]).await.unwrap();
    assert_eq!((answer.failed.len(), counted(&answer, "JobsSucceeded")), (0, 1));
    assert!(bench.events.calls().is_empty());
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
