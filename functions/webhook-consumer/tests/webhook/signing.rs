//! What a receiver can rely on.

use std::time::Duration;

use ikkai::clock::EpochSeconds;
use ikkai::idempotency::{JobRecord, Status};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use webhook_consumer::{SecretError, SigningSecret, caller_key, signature};

use crate::receiver::{Receiver, status};
use crate::scene::{CALLER, SECRET, Scene, ended, event_of};

fn signed_by(secret: &str, at: i64, body: &[u8]) -> String {
    let secret = SigningSecret::parse(&json!({"current": secret}).to_string()).unwrap();
    signature(&secret, CALLER, EpochSeconds::from_i64(at), body)
}

#[tokio::test]
async fn the_signature_covers_the_time_and_the_raw_body() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    scene.deliver(&event_of(&scene.ended(&receiver.url()))).await;
    let request = receiver.requests().remove(0);
    let header = request.header("ikkai-signature").unwrap();
    assert_eq!(header, signed_by(SECRET, 1_800_000_001, &request.body));
    let mut tampered = request.body.clone();
    tampered.push(b' ');
    assert_ne!(header, signed_by(SECRET, 1_800_000_001, &tampered));
    assert_ne!(header.split(',').nth(1), signed_by(SECRET, 1_800_000_002, &request.body).split(',').nth(1));
}

#[tokio::test]
async fn each_try_is_signed_at_its_own_time() {
    let (scene, receiver) = (Scene::new(), Receiver::start([status(500)]).await);
    let message = event_of(&scene.ended(&receiver.url()));
    scene.deliver(&message).await;
    for clock in [&scene.clock, &scene.bench.clock] {
        clock.advance(Duration::from_secs(600));
    }
    scene.deliver(&message.received(2)).await;
    let times: Vec<_> =
        receiver.requests().iter().map(|request| request.header("ikkai-signature").unwrap()[..12].to_owned()).collect();
    assert_eq!(times, ["t=1800000001", "t=1800000601"]);
}

#[tokio::test]
async fn while_a_secret_is_exchanged_both_sign() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    let new = "a fresh secret of some length";
    scene.secret.set(Ok(json!({"current": new, "previous": SECRET}).to_string()));
    scene.deliver(&event_of(&scene.ended(&receiver.url()))).await;
    let request = receiver.requests().remove(0);
    let v1 = |secret| signed_by(secret, 1_800_000_001, &request.body).split_once(",").unwrap().1.to_owned();
    assert_eq!(request.header("ikkai-signature").unwrap(), format!("t=1800000001,{},{}", v1(new), v1(SECRET)));
}

#[tokio::test]
async fn an_exchanged_secret_is_used_within_minutes_without_a_deployment() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    let event = |generation| {
        let record = JobRecord { generation, ..ended(&receiver.url()) };
        scene.jobs.put(record.clone());
        event_of(&record)
    };
    scene.deliver(&event(0)).await;
    let new = "a fresh secret of some length";
    scene.secret.set(Ok(json!({"current": new}).to_string()));
    scene.clock.advance(Duration::from_secs(300));
    scene.deliver(&event(1)).await;
    let request = receiver.requests().remove(1);
    assert_eq!(request.header("ikkai-signature").unwrap(), signed_by(new, 1_800_000_301, &request.body));
}

#[tokio::test]
async fn without_a_secret_events_wait_and_use_no_attempt() {
    for problem in [Err(SecretError::Unavailable { code: "AccessDenied".to_owned() }), Ok("not JSON".to_owned())] {
        let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
        scene.secret.set(problem.clone());
        let message = event_of(&scene.ended(&receiver.url()));
        // The fault is ours: here the invocation errs, so that the mapping slows down.
        assert!(scene.bench.run_batch([message.build()]).await.is_err());
        let record = scene.record(&message);
        assert_eq!((record.status, record.attempts), (Status::RetryScheduled, 0), "{problem:?}");
        assert!(receiver.requests().is_empty(), "nothing goes out unsigned");
    }
}

#[tokio::test]
async fn while_secrets_manager_is_away_events_wait_as_for_a_receiver_and_no_longer() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    scene.secret.set(Err(SecretError::Unreachable { code: "no connection".to_owned() }));
    let message = event_of(&scene.ended(&receiver.url()));
    // Whether the invocation errs is not what this is about.
    let _ = scene.bench.run_batch([message.build()]).await;
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts), (Status::RetryScheduled, 0));
    let wait = record.retry_at.unwrap().since(record.updated_at);
    assert!(wait <= Duration::from_secs(60), "the usual deferral, not that of a mistake: {wait:?}");
    assert!(receiver.requests().is_empty(), "nothing goes out unsigned");
}

#[test]
fn one_caller_s_key_signs_nothing_for_another() {
    let secret = SecretString::from(SECRET);
    let key = |caller| caller_key(&secret, caller).expose_secret().to_owned();
    assert_ne!(key(CALLER), key("arn:aws:sts::123456789012:assumed-role/other"));
}
