//! What becomes of jobs when something goes wrong.

use ikkai::idempotency::{ErrorClass, Status};
use ikkai::job::{IdempotencyKey, JobId};
use ikkai_cli::local::proxy::Rule;
use serde_json::json;

use crate::harness::{CALLER, Lab, on_engine, on_stack};

async fn post(lab: &Lab, key: &str, user: &str) -> JobId {
    let posted = lab.post_as(CALLER, key, &lab.mail_to(user, key)).await;
    assert_eq!(posted.status, 202, "{posted:?}");
    let job_id = lab.job_id_of(key);
    assert_eq!(posted.body["jobId"], job_id.as_str());
    job_id
}

#[test]
fn a_flaky_provider_costs_a_second_attempt_and_no_second_mail() {
    on_engine(async |lab| {
        let key = lab.key("flaky");
        let job_id = lab.job_id_of(&key);
        let fault = Rule::on("ses.SendEmail").job(job_id.as_str()).times(1).answer(500, "InternalFailure", "something broke");
        let fault = lab.aws.proxy().add(fault);
        post(lab, &key, "user-2").await;
        let record = lab.record_when(&job_id, |record| record.status == Status::Succeeded).await;
        assert_eq!((fault.hits(), record.attempts), (1, 2));
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
    });
}

#[test]
fn an_unknown_user_ends_in_the_dead_letter_queue_with_its_reason() {
    on_engine(async |lab| {
        let key = lab.key("poison");
        let job_id = post(lab, &key, "nobody").await;
        let dead = lab.dead_letter_with(job_id.as_str()).await;
        let record = lab.record(&job_id).await.expect("a record");
        assert_eq!((record.status, record.attempts), (Status::Dead, 1));
        assert_eq!(record.last_error.expect("a reason").code, "unknown_user");
        assert_eq!(record.expires_at, None, "a dead record never expires");
        assert!(dead.receive_count >= 5, "the redrive policy moved it");

        let answer = lab.stack.api(CALLER).expect("an API").job(job_id.as_str()).await.expect("an answer");
        let body: serde_json::Value = serde_json::from_slice(answer.body()).expect("JSON");
        assert_eq!((body["status"].as_str(), body["reason"]["code"].as_str()), (Some("dead"), Some("unknown_user")), "{body}");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 0);
    });
}

