//! Jobs that take longer than the lease that they start with.

use crate::demo::job::{Job, JobOutcome, Promise};
use crate::demo::stage::{LEASE_CHUNK, Stage, in_time};
use crate::local::proxy::Rule;
use crate::screen::seconds;

/// How often the lease must be renewed before the job may go on.
const RENEWALS: u32 = 2;

/// The heartbeat renews lease and visibility for as long as the handler works, so nobody else takes the job.
pub(in crate::demo) async fn longer_than_its_lease(stage: &Stage<'_>) -> JobOutcome {
    let stack = &stage.stacks.long;
    let job = Job::new(stage, stack, "longer than its lease");
    job.play(Promise::mailed_once("hedy@example.com"), async |job, findings| {
        let slow = stage.aws.proxy().add(Rule::on("dynamodb.GetItem").target(stack.contacts_table()).times(1).hold());
        let before = stage.aws.proxy().calls();
        job.post("user-6").await?;
        in_time("the worker looks up the contact", slow.arrived()).await?;
        let began = std::time::Instant::now();
        job.line.note("its contact takes its time");
        let mut lease = job.when("the job has a lease", |record| record.lease_until.is_some()).await?.lease_until;
        for renewal in 1..=RENEWALS {
            lease = job.when("the heartbeat renews the lease", |record| record.lease_until > lease).await?.lease_until;
            job.line.note(&format!("lease and visibility renewed, {renewal}. time"));
        }
        let worked = began.elapsed();
        slow.release();
        let record = job.ended().await?;
        findings.equal("crashes in the record", record.crashes, 0);
        findings.at_least("working time, ms", worked.as_millis(), LEASE_CHUNK.as_millis());
        let calls = stage.aws.proxy().calls().since(&before);
        let ours = calls.calls.iter().filter(|call| call.target.as_deref() == Some(stack.email_queue()));
        let visibility = ours.filter(|call| call.operation.starts_with("sqs.ChangeMessageVisibility")).count();
        findings.at_least("calls that set its visibility", visibility, RENEWALS as usize);
        Ok(format!("worked {} on a lease of {}: renewed {RENEWALS} times", seconds(worked), seconds(LEASE_CHUNK)))
    })
    .await
}
