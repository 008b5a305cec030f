//! Jobs whose payload an operator has mended, and messages from before.

use std::sync::Arc;

use ikkai::idempotency::{Event, Ledger, PutBack, Status, Verdict};
use ikkai::job::payload_digest;
use ikkai::testing::{Bench, MessageBuilder};
use serde_json::{Value, json};

use crate::objects::{record_of, s3_event, s3_record};
use crate::script::{Scripted, Step, assert_state, message_record_id, permanent, record, record_by_id, run, seconds, settings};

fn payload(delivery: &str) -> Value {
    json!({"deliveryId": delivery, "templateId": "welcome", "userId": "user-42"})
}

/// The message of the job `a` as its operator sends it, with the payload of another delivery.
fn with_payload(message_id: &str, delivery: &str) -> MessageBuilder {
    let mut body: Value = serde_json::from_str(MessageBuilder::email("a").build().body.as_deref().unwrap()).unwrap();
    body["payload"] = payload(delivery);
    MessageBuilder::new(message_id, body.to_string())
}

async fn mend(bench: &Bench<Scripted>, message: &MessageBuilder, delivery: &str) {
    let ledger = Ledger::new(bench.store.clone(), Arc::new(bench.clock.clone()));
    let stored = record(bench, message);
    let payload = payload(delivery);
    let digest = payload_digest(&payload);
    let wish = PutBack { generation: stored.generation, max_generations: 10, payload: Some((payload, digest)) };
    let decision = ledger.apply(&stored.job_id, &Event::PutBack(wish)).await.unwrap();
    assert_eq!(decision.verdict, Verdict::Done(Status::Accepted));
}

/// A job `a` that died and was given the payload of the delivery `b`.
async fn mended(handler: &Scripted) -> Bench<Scripted> {
    let bench = Bench::with(handler.clone(), settings());
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::Dead);
    bench.clock.advance(seconds(600));
    mend(&bench, &MessageBuilder::email("a"), "b").await;
    bench
}

#[tokio::test]
async fn a_former_message_runs_the_mended_payload_and_the_mended_message_is_then_a_duplicate() {
    let handler = Scripted::new().on("a", [permanent()]);
    let bench = mended(&handler).await;
    assert!(run(&bench, [MessageBuilder::email("a").message_id("former")]).await.failed.is_empty());
    assert_eq!((handler.starts(), handler.effects_of("b")), (vec!["a".to_owned(), "b".to_owned()], 1));
    assert_state(&record(&bench, &MessageBuilder::email("a")), Status::Succeeded, 1, None);
    assert_eq!(record_by_id(&bench, &message_record_id("former")), None);
    for message in [with_payload("mended", "b"), MessageBuilder::email("a").message_id("once more")] {
        assert!(run(&bench, [message]).await.failed.is_empty(), "the job is done");
    }
    assert_eq!(handler.effects_of("b"), 1);
}

#[tokio::test]
async fn messages_of_a_payload_that_was_mended_twice_are_the_jobs_too() {
    let handler = Scripted::new().on("a", [permanent()]).on("b", [permanent()]);
    let bench = mended(&handler).await;
    run(&bench, [with_payload("mended", "b")]).await;
    bench.clock.advance(seconds(600));
    mend(&bench, &MessageBuilder::email("a"), "c").await;
    assert!(run(&bench, [with_payload("left over", "b")]).await.failed.is_empty());
    assert_eq!(handler.starts(), ["a", "b", "c"]);
}

#[tokio::test]
async fn other_content_under_a_mended_jobs_key_is_refused_as_ever() {
    let handler = Scripted::new().on("a", [permanent()]);
    let bench = mended(&handler).await;
    assert_eq!(run(&bench, [with_payload("stranger", "z")]).await.failed, ["stranger"]);
    let refused = record_by_id(&bench, &message_record_id("stranger")).unwrap();
    assert_state(&refused, Status::Dead, 0, Some("payload_mismatch"));
    assert_eq!(handler.starts(), ["a"]);
    assert_eq!(record(&bench, &MessageBuilder::email("a")).status, Status::Accepted);
}

#[tokio::test]
async fn a_mended_job_of_an_object_runs_mended_when_its_event_comes_again() {
    let handler = Scripted::new().mails_about_objects("welcome").on("up", [permanent()]).on("b", [Step::Effect]);
    let bench = Bench::with(handler.clone(), settings());
    let event = || MessageBuilder::new("m1", s3_event(&[s3_record("uploads/up")]));
    run(&bench, [event()]).await;
    let stored = record_of(&bench, "up").unwrap();
    let envelope = stored.envelope().expect("a job of an object can be made again").to_body();
    let rebuilt = || MessageBuilder::new("m2", envelope.clone());
    mend(&bench, &rebuilt(), "b").await;
    assert!(run(&bench, [event()]).await.failed.is_empty());
    assert_eq!(handler.starts(), ["up", "b"]);
    assert!(run(&bench, [rebuilt()]).await.failed.is_empty(), "the same job");
    assert_eq!((handler.effects_of("b"), bench.records.all().len()), (1, 1));
}

// -- made again from the record ------------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_body_made_again_from_a_record_is_the_same_job_to_its_consumer() {
    let direct = json!({"type": "email.send", "schemaVersion": 1, "idempotencyKey": "direct-1", "businessId": "order-1",
        "payload": payload("direct")});
    let bodies = [
        MessageBuilder::email("a").build().body.unwrap(),
        direct.to_string(),
        s3_event(&[s3_record("uploads/up")]),
        json!({"Type": "Notification", "TopicArn": "arn:aws:sns:us-west-2:123456789012:jobs", "Message": direct.to_string()})
            .to_string(),
    ];
    for body in bodies {
        let handler = Scripted::new().mails_about_objects("welcome");
        for name in ["a", "direct", "up"] {
            let _ = handler.clone().on(name, [permanent()]).on(name, [Step::Effect]);
        }
        let bench = Bench::with(handler.clone(), settings());
        run(&bench, [MessageBuilder::new("m1", body.clone())]).await;
        let [stored] = &bench.records.all()[..] else { panic!("one record of {body}") };
        assert_eq!(stored.status, Status::Dead);
        let rebuilt = stored.envelope().expect("a job").to_body();
        let sent_at = stored.died_at.unwrap() + seconds(61);
        let again = MessageBuilder::new("m2", rebuilt).sent_at(sent_at);
        assert!(run(&bench, [again]).await.failed.is_empty(), "{body}");
        let [stored] = &bench.records.all()[..] else { panic!("still one record of {body}") };
        assert_eq!((stored.status, stored.generation), (Status::Succeeded, 1));
    }
}

#[tokio::test]
async fn what_was_no_job_is_not_made_again() {
    let bench = Bench::with(Scripted::new(), settings());
    let newer = MessageBuilder::email("a").build().body.unwrap().replace("\"schemaVersion\":1", "\"schemaVersion\":2");
    run(&bench, [MessageBuilder::new("m1", "no JSON"), MessageBuilder::new("m2", newer)]).await;
    assert_eq!(bench.records.all().len(), 2);
    for stored in bench.records.all() {
        assert_eq!(stored.envelope(), None, "{}", stored.job_id);
    }
}
