//! Jobs that nobody can do.

use ikkai::idempotency::{ErrorClass, Status};
use ikkai::job::JobId;

use crate::demo::findings::Findings;
use crate::demo::job::{Job, JobOutcome, Promise};
use crate::demo::stage::{Stage, email_type};

/// A text that is in the broken body and must not get into its reason.
const MARK: &str = "nobody-in-particular";

/// A user that is not there is a permanent error: one attempt, no mail, the dead-letter queue.
pub(in crate::demo) async fn an_unknown_user(stage: &Stage<'_>) -> JobOutcome {
    let job = Job::new(stage, &stage.stacks.main, "unknown user");
    let promise = Promise { status: Status::Dead, attempts: 1, mails: 0, reason: Some("unknown_user"), address: None };
    job.play(promise, async |job, _| {
        job.post("nobody").await?;
        job.ended().await?;
        job.line.note("on its way to the dead-letter queue");
        let receives = job.dead_lettered().await?;
        Ok(format!("tried once; DLQ after {receives} receives"))
    })
    .await
}

/// A message that is no job is recorded under its own id.
pub(in crate::demo) async fn a_broken_body(stage: &Stage<'_>) -> JobOutcome {
    let stack = &stage.stacks.main;
    let body = format!(r#"{{"type":"email.send","payload":{{"userId":"{MARK}""#);
    let message_id = match stage.send_directly(stack, &body).await {
        Ok(message_id) => message_id,
        Err(missed) => {
            let mut findings = Findings::default();
            findings.missed(&missed);
            missed.what
        }
    };
    let job = Job::of_message(stage, stack, "broken body", JobId::for_message(&email_type(), &message_id), MARK);
    let promise = Promise { status: Status::Dead, attempts: 0, mails: 0, reason: Some("body_not_json"), address: None };
    job.play(promise, async |job, findings| {
        job.line.note("sent past the API");
        let record = job.ended().await?;
        job.line.note("on its way to the dead-letter queue");
        let reason = record.last_error.as_ref();
        findings.equal("class of the reason", reason.map(|reason| reason.class), Some(ErrorClass::Poison));
        findings.equal("text of the body in the reason", reason.is_some_and(|reason| reason.message.contains(MARK)), false);
        let receives = job.dead_lettered().await?;
        let held = stage.messages_with(job.stack, job.stack.email_dead_letter_queue(), MARK).await;
        let same = held.first().is_some_and(|message| message.message_id == message_id);
        findings.equal("the same message id in the dead-letter queue", same, true);
        Ok(format!("recorded under its message id; DLQ after {receives} receives"))
    })
    .await
}
