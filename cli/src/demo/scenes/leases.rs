//! Jobs that take longer than the lease that they start with.

use crate::demo::job::{Job, JobOutcome, Promise};
use crate::demo::stage::{LEASE_CHUNK, Stage, in_time};
use crate::local::proxy::Rule;
use crate::screen::seconds;

/// The heartbeat renews lease and visibility for as long as the handler works, so nobody else takes the job.
pub(in crate::demo) async fn longer_than_its_lease(stage: &Stage<'_>) -> JobOutcome {
    let stack = &stage.stacks.long;
    let job = Job::new(stage, stack, "longer than its lease");
    job.play(Promise::mailed_once("hedy@example.com"), async |job, findings| {
        // Held for as long as it takes: the SDK gives up an attempt after a while and makes another.
        let slow = stage.aws.proxy().add(Rule::on("dynamodb.GetItem").target(stack.contacts_table()).hold());
        let before = stage.aws.proxy().calls();
        job.post("user-6").await?;
        in_time("the worker looks up the contact", slow.arrived()).await?;
        let began = std::time::Instant::now();
        job.line.note("its contact takes its time");
        let leased = job.when("the job has a lease", |record| record.lease_until.is_some()).await?;
        let mut until = leased.lease_until.unwrap_or(leased.updated_at);
        // Renewed by more than a whole chunk: by then the first lease is long over.
        let enough = until + LEASE_CHUNK + LEASE_CHUNK / 2;
        while until < enough {
            let renewed = job.when("the heartbeat renews the lease", |record| record.lease_until > Some(until)).await?;
            until = renewed.lease_until.unwrap_or(enough);
            job.line.note(&format!("still at work after {}: lease and visibility renewed", seconds(began.elapsed())));
        }
        let worked = began.elapsed();
        let calls = stage.aws.proxy().calls().since(&before);
        // One of them is the claim.
        let writes = calls.about(job.job_id.as_str()).filter(|call| call.operation == "dynamodb.UpdateItem").count();
        let renewals = writes.saturating_sub(1);
        slow.release();
        let record = job.ended().await?;
        findings.equal("crashes in the record", record.crashes, 0);
        findings.at_least("working time, ms", worked.as_millis(), LEASE_CHUNK.as_millis());
        findings.at_least("renewals of the lease", renewals, 2);
        let ours = calls.calls.iter().filter(|call| call.target.as_deref() == Some(stack.email_queue()));
        let visibility = ours.filter(|call| call.operation.starts_with("sqs.ChangeMessageVisibility")).count();
        findings.at_least("renewals of the visibility", visibility, 2);
        Ok(format!("worked {} on a lease of {}: renewed {renewals} times", seconds(worked), seconds(LEASE_CHUNK)))
    })
    .await
}
