//! The ends of jobs, told to who asked for it.

use std::collections::BTreeSet;
use std::time::SystemTime;

use ikkai_cli::local::receiver::{Delivery, Receiver, caller_key, verify};
use ikkai_cli::local::secrets::secret_text;
use serde_json::{Value, json};

use crate::harness::{Lab, on_engine};

/// The key that the operator would hand to the tests' caller.
async fn key(lab: &Lab) -> String {
    let secret = secret_text(lab.aws.address(), lab.output("WebhookSecretId")).await.expect("a secret");
    let secret: Value = serde_json::from_str(&secret).expect("JSON");
    caller_key(secret["current"].as_str().expect("a current secret"), "local:tester")
}

fn is_signed(delivery: &Delivery, key: &str) -> bool {
    verify(delivery.header("ikkai-signature").unwrap_or_default(), &delivery.body, key, SystemTime::now()).is_ok()
}

async fn taken(lab: &Lab, receiver: &Receiver, path: &str) -> Vec<Delivery> {
    lab.eventually("the receiver takes an event", async || {
        let deliveries = receiver.deliveries(path);
        deliveries.iter().any(|delivery| delivery.answered == 204).then_some(deliveries)
    })
    .await
}

#[test]
fn a_job_that_ends_is_told_once_and_signed() {
    on_engine(async |lab| {
        let receiver = Receiver::start().await.expect("a receiver");
        let name = lab.key("told");
        let mut job = lab.mail_to("user-1", &name);
        job["callbackUrl"] = receiver.url("/hook").into();
        let job_id = lab.post(&name, &job).await;
        lab.succeeded(&job_id).await;
        taken(lab, &receiver, "/hook").await;
        lab.let_go(lab.output("WebhookQueueName"), job_id.as_str()).await;
        let deliveries = receiver.deliveries("/hook");
        let [delivery] = &deliveries[..] else { panic!("one delivery: {deliveries:?}") };
        let event = delivery.json();
        assert_eq!((&event["jobId"], &event["type"]), (&json!(job_id.as_str()), &json!("job.succeeded")), "{event}");
        assert_eq!(event["id"].as_str(), delivery.header("ikkai-event-id"));
        let key = key(lab).await;
        assert!(is_signed(delivery, &key));
        assert!(!is_signed(delivery, &caller_key("another secret", "local:tester")), "and by nobody else");
        let record = lab.record(&job_id).await.expect("a record");
        let body = json!({
            "jobId": job_id.as_str(), "type": "email.send", "schemaVersion": 1,
            "idempotencyKey": record.idempotency_key, "payload": record.payload,
        });
        lab.send_directly(&body.to_string()).await;
        lab.let_go(lab.stack.email_queue(), job_id.as_str()).await;
        lab.let_go(lab.output("WebhookQueueName"), job_id.as_str()).await;
        assert_eq!(receiver.deliveries("/hook").len(), 1, "a duplicate tells nothing new");
    });
}

#[test]
fn a_receiver_that_fails_gets_the_same_event_again() {
    on_engine(async |lab| {
        let receiver = Receiver::start().await.expect("a receiver");
        receiver.answer("/flaky", 503, 2);
        let name = lab.key("told-later");
        let mut job = lab.mail_to("user-1", &name);
        job["callbackUrl"] = receiver.url("/flaky").into();
        let job_id = lab.post(&name, &job).await;
        lab.succeeded(&job_id).await;
        let deliveries = taken(lab, &receiver, "/flaky").await;
        assert_eq!(deliveries.iter().map(|delivery| delivery.answered).collect::<Vec<_>>(), [503, 503, 204]);
        let ids: BTreeSet<_> = deliveries.iter().map(|delivery| delivery.header("ikkai-event-id")).collect();
        let bodies: BTreeSet<_> = deliveries.iter().map(|delivery| delivery.body.clone()).collect();
        assert_eq!((ids.len(), bodies.len()), (1, 1), "byte for byte");
        let key = key(lab).await;
        assert!(deliveries.iter().all(|delivery| is_signed(delivery, &key)));
    });
}