#[test]
fn a_broken_body_ends_in_the_dead_letter_queue_and_harms_no_other_message() {
    on_engine(async |lab| {
        let marker = lab.key("broken");
        let message_id = lab.send_directly(&format!(r#"{{"type":"email.send","broken":"{marker}","#)).await;
        let good = lab.post_mail("beside-broken", "user-1").await;
        lab.record_when(&good, |record| record.status == Status::Succeeded).await;
        let dead = lab.dead_letter_with(&marker).await;
        assert_eq!(dead.message_id, message_id, "the redrive policy keeps the message id");
        let job_type = ikkai::job::find("email.send").expect("registered").job_type();
        let record = lab.record(&JobId::for_message(&job_type, &message_id)).await.expect("a record under the message's id");
        let reason = record.last_error.expect("a reason");
        assert_eq!((record.status, reason.class, reason.code.as_str()), (Status::Dead, ErrorClass::Poison, "body_not_json"));
        assert!(!reason.message.contains(&marker), "the reason holds nothing of the body");
    });
}

#[test]
fn the_same_key_with_other_content_on_the_queue_never_runs() {
    on_engine(async |lab| {
        let key = lab.key("mismatch");
        let job_id = post(lab, &key, "user-1").await;
        lab.record_when(&job_id, |record| record.status == Status::Succeeded).await;
        let body = json!({
            "jobId": job_id.as_str(), "type": "email.send", "schemaVersion": 1, "idempotencyKey": key,
            "payload": {"deliveryId": key, "templateId": "welcome", "userId": "user-2"},
        });
        let message_id = lab.send_directly(&body.to_string()).await;
        lab.dead_letter_with(job_id.as_str()).await;
        let job_type = ikkai::job::find("email.send").expect("registered").job_type();
        let record = lab.record(&JobId::for_message(&job_type, &message_id)).await.expect("a record under the message's id");
        assert_eq!(record.last_error.expect("a reason").code, "payload_mismatch");
        assert_eq!(lab.record(&job_id).await.expect("a record").status, Status::Succeeded, "the job's own record is untouched");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
    });
}

#[test]
fn a_provider_that_is_down_for_longer_than_the_receives_last_dead_letters_nothing() {
    on_engine(async |lab| {
        let key = lab.key("outage");
        let job_id = lab.job_id_of(&key);
        let deferrals = 8;
        let down =
            Rule::on("ses.SendEmail").job(job_id.as_str()).times(deferrals).answer(429, "TooManyRequestsException", "slow down");
        let down = lab.aws.proxy().add(down);
        let before = lab.aws.proxy().calls();
        post(lab, &key, "user-7").await;
        let record = lab.record_when(&job_id, |record| record.status == Status::Succeeded).await;
        assert_eq!(down.hits(), deferrals, "more deferrals than the queue allows receives");
        assert_eq!(record.attempts, 1, "deferrals give their attempt back");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
        let calls = lab.aws.proxy().calls().since(&before);
        let sends = calls.about(job_id.as_str()).filter(|call| call.operation.starts_with("sqs.SendMessage")).count();
        assert!(sends >= 2, "the message was renewed: {sends} sends");
        let dead = lab.stack.messages(lab.stack.email_dead_letter_queue()).await.expect("the engine answers");
        assert!(!dead.iter().any(|message| message.body.contains(job_id.as_str())), "nothing reached the DLQ");
    });
}

#[test]
fn a_mail_whose_answer_was_lost_is_in_doubt_and_never_sent_twice() {
    on_engine(async |lab| {
        let key = lab.key("lost-answer");
        let job_id = lab.job_id_of(&key);
        lab.aws.proxy().add(Rule::on("ses.SendEmail").job(job_id.as_str()).times(1).forward_then_drop());
        post(lab, &key, "user-1").await;
        lab.dead_letter_with(job_id.as_str()).await;
        let record = lab.record(&job_id).await.expect("a record");
        assert_eq!((record.status, record.effect_begun), (Status::InDoubt, true));
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1, "the provider took it once");
    });
}

#[test]
fn a_newer_schema_version_waits_without_an_attempt_and_then_says_why_it_died() {
    on_engine(async |lab| {
        let key = lab.key("newer");
        let body = json!({
            "type": "email.send", "schemaVersion": 2, "idempotencyKey": key, "priority": "high",
            "payload": {"deliveryId": key, "template": {"id": "welcome"}},
        });
        let job_type = ikkai::job::find("email.send").expect("registered").job_type();
        let parsed = IdempotencyKey::parse(&key).expect("a key");
        let job_id = JobId::for_direct_sender(lab.stack.email_queue(), &job_type, &parsed);
        let before = lab.aws.proxy().calls();
        lab.send_directly(&body.to_string()).await;
        let held = lab.record_when(&job_id, |record| record.schema_held_since.is_some()).await;
        assert_eq!((held.status, held.attempts), (Status::RetryScheduled, 0));
        lab.dead_letter_with(&key).await;
        let record = lab.record(&job_id).await.expect("a record");
        assert_eq!((record.status, record.attempts), (Status::Dead, 0));
        assert_eq!(record.last_error.expect("a reason").code, "schema_too_new");
        let calls = lab.aws.proxy().calls().since(&before);
        let renewals = calls.calls.iter().filter(|call| call.operation.starts_with("sqs.SendMessage")).count();
        assert!(renewals >= 1, "it was renewed while it waited");
    });
}

const FAST: [(&str, &str); 3] =
    [("EmailFunctionTimeoutSeconds", "3"), ("EmailProviderTimeoutMs", "1500"), ("EmailBatchSize", "1")];

#[test]
fn a_worker_killed_before_its_effect_leaves_a_job_that_runs_again() {
    on_stack("killed-early", &FAST, async |lab| {
        let key = lab.key("killed-early");
        let contact = Rule::on("dynamodb.GetItem").target(lab.stack.contacts_table()).times(1).hold();
        let contact = lab.aws.proxy().add(contact);
        let job_id = post(lab, &key, "user-1").await;
        contact.arrived().await;
        assert!(lab.aws.kill_function(lab.stack.email_consumer()) >= 1, "a worker was killed");
        contact.release();
        let record = lab.record_when(&job_id, |record| record.status == Status::Succeeded).await;
        assert_eq!((record.attempts, record.crashes), (2, 1));
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
    });
}

#[test]
fn a_worker_killed_after_its_effect_leaves_a_job_in_doubt_and_no_second_mail() {
    on_stack("killed-late", &FAST, async |lab| {
        let key = lab.key("killed-late");
        let job_id = lab.job_id_of(&key);
        let sent = lab.aws.proxy().add(Rule::on("ses.SendEmail").job(job_id.as_str()).times(1).forward_then_hold());
        post(lab, &key, "user-1").await;
        sent.arrived().await;
        lab.eventually("the mail", async || (lab.aws.proxy().effects_of(job_id.as_str()) == 1).then_some(())).await;
        assert!(lab.aws.kill_function(lab.stack.email_consumer()) >= 1, "a worker was killed");
        sent.release();
        lab.dead_letter_with(job_id.as_str()).await;
        let record = lab.record(&job_id).await.expect("a record");
        assert_eq!((record.status, record.crashes), (Status::InDoubt, 1));
        assert_eq!(record.last_error.expect("a reason").code, "lease_ended_after_effect_began");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1, "not sent twice");
    });
}

#[test]
fn a_job_longer_than_its_lease_chunk_is_kept_by_the_heartbeat() {
    let chunks = [
        ("EmailFunctionTimeoutSeconds", "15"),
        ("LeaseWholeUntilSeconds", "1"),
        ("LeaseChunkSeconds", "3"),
        ("EmailBatchSize", "1"),
    ];
    on_stack("chunks", &chunks, async |lab| {
        let key = lab.key("long");
        let slow = Rule::on("dynamodb.GetItem").target(lab.stack.contacts_table()).times(1).hold();
        let slow = lab.aws.proxy().add(slow);
        let job_id = post(lab, &key, "user-1").await;
        slow.arrived().await;
        let first = lab.record_when(&job_id, |record| record.lease_until.is_some()).await.lease_until;
        // Two renewals later the first chunk is long over.
        lab.record_when(&job_id, |record| record.lease_until > first).await;
        let second = lab.record(&job_id).await.expect("a record").lease_until;
        lab.record_when(&job_id, |record| record.lease_until > second).await;
        slow.release();
        let record = lab.record_when(&job_id, |record| record.status == Status::Succeeded).await;
        assert_eq!((record.attempts, record.crashes), (1, 0), "one worker had it all the time");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
    });
}
