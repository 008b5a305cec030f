//! What a receiver gets, and which events are told at all.

use ikkai::clock::Clock as _;
use ikkai::idempotency::{JobRecord, Status};
use serde_json::json;

use crate::receiver::{Receiver, status};
use crate::scene::{Scene, dead, ended, event, event_of};

#[tokio::test]
async fn the_end_of_a_job_is_one_post_with_what_its_caller_may_know() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    let record = scene.ended(&receiver.url());
    let message = event_of(&record);
    assert!(scene.deliver(&message).await.failed.is_empty());

    let [request] = &receiver.requests()[..] else { panic!("one request") };
    assert_eq!(request.line(), "POST /hook?token=t0ken HTTP/1.1");
    assert_eq!(request.header("host").unwrap(), receiver.address().to_string());
    assert_eq!(request.header("content-type").unwrap(), "application/json");
    assert!(request.header("user-agent").unwrap().starts_with("ikkai-webhook/"));
    let event_id = request.header("ikkai-event-id").unwrap().to_owned();
    assert!(event_id.starts_with("evt_") && event_id.len() == 36);
    let expected = format!(
        "{{\"id\":\"{event_id}\",\"type\":\"job.succeeded\",\"jobId\":\"{}\",\"jobType\":\"email.send\",\"businessId\":\"order-1001\",\
         \"status\":\"succeeded\",\"generation\":0,\"result\":{{\"messageId\":\"m-1\"}},\"occurredAt\":\"2026-01-31T23:59:59.042Z\"}}",
        record.job_id
    );
    assert_eq!(String::from_utf8_lossy(&request.body), expected);

    let delivered = scene.record(&message);
    assert_eq!(delivered.status, Status::Succeeded);
    assert_eq!(delivered.result, Some(json!({"eventId": event_id, "httpStatus": 200})));
}

#[tokio::test]
async fn a_death_is_told_with_its_reason() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    for status in [Status::Dead, Status::InDoubt] {
        let record = JobRecord { status, ..dead(&receiver.url()) };
        scene.jobs.put(record.clone());
        assert!(scene.deliver(&event_of(&record)).await.failed.is_empty());
    }
    let [dead, in_doubt] = &receiver.requests()[..] else { panic!("two requests") };
    let reason = json!({"class": "permanent", "code": "unknown_user", "message": "no contact has this id"});
    for (request, name) in [(dead, "job.dead"), (in_doubt, "job.in_doubt")] {
        let body = request.json();
        assert_eq!((&body["type"], &body["error"], &body["generation"]), (&json!(name), &reason, &json!(2)));
        assert_eq!(body.get("result"), None);
    }
    assert_ne!(dead.header("ikkai-event-id").unwrap(), in_doubt.header("ikkai-event-id").unwrap());
}

#[tokio::test]
async fn every_try_sends_the_same_id_and_the_same_bytes() {
    let (scene, receiver) = (Scene::new(), Receiver::start([status(500), status(503)]).await);
    let message = event_of(&scene.ended(&receiver.url()));
    for receives in 1..=3 {
        scene.deliver(&message.clone().received(receives)).await;
        scene.bench.clock.advance(std::time::Duration::from_secs(3_600));
    }
    let requests = receiver.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests[1..] {
        assert_eq!(
            (&request.body, request.header("ikkai-event-id").unwrap()),
            (&requests[0].body, requests[0].header("ikkai-event-id").unwrap())
        );
    }
    assert_eq!(scene.record(&message).status, Status::Succeeded);
}

#[tokio::test]
async fn a_message_that_comes_again_is_no_second_post() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    let message = event_of(&scene.ended(&receiver.url()));
    for delivery in [message.clone(), message.clone().received(2), message.message_id("another-message")] {
        assert!(scene.deliver(&delivery).await.failed.is_empty());
    }
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn an_end_that_is_over_is_told_without_what_is_no_longer_known() {
    for (status, generation) in [(Status::Running, 3), (Status::Dead, 3), (Status::Cancelled, 2)] {
        let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
        let again = JobRecord { status, generation, ..dead(&receiver.url()) };
        scene.jobs.put(again.clone());
        scene.deliver(&event(again.job_id.as_str(), "dead", 2)).await;
        let body = receiver.requests()[0].json();
        assert_eq!((&body["type"], &body["status"], &body["generation"]), (&json!("job.dead"), &json!("dead"), &json!(2)));
        for member in ["result", "error", "occurredAt"] {
            assert_eq!(body.get(member), None, "{member} of a job that is {status}");
        }
    }
}

#[tokio::test]
async fn without_a_record_or_a_url_there_is_nobody_to_tell() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    let gone = event_of(&ended(&receiver.url()));
    assert!(scene.deliver(&gone).await.failed.is_empty());
    assert_eq!(scene.record(&gone).result, Some(json!({"skipped": "no_callback"})));

    let silent = JobRecord { callback_url: None, ..dead("") };
    scene.jobs.put(silent.clone());
    assert!(scene.deliver(&event_of(&silent)).await.failed.is_empty());
    let now = scene.clock.now();
    let expired = JobRecord { expires_at: Some(now.to_seconds_floor()), generation: 1, ..ended(&receiver.url()) };
    scene.jobs.put(expired.clone());
    assert!(scene.deliver(&event_of(&expired)).await.failed.is_empty());
    assert_eq!(scene.record(&event_of(&expired)).result, Some(json!({"skipped": "no_callback"})));
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn nothing_of_payload_and_data_is_told_and_nothing_of_the_url_is_kept() {
    let (scene, receiver) = (Scene::new(), Receiver::start([status(500)]).await);
    let message = event_of(&scene.ended(&receiver.url()));
    scene.deliver(&message).await;
    let body = String::from_utf8(receiver.requests()[0].body.clone()).unwrap();
    assert!(!body.contains("user-42") && !body.contains("private"), "{body}");
    let kept = format!("{:?}", scene.record(&message));
    assert!(!kept.contains("t0ken") && !kept.contains(&receiver.address().to_string()), "{kept}");
}

#[tokio::test]
async fn a_message_that_is_no_event_is_poison() {
    let scene = Scene::new();
    for job_id in ["email.send", "email.send-msg-8e03978e", "../../etc"] {
        let message = event(job_id, "succeeded", 0);
        assert_eq!(scene.deliver(&message).await.failed, ["event-1"], "{job_id}");
    }
}
