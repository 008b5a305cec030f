//! Workers that are killed. Each scene has a stack of its own, so that nobody else's worker dies with it.

use ikkai::clock::{Clock, SystemClock};
use ikkai::idempotency::{JobRecord, Status};

use crate::demo::findings::{Findings, Missed};
use crate::demo::job::{Job, JobOutcome, Promise};
use crate::demo::stage::{Stage, in_time};
use crate::local::proxy::{Rule, RuleHandle};
use crate::screen::seconds;

/// Killed while it looks up the contact: nothing happened yet, so the job runs again when the lease is over.
pub(in crate::demo) async fn killed_before_its_mail(stage: &Stage<'_>) -> JobOutcome {
    let stack = &stage.stacks.killed_before;
    let job = Job::new(stage, stack, "killed before its mail");
    let promise = Promise { attempts: 2, ..Promise::mailed_once("katherine@example.com") };
    job.play(promise, async |job, findings| {
        let contact = Rule::on("dynamodb.GetItem").target(stack.contacts_table()).times(1).hold();
        let contact = stage.aws.proxy().add(contact);
        job.post("user-4").await?;
        in_time("the worker looks up the contact", contact.arrived()).await?;
        findings.equal("mails before the kill", job.mails(), 0);
        let killed = SystemClock.now();
        kill(stage, job, findings, &contact).await?;
        let record = job.ended().await?;
        findings.equal("crashes in the record", record.crashes, 1);
        let took = SystemClock.now().since(killed);
        Ok(format!("SIGKILL; run again when its lease was over ({})", seconds(took)))
    })
    .await
}

/// Killed when the provider had taken the mail: nobody can know, so it is kept for an operator and not sent again.
pub(in crate::demo) async fn killed_after_its_mail(stage: &Stage<'_>) -> JobOutcome {
    let stack = &stage.stacks.killed_after;
    let job = Job::new(stage, stack, "killed after its mail");
    let promise = Promise {
        status: Status::InDoubt,
        reason: Some("lease_ended_after_effect_began"),
        ..Promise::mailed_once("barbara@example.com")
    };
    job.play(promise, async |job, findings| {
        let sent = Rule::on("ses.SendEmail").job(job.job_id.as_str()).times(1).forward_then_hold();
        let sent = stage.aws.proxy().add(sent);
        job.post("user-5").await?;
        in_time("the worker sends its mail", sent.arrived()).await?;
        stage.eventually("the provider takes the mail", async || (job.mails() == 1).then_some(())).await?;
        kill(stage, job, findings, &sent).await?;
        let record = job.ended().await?;
        findings.equal("crashes in the record", record.crashes, 1);
        findings.equal("the effect had begun", record.effect_begun, true);
        job.dead_lettered().await?;
        Ok("SIGKILL; the mail was out, so it is not sent again".to_owned())
    })
    .await
}

async fn kill(stage: &Stage<'_>, job: &Job<'_>, findings: &mut Findings, held: &RuleHandle) -> Result<JobRecord, Missed> {
    let killed = stage.aws.kill_function(job.stack.email_consumer());
    findings.at_least("killed workers", killed, 1);
    job.line.note("its worker was killed (SIGKILL); the lease goes on");
    held.release();
    job.when("the killed worker's lease stays", |record| record.lease_until.is_some()).await
}
