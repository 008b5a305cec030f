//! Nothing goes wrong.

use std::cell::RefCell;

use crate::demo::calls::NormalJob;
use crate::demo::job::{Job, JobOutcome, Promise};
use crate::demo::stage::Stage;

/// A posted job becomes one mail. Played alone, so that all calls meanwhile are its own.
pub(in crate::demo) async fn a_normal_job(stage: &Stage<'_>) -> (JobOutcome, Option<NormalJob>) {
    let measured = RefCell::new(None);
    let job = Job::new(stage, &stage.stacks.main, "normal job");
    let outcome = job
        .play(Promise::mailed_once("arthur@example.com"), async |job, findings| {
            let before = stage.aws.proxy().calls();
            job.post("user-42").await?;
            job.ended().await?;
            job.queue_has_let_go().await?;
            let calls = stage.aws.proxy().calls().since(&before);
            let normal = NormalJob::measure(job, &calls).await?;
            let usage = &normal.usage;
            findings.equal("writes of the record", usage.writes, 4);
            findings.equal("reads of the jobs table", normal.reads_of_jobs, 0);
            findings.equal("messages", usage.sends, 1);
            let story = format!("{} writes, {} message, {} mail", usage.writes, usage.sends, usage.mails);
            measured.replace(Some(normal));
            Ok(story)
        })
        .await;
    (outcome, measured.into_inner())
}
