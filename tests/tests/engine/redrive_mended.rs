//! Jobs that an operator mends or takes back, through the real function.

use ikkai::idempotency::Status;
use serde_json::json;

use crate::harness::CALLER;
use crate::operator::{verdicts, with_idle_queue, with_operator};

#[test]
fn a_mended_payload_runs_and_the_clients_honest_repetition_is_still_the_same_request() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let (key, nobody) = (lab.key("patched"), lab.key("misspelt"));
        let asked_for = lab.mail_to(&nobody, &key);
        let job_id = lab.post(&key, &asked_for).await;
        lab.dead_letter_with(job_id.as_str()).await;

        let mut request = operator.redrive(&[&job_id]);
        request["patch"] = json!({"userId": 7});
        let refused = operator.ask(&request).await;
        assert_eq!((&refused["ok"], &refused["error"]["code"]), (&json!(false), &json!("invalid_patch")), "{refused}");
        assert_eq!(lab.record(&job_id).await.expect("a record").status, Status::Dead, "nothing was changed");

        request["patch"] = json!({"userId": "user-1"});
        let run = operator.run(&request).await;
        assert_eq!(verdicts(&run, &job_id), ["redriven"], "{run}");
        let record = lab.succeeded(&job_id).await;
        assert_eq!(record.payload.as_ref().map(|payload| &payload["userId"]), Some(&json!("user-1")));
        assert_eq!(record.original_payload.as_ref(), Some(&asked_for["payload"]), "what was asked for is kept");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);

        let repeated = lab.post_as(CALLER, &key, &asked_for).await;
        assert_eq!((repeated.status, &repeated.body["jobId"]), (202, &json!(job_id.as_str())), "{repeated:?}");
        assert_eq!(repeated.body["status"], "succeeded", "{repeated:?}");
        let other = lab.post_as(CALLER, &key, &lab.mail_to("user-1", &key)).await;
        assert_eq!(other.status, 422, "the mended payload was not asked for by the client: {other:?}");
        lab.let_go(lab.stack.email_queue(), job_id.as_str()).await;
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1, "one mail");
    });
}

#[test]
fn a_job_that_waits_is_taken_back_by_an_operator_with_a_reason() {
    with_idle_queue(async |operator| {
        let lab = operator.lab;
        let job_id = lab.post_mail("cancelled", "user-1").await;
        let cancel = json!({"action": "cancel", "jobId": job_id.as_str(), "reason": "ordered twice", "claimedBy": "ida"});
        let cancelled = operator.done(&cancel).await;
        assert_eq!(cancelled["record"]["status"], "cancelled", "{cancelled}");
        let record = lab.record(&job_id).await.expect("a record");
        assert_eq!((record.status, record.expires_at.is_some()), (Status::Cancelled, true));
        let again = operator.done(&cancel).await;
        assert_eq!(again["record"]["updatedAt"], cancelled["record"]["updatedAt"], "twice is as good as once: {again}");
        let history = operator.done(&json!({"action": "history", "queue": "email"})).await;
        let entry = history["runs"].as_array().expect("runs").iter().find(|run| run["runId"] == cancelled["runId"]);
        let entry = entry.unwrap_or_else(|| panic!("{history}"));
        assert_eq!(
            (&entry["action"], &entry["reason"], &entry["claimedBy"]),
            (&json!("cancel"), &json!("ordered twice"), &json!("ida"))
        );
        operator.take(lab.stack.email_queue(), job_id.as_str()).await;
    });
}
