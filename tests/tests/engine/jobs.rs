//! What becomes of jobs when nothing is wrong, however often they are asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use ikkai::job::JobId;
use serde_json::{Value, json};

use crate::harness::{Answer, Lab, answer, on_engine, on_stack};

#[test]
fn a_posted_job_becomes_one_mail_with_the_fewest_calls() {
    on_engine(async |lab| {
        let before = lab.aws.proxy().calls();
        let job_id = lab.post_mail("one", "user-1").await;
        let record = lab.succeeded(&job_id).await;
        lab.queue_is_empty().await;

        assert_eq!((record.attempts, record.crashes, record.generation), (1, 0, 0));
        assert!(record.expires_at.is_some(), "a finished record expires");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
        let calls = lab.aws.proxy().calls().since(&before);
        let of_job: Vec<_> = calls.about(job_id.as_str()).map(|call| call.operation.clone()).collect();
        let count = |operation: &str| of_job.iter().filter(|name| *name == operation).count();
        assert_eq!(count("dynamodb.PutItem"), 1, "accepting is one write: {of_job:?}");
        assert_eq!(count("dynamodb.UpdateItem"), 3, "claim, begin_effect, complete: {of_job:?}");
        assert_eq!(count("dynamodb.GetItem"), 0, "nothing reads the jobs table: {of_job:?}");
        assert_eq!(count("ses.SendEmail"), 1, "{of_job:?}");
    });
}

/// However slow the engine is: no request takes the sending over, none runs out of time, and no mail is given up.
const MANY_AT_ONCE: [(&str, &str); 4] = [
    ("SendLeaseMs", "30000"),
    ("ApiTimeoutSeconds", "29"),
    ("EmailFunctionTimeoutSeconds", "60"),
    ("EmailProviderTimeoutMs", "20000"),
];

/// What a client gets that asks again as it is told: while the same request is being accepted, and where a busy engine did not answer.
async fn taken(lab: &Lab, key: &str, job: &Value) -> Answer {
    let ask = async || {
        let answer = lab.post_as("tester", key, job).await;
        match answer.status {
            202 => return Some(answer),
            409 | 503 => assert_eq!(answer.headers["retry-after"], "1"),
            other => panic!("answered {other}: {}", answer.body),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        None
    };
    lab.eventually("the request is taken", ask).await
}

#[test]
fn fifty_identical_requests_at_once_are_one_record_one_message_and_one_mail() {
    on_stack("many", &MANY_AT_ONCE, async |lab| {
        let (key, before) = (lab.key("fifty"), lab.aws.proxy().calls());
        let job = lab.mail_to("user-2", &key);
        let answers = join_all((0..50).map(|_| taken(lab, &key, &job))).await;

        let ids: BTreeSet<_> = answers.iter().map(|answer| answer.body["jobId"].as_str().expect("a job id").to_owned()).collect();
        assert_eq!(ids.len(), 1, "one job id");
        let job_id = JobId::parse_stored(ids.first().expect("one")).expect("a job id");
        lab.succeeded(&job_id).await;
        let calls = lab.aws.proxy().calls().since(&before);
        let sends = calls.about(job_id.as_str()).filter(|call| call.operation.starts_with("sqs.SendMessage")).count();
        assert_eq!(sends, 1, "one message");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1, "one mail");

        let again = lab.post_as("tester", &key, &job).await;
        assert_eq!((again.status, again.body["status"].as_str()), (202, Some("succeeded")), "and later the kept answer");
    });
}

#[test]
fn a_thousand_jobs_posted_in_batches_are_all_mailed_once() {
    on_stack("many", &MANY_AT_ONCE, async |lab| {
        let api = lab.stack.api("tester").expect("an API");
        let mut ids = Vec::new();
        for batch in 0..10 {
            let key = lab.key("thousand");
            let jobs: Vec<Value> = (0..100)
                .map(|index| {
                    let mut job = lab.mail_to(if index % 2 == 0 { "user-1" } else { "user-7" }, &format!("{key}-{index}"));
                    job["idempotencyKey"] = json!(format!("{key}-{index}"));
                    job
                })
                .collect();
            let request = json!({"jobs": jobs});
            // A machine that is busy with other tests may put a job or all of them off (503): then the same is asked for again, as the answer says.
            let accepted = async || {
                let posted = answer(api.post_batch(&request).await.expect("an answer"));
                if posted.status == 503 {
                    return None;
                }
                assert!((200..300).contains(&posted.status), "batch {batch}: {posted:?}");
                let verdicts = posted.body["jobs"].as_array().expect("verdicts").clone();
                let put_off = |verdict: &&Value| verdict["status"] != 202;
                if let Some(verdict) = verdicts.iter().find(put_off) {
                    assert!(verdict["status"] == 503 || verdict["status"] == 409, "{verdict}");
                    return None;
                }
                Some(verdicts)
            };
            for verdict in lab.eventually("every job of the batch is accepted", accepted).await {
                ids.push(verdict["job"]["jobId"].as_str().expect("a job id").to_owned());
            }
        }
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 1000);
        for id in &ids {
            let job_id = JobId::parse_stored(id).expect("a job id");
            lab.succeeded(&job_id).await;
        }
        for id in &ids {
            assert_eq!(lab.aws.proxy().effects_of(id), 1, "{id}");
        }
    });
}

#[test]
fn a_message_delivered_again_after_completion_is_answered_from_the_record() {
    on_engine(async |lab| {
        let job_id = lab.post_mail("twice", "user-1").await;
        let record = lab.succeeded(&job_id).await;
        let body = json!({
            "jobId": job_id.as_str(), "type": "email.send", "schemaVersion": 1,
            "idempotencyKey": record.idempotency_key, "payload": record.payload,
        });
        let before = lab.aws.proxy().calls();
        lab.send_directly(&body.to_string()).await;
        lab.eventually("the second claim", async || {
            let calls = lab.aws.proxy().calls().since(&before);
            (calls.about(job_id.as_str()).count() > 0).then_some(())
        })
        .await;
        lab.queue_is_empty().await;
        let calls = lab.aws.proxy().calls().since(&before);
        let of_job: Vec<_> = calls.about(job_id.as_str()).map(|call| call.operation.as_str()).collect();
        assert_eq!(of_job, ["dynamodb.UpdateItem"], "one refused write and nothing else");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
        assert_eq!(lab.record(&job_id).await, Some(record), "the record is untouched");
    });
}

#[test]
fn a_direct_sender_without_a_job_id_gets_the_same_job_each_time() {
    on_engine(async |lab| {
        let key = lab.key("direct");
        let body = json!({
            "type": "email.send", "schemaVersion": 1, "idempotencyKey": key,
            "payload": {"deliveryId": key, "templateId": "welcome", "userId": "user-3"},
        });
        let kind = ikkai::job::find("email.send").expect("registered");
        let key = ikkai::job::IdempotencyKey::parse(&key).expect("a key");
        let job_id = JobId::for_direct_sender(lab.stack.email_queue(), &kind.job_type(), &key);
        lab.send_directly(&body.to_string()).await;
        lab.succeeded(&job_id).await;
        lab.send_directly(&body.to_string()).await;
        lab.queue_is_empty().await;
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
    });
}

#[test]
fn a_suppressed_user_gets_no_mail_and_the_job_is_done() {
    on_engine(async |lab| {
        let job_id = lab.post_mail("suppressed", "user-13").await;
        let record = lab.succeeded(&job_id).await;
        assert_eq!(record.result, Some(json!({"suppressed": true})));
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 0);
    });
}
