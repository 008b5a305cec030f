//! The same job more than once: from the client, and from the queue.

use std::collections::BTreeSet;

use ikkai::idempotency::Status;
use serde_json::{Value, json};

use crate::demo::findings::{Findings, Missed};
use crate::demo::job::{Job, JobOutcome, Promise};
use crate::demo::stage::{EMAIL, Stage};

/// Five identical requests at once are one record, one message and one mail.
pub(in crate::demo) async fn the_same_post_five_times(stage: &Stage<'_>) -> JobOutcome {
    let job = Job::new(stage, &stage.stacks.main, "same POST five times");
    job.play(Promise::mailed_once("grace@example.com"), async |job, findings| {
        let before = stage.aws.proxy().calls();
        job.line.note("POST /v1/jobs, five times at once");
        let post = || job.post_once("user-2");
        let (a, b, c, d, e) = tokio::join!(post(), post(), post(), post(), post());
        let answers = [a?, b?, c?, d?, e?];
        check_answers(findings, &answers);
        job.ended().await?;
        let calls = stage.aws.proxy().calls().since(&before);
        let sends = calls.about(job.job_id.as_str()).filter(|call| call.operation.starts_with("sqs.SendMessage")).count();
        findings.equal("messages", sends, 1);
        let again = job.post_once("user-2").await?;
        findings.equal("a later POST", (again.0, again.1["status"].as_str()), (202, Some("succeeded")));
        let mut statuses = answers.map(|(status, _)| status);
        statuses.sort_unstable();
        let statuses = statuses.map(|status| status.to_string()).join(" ");
        Ok(format!("{statuses}: one record, {sends} message, {} mail", job.mails()))
    })
    .await
}

/// 202 once the job is known to be enqueued, all with one id; 409 while another request is still about it.
fn check_answers(findings: &mut Findings, answers: &[(u16, Value)]) {
    let accepted = answers.iter().filter(|(status, _)| *status == 202);
    let ids: BTreeSet<_> = accepted.filter_map(|(_, body)| body["jobId"].as_str()).collect();
    findings.equal("job ids", ids.len(), 1);
    let others: Vec<u16> = answers.iter().map(|(status, _)| *status).filter(|status| !matches!(status, 202 | 409)).collect();
    findings.equal("answers beside 202 and 409", others, Vec::new());
}

/// A message that is delivered twice more after completion costs one refused write each time and does nothing.
pub(in crate::demo) async fn delivered_twice_more(stage: &Stage<'_>) -> JobOutcome {
    let job = Job::new(stage, &stage.stacks.main, "delivered twice more");
    job.play(Promise::mailed_once("emmy@example.com"), async |job, findings| {
        job.post("user-3").await?;
        let done = job.when("the job succeeds", |record| record.status == Status::Succeeded).await?;
        job.queue_has_let_go().await?;
        let before = stage.aws.proxy().calls();
        let body = json!({
            "jobId": job.job_id.as_str(), "type": EMAIL, "schemaVersion": 1, "businessId": done.business_id,
            "idempotencyKey": done.idempotency_key, "payload": done.payload,
        });
        job.line.note("its message is delivered twice more");
        for _ in 0..2 {
            stage.send_directly(job.stack, &body.to_string()).await?;
        }
        let about = |operation: &str| {
            let calls = stage.aws.proxy().calls().since(&before);
            calls.about(job.job_id.as_str()).filter(|call| call.operation == operation).count()
        };
        let claims = || about("dynamodb.UpdateItem");
        stage.eventually("both deliveries are looked at", async || (claims() >= 2).then_some(())).await?;
        job.queue_has_let_go().await?;
        findings.equal("writes, all refused", claims(), 2);
        let calls = stage.aws.proxy().calls().since(&before);
        findings.equal("calls in all", calls.about(job.job_id.as_str()).count(), 2);
        unchanged(job, findings, done.updated_at.as_i64()).await?;
        Ok("both skipped: answered from the record".to_owned())
    })
    .await
}

async fn unchanged(job: &Job<'_>, findings: &mut Findings, updated_at: i64) -> Result<(), Missed> {
    // The record is read anew after each call about the job, also after a refused one.
    let now = job.when("the record is still there", |record| record.status == Status::Succeeded).await?;
    findings.equal("the record's last change", now.updated_at.as_i64(), updated_at);
    Ok(())
}
