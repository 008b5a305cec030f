//! `list`.

use std::time::Duration;

use ikkai::idempotency::{ErrorClass, LastError, Status};
use ikkai::queue::{OutgoingMessage, Queue as _, QueueError};
use ikkai::testing::{SqsFault, SqsOperation, StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::scene::{Scene, failed, mail};

const DEAD: &str = "shop-email-dlq";

fn list() -> Value {
    json!({"action": "list", "queue": "email"})
}

/// Status, class, code, count and verdict of each group.
fn groups(answer: &Value) -> Vec<String> {
    let groups = answer["groups"].as_array().expect("groups").iter();
    let told = groups.map(|group| {
        let text = |name: &str| group[name].as_str().unwrap_or("-").to_owned();
        let parts = [text("status"), text("errorClass"), text("errorCode"), group["count"].to_string(), text("verdict")];
        parts.join(" ")
    });
    told.collect()
}

fn advice_of(answer: &Value, group: usize) -> String {
    answer["groups"][group]["advice"].as_str().expect("an advice").to_owned()
}

#[tokio::test(start_paused = true)]
async fn messages_are_grouped_by_reason_and_the_largest_group_comes_first() {
    let scene = Scene::new();
    for number in 0..3 {
        scene.bury(&format!("transient-{number}"), |record| record.last_error = failed(ErrorClass::Transient, "provider_error"));
    }
    for number in 0..2 {
        scene.bury(&format!("user-{number}"), |_| {});
    }
    scene.bury("throttled", |record| {
        (record.status, record.last_error) = (Status::Accepted, None);
    });
    scene.bury("done", |record| (record.status, record.last_error) = (Status::Succeeded, None));
    scene.bury("doubt", |record| {
        (record.status, record.last_error) = (Status::InDoubt, failed(ErrorClass::Ambiguous, "timed_out"));
        record.provider_ref = Some("ch_1".to_owned());
    });
    scene.bury("again", |record| record.generation = 3);
    scene.sqs.bury("shop-email", &[OutgoingMessage::new("not json")]);
    scene.sqs.queue(DEAD).send(&[OutgoingMessage::new(mail("direct").to_body())]).await.unwrap();

    let answer = scene.done(list()).await;
    assert_eq!((&answer["seen"], &answer["matched"], &answer["more"]), (&json!(11), &json!(11), &json!(false)));
    assert_eq!(
        groups(&answer),
        [
            "dead transient provider_error 3 redriven",
            "dead permanent unknown_user 2 redriven",
            "none poison body_not_json 1 redriven",
            "accepted - - 1 redriven",
            "dead permanent unknown_user 1 quarantined",
            "in_doubt ambiguous timed_out 1 in_doubt",
            "none - - 1 redriven",
            "succeeded - - 1 already_done",
        ]
    );
    for (group, told) in [
        (0, "provider failed"),
        (1, "mend what it refers to"),
        (2, "no consumer understands"),
        (3, "receives were used up"),
        (4, "put back 3 times"),
        (5, "look at the provider (ch_1)"),
        (6, "sent it straight into the dead-letter queue"),
        (7, "the job is done"),
    ] {
        assert!(advice_of(&answer, group).contains(told), "{told}: {}", advice_of(&answer, group));
    }
    assert_eq!(answer["groups"][2].get("jobType"), None, "what is no job has no type");
    assert_eq!(answer["groups"][0]["jobType"], "email.send");
    assert_eq!(answer["groups"][0]["examples"].as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_look_releases_everything_and_costs_each_message_one_receive() {
    let scene = Scene::new();
    for number in 0..25 {
        scene.bury(&format!("mail-{number}"), |_| {});
    }
    let answer = scene.done(list()).await;
    assert_eq!((&answer["seen"], &answer["matched"]), (&json!(25), &json!(25)));
    assert_eq!(scene.visible(DEAD), 25);
    let most = scene.sqs.messages(DEAD).iter().map(|message| message.receive_count).max();
    assert_eq!(most, scene.sqs.messages(DEAD).iter().map(|message| message.receive_count).min(), "each message once");
}

#[tokio::test(start_paused = true)]
async fn a_look_ends_at_its_maximum_and_says_that_there_is_more() {
    let scene = Scene::new();
    for number in 0..25 {
        scene.bury(&format!("mail-{number}"), |_| {});
    }
    let answer = scene.done(json!({"action": "list", "queue": "email", "max": 12})).await;
    assert_eq!((&answer["seen"], &answer["more"]), (&json!(12), &json!(true)));
    assert_eq!(scene.visible(DEAD), 25);
}

#[tokio::test(start_paused = true)]
async fn one_empty_answer_makes_no_empty_queue() {
    let scene = Scene::new();
    scene.bury("mail", |_| {});
    for _ in 0..2 {
        scene.sqs.fail_next(DEAD, SqsOperation::Receive, SqsFault::FindNothing);
    }
    assert_eq!(scene.done(list()).await["seen"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_out_twice_counts_once() {
    let scene = Scene::new();
    scene.bury("mail", |_| {});
    scene.sqs.fail_next(DEAD, SqsOperation::Receive, SqsFault::StayVisible);
    assert_eq!(scene.done(list()).await["seen"], 1);
    assert_eq!(scene.visible(DEAD), 1);
}

#[tokio::test(start_paused = true)]
async fn a_look_comes_to_its_end_before_the_invocation_does() {
    let scene = Scene::new();
    for number in 0..40 {
        scene.bury(&format!("mail-{number}"), |_| {});
    }
    scene.sqs.set_latency(Duration::from_secs(5));
    let mut invocation = scene.invocation();
    invocation.deadline = scene.bench.clock.now() + Duration::from_secs(31);
    let answer = scene.bench.answer(list(), &invocation).await.to_json();
    assert_eq!((&answer["ok"], &answer["more"]), (&json!(true), &json!(true)), "{answer}");
    assert!(answer["seen"].as_u64().unwrap() < 40);
    assert_eq!(scene.visible(DEAD), 40);
}

#[tokio::test(start_paused = true)]
async fn a_failed_look_releases_what_it_took() {
    let scene = Scene::new();
    scene.bury("mail", |_| {});
    scene.store.fail_next(StoreCall::Get, StoreFault::Throttle);
    let (code, message) = scene.refused(list()).await;
    assert_eq!(code, "unavailable");
    assert!(message.contains("throttles"), "{message}");
    assert_eq!(scene.visible(DEAD), 1);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_may_not_be_read_is_named_with_the_mend() {
    let scene = Scene::new();
    let denied = QueueError::Refused { operation: "ReceiveMessage", code: "AccessDenied".to_owned() };
    scene.sqs.fail_always(DEAD, SqsOperation::Receive, SqsFault::Refuse(denied));
    let (code, message) = scene.refused(list()).await;
    assert_eq!(code, "access_denied");
    assert!(message.contains(DEAD) && message.contains("check the role"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn the_filter_chooses_and_messages_are_told_one_by_one_where_that_is_asked_for() {
    let scene = Scene::new();
    let wanted = scene.bury("wanted", |record| record.last_error = failed(ErrorClass::Transient, "provider_error"));
    scene.bury("other", |_| {});
    let request = json!({"action": "list", "filter": {"classes": ["transient"]}, "messages": true});
    let answer = scene.done(request).await;
    assert_eq!((&answer["seen"], &answer["matched"]), (&json!(2), &json!(1)));
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["jobIds"], json!([wanted.as_str()]));
    assert_eq!((&messages[0]["queue"], &messages[0]["source"]), (&json!("email"), &json!("shop-email")));
    assert_eq!(messages[0]["records"][0]["errorCode"], "provider_error");
    assert_eq!(scene.done(list()).await.get("messages"), None);
}

#[tokio::test(start_paused = true)]
async fn nothing_private_is_told() {
    let scene = Scene::new();
    scene.bury("mail", |record| record.result = Some(json!({"to": "ada@example.com"})));
    for request in [
        json!({"action": "list", "messages": true}),
        json!({"action": "inspect", "jobId": mail("mail").job_id.unwrap().as_str()}),
    ] {
        let told = scene.done(request).await.to_string();
        for private in ["hunter2", "shop.example", "token", "ada@example.com", "idempotencyKey"] {
            assert!(!told.contains(private), "{private}: {told}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_message_with_several_jobs_the_first_that_is_not_done_tells_the_reason() {
    use ikkai::idempotency::JobRecord;
    use ikkai::job::find;

    let mut scene = Scene::new();
    // Notifications of S3 on the queue of mails: what matters here is that one message has two jobs.
    let mut queues = scene.bench.queues.all().to_vec();
    queues[0].kind = find("image.resize").unwrap();
    scene.bench.queues = dlq_redrive::StackQueues::new(queues);
    let object = |key: &str| {
        json!({"eventName": "ObjectCreated:Put", "eventSource": "aws:s3", "awsRegion": "eu-west-1", "eventTime": "2026-01-01T00:00:00.000Z",
               "eventVersion": "2.2", "s3": {"bucket": {"name": "pictures"}, "object": {"key": key, "eTag": "0123456789abcdef0123456789abcdef",
               "size": 1, "sequencer": "0055AED6DCD90281E5"}}})
    };
    let body = json!({"Records": [object("uploads/a.jpg"), object("uploads/b.jpg")]}).to_string();
    scene.sqs.bury("shop-email", &[OutgoingMessage::new(body.clone())]);
    let found = ikkai::consumer::contents(&body, find("image.resize").unwrap(), "shop-email", "m");
    let ids: Vec<_> = found
        .iter()
        .map(|content| match content {
            ikkai::consumer::MessageContent::Job { job_id, .. } => job_id.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    for (job_id, status) in ids.iter().zip([Status::Succeeded, Status::Dead]) {
        let mut record = JobRecord::new(job_id.clone(), job_id.job_type(), 1, "direct", status, scene.bench.clock.now());
        if status == Status::Dead {
            record.last_error = Some(LastError::new(ErrorClass::Permanent, "not_a_picture", "the object is no picture"));
        }
        scene.jobs.put(record);
    }
    let answer = scene.done(json!({"action": "list", "queue": "email", "messages": true})).await;
    assert_eq!(groups(&answer), ["dead permanent not_a_picture 1 redriven"]);
    assert_eq!(answer["messages"][0]["records"].as_array().unwrap().len(), 2);
}
