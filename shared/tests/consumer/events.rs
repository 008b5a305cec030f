//! Completion events: who asked to be told is told how a job ended, and nobody else is told anything.

mod unconfirmed;

use ikkai::consumer::{ConsumerSettings, Done, Failure, Handler, JobContext};
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::{Envelope, Job, JobId, JobType, Parsed, WebhookDeliver};
use ikkai::queue::{OutgoingMessage, QueueError, QueueName};
use ikkai::testing::{Bench, MessageBuilder, QueueCall, QueueFault, StoreCall};
use serde_json::json;

use crate::objects::{record_of, s3_event, s3_record};
use crate::script::{
    Scripted, Step, after, assert_state, blank, captured, counted, defer, fifo, permanent, record, retry, run, seconds, settings,
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

#[tokio::test]
async fn on_a_fifo_queue_of_events_a_caller_hears_of_one_business_case_in_order() {
    let handler = Scripted::new();
    let settings = ConsumerSettings { events_queue_name: Some(QueueName::new("webhook.fifo")), ..settings() };
    let bench = Bench::with(handler, settings);
    for (name, caller, business) in [("a", "ann", "1"), ("b", "ann", "1"), ("c", "ann", "2"), ("d", "bob", "1")] {
        bench.records.put(JobRecord {
            caller: caller.into(),
            business_id: Some(business.into()),
            ..asking(name, Status::Accepted)
        });
    }
    run(&bench, ["a", "b", "c", "d"].map(MessageBuilder::email)).await;
    let sent = bench.events.sent();
    let group = |index: usize| sent[index].group_id.as_deref().expect("a group");
    assert_eq!(group(0), group(1));
    assert_ne!(group(0), group(2), "another case");
    assert_ne!(group(0), group(3), "another caller, whose receiver may be up");
    let ids: Vec<_> = sent.iter().map(|event| event.deduplication_id.clone().expect("an id")).collect();
    assert!(sent.iter().zip(&ids).all(|(event, id)| event.body.contains(id)), "the same end is the same message: {ids:?}");
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
