//! The mail provider has trouble.

use std::time::Duration;

use ikkai::clock::EpochMillis;
use ikkai::idempotency::JobRecord;

use crate::demo::findings::Missed;
use crate::demo::job::{Job, JobOutcome, Promise};
use crate::demo::stage::{BACKOFF_BASE, MAX_RECEIVES, Stage, in_time};
use crate::local::proxy::{Call, Rule};
use crate::screen::seconds;

/// Deferrals of the provider that is down: more than the queue allows receives.
const DEFERRALS: u32 = MAX_RECEIVES + 3;

/// The first try fails and surely sent nothing; the second succeeds after the backoff.
pub(in crate::demo) async fn a_flaky_provider(stage: &Stage<'_>) -> JobOutcome {
    let job = Job::new(stage, &stage.stacks.main, "flaky provider");
    let promise = Promise { attempts: 2, ..Promise::mailed_once("zoe@example.com") };
    job.play(promise, async |job, findings| {
        let fault = Rule::on("ses.SendEmail").job(job.job_id.as_str()).times(1);
        let fault = stage.aws.proxy().add(fault.answer(500, "InternalFailure", "something broke"));
        job.post("user-7").await?;
        let waits_or_ended = |record: &JobRecord| record.retry_at.is_some() || record.status.is_final();
        let waiting = job.when("the job waits for its second try", waits_or_ended).await?;
        let Some(due) = waiting.retry_at else {
            return Err(Missed { what: "the job waits for its second try".into(), found: waiting.status.to_string() });
        };
        let planned = due.since(waiting.updated_at);
        job.line.note(&format!("the provider answered 500; due again in {}", seconds(planned)));
        job.ended().await?;

        findings.equal("failed answers", fault.hits(), 1);
        let tries = mails_of(stage, job);
        findings.equal("calls to the provider", tries.len(), 2);
        let [first, second] = tries.as_slice() else { return Ok(String::new()) };
        let waited = second.at.duration_since(first.at).unwrap_or_default();
        findings.at_least("time between the two tries, ms", waited.as_millis(), planned.as_millis());
        findings.check(
            format!("a backoff of at most {}", seconds(BACKOFF_BASE)),
            seconds(planned),
            planned <= BACKOFF_BASE + Duration::from_millis(1),
        );
        let second_at = second.at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let second_at = EpochMillis::from_u64(u64::try_from(second_at.as_millis()).unwrap_or(u64::MAX));
        findings.at_least("the second try is not early", second_at, due);
        Ok(format!("500, then taken {} later (backoff was {})", precise(waited), precise(planned)))
    })
    .await
}

/// Down for longer than the queue allows receives: deferrals use up no attempts, and the message is renewed before SQS would move it.
pub(in crate::demo) async fn a_provider_that_is_down(stage: &Stage<'_>) -> JobOutcome {
    let job = Job::new(stage, &stage.stacks.main, "provider down");
    job.play(Promise::mailed_once("jo@example.com"), async |job, findings| {
        let down = Rule::on("ses.SendEmail").job(job.job_id.as_str()).times(DEFERRALS);
        let down = stage.aws.proxy().add(down.answer(503, "ServiceUnavailable", "down for maintenance"));
        let before = stage.aws.proxy().calls();
        job.post("user-21").await?;
        let watching = async {
            for deferral in 1..=DEFERRALS {
                down.arrived_times(deferral).await;
                job.line.note(&format!("the provider answered 503 ({deferral} of {DEFERRALS}); put off"));
            }
        };
        let (_, ended) = tokio::join!(in_time("the provider is asked again and again", watching), job.ended());
        ended?;
        findings.equal("deferrals", down.hits(), DEFERRALS);
        let calls = stage.aws.proxy().calls().since(&before);
        let sends = calls.about(job.job_id.as_str()).filter(|call| call.operation.starts_with("sqs.SendMessage")).count();
        let renewals = sends.saturating_sub(1);
        findings.at_least("renewals of the message", renewals, 1);
        let tries = mails_of(stage, job);
        let outage = match (tries.first(), tries.last()) {
            (Some(first), Some(last)) => last.at.duration_since(first.at).unwrap_or_default(),
            _ => Duration::ZERO,
        };
        let times = if renewals == 1 { "once".to_owned() } else { format!("{renewals} times") };
        Ok(format!("{DEFERRALS} × 503 in {}, {MAX_RECEIVES} receives allowed: renewed {times}", seconds(outage)))
    })
    .await
}

/// The calls to the provider about a job, oldest first.
fn mails_of(stage: &Stage<'_>, job: &Job<'_>) -> Vec<Call> {
    let calls = stage.aws.proxy().calls();
    calls.about(job.job_id.as_str()).filter(|call| call.operation == "ses.SendEmail").cloned().collect()
}

fn precise(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
