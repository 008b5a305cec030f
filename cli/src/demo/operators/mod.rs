//! The operators: what failed is listed with its reasons, mended, and put back; what must not run again does not.
//!
//! One story, told step by step on a stack of its own. Every answer of the redrive function is compared with what the function does not share:
//! the engine's queues, the jobs table, the mailbox.

mod desk;
mod doubts;
mod hopeless;
mod mended;
mod step;

use std::collections::BTreeMap;

use ikkai::idempotency::JobRecord;
use ikkai::job::JobId;
use serde_json::Value;

pub(super) use self::step::StepOutcome;

use self::desk::Desk;
use self::step::Steps;
use super::findings::Missed;
use super::scene::{Scene, works};
use super::stage::{Stage, scaled_and, welcome};

/// Rounds after which a job is put back no more. Two, so that the demo need not wait for ten.
const MAX_REDRIVES: u32 = 2;

/// Users that are not in the contacts table yet.
const NEWCOMERS: [&str; 3] = ["newcomer-1", "newcomer-2", "newcomer-3"];

/// A user that never will be.
const NOBODY: &str = "nobody-ever";

/// Whose mails the provider takes without an answer that gets through, and whose it never sees.
const MAILED_UNHEARD: &str = "user-21";
const NEVER_MAILED: &str = "user-34";

/// The story's jobs.
struct Cast {
    newcomers: Vec<JobId>,
    nobody: JobId,
    mailed_unheard: JobId,
    never_mailed: JobId,
}

/// The stack, who asks, and the jobs.
struct Story<'a> {
    scene: &'a Scene<'a>,
    desk: &'a Desk,
}

/// Plays the story. Tells its steps, and what is left in the stack's dead-letter queue.
pub(super) async fn play(stage: &Stage<'_>) -> (Vec<StepOutcome>, Vec<(String, usize)>) {
    let mut steps = Steps::new(stage);
    let mut dead_letters = Vec::new();
    if let Err(missed) = on_a_stack_of_its_own(stage, &mut steps, &mut dead_letters).await {
        steps.missed(missed);
    }
    (steps.told(), dead_letters)
}

async fn on_a_stack_of_its_own(
    stage: &Stage<'_>,
    steps: &mut Steps<'_>,
    dead_letters: &mut Vec<(String, usize)>,
) -> Result<(), Missed> {
    let rounds = MAX_REDRIVES.to_string();
    let parameters: BTreeMap<_, _> = scaled_and(&[("MaxRedrives", &rounds), ("EmailBatchSize", "1")]);
    let stack = works("a stack for operators is deployed", stage.aws.deploy("ikkai-operators", &parameters).await)?;
    let scene = &Scene::new(stage, &stack, "operators");
    let desk = &Desk::of(stage.aws, &stack)?;
    let story = Story { scene, desk };
    let told = story.told(steps).await;
    dead_letters.push((stack.email_dead_letter_queue().to_owned(), story.dead_letters().await?));
    told
}

impl Story<'_> {
    async fn told(&self, steps: &mut Steps<'_>) -> Result<(), Missed> {
        let story = self;
        let cast = steps.step("jobs fail", async |notes| story.jobs_fail(notes).await).await?;
        steps.step("listed with reasons", async |notes| story.listed(notes).await).await?;
        steps.step("dry run", async |notes| story.dry_run(&cast, notes).await).await?;
        steps.step("contact fixed", async |notes| story.contacts_fixed(notes).await).await?;
        steps.step("canary, then the rest", async |notes| story.put_back(&cast, notes).await).await?;
        steps.step("succeeded meanwhile", async |notes| story.succeeded_meanwhile(&cast, notes).await).await?;
        steps.step("in doubt, resolved as done", async |notes| story.resolved_as_done(&cast, notes).await).await?;
        steps.step("in doubt, resolved to run again", async |notes| story.resolved_to_run_again(&cast, notes).await).await?;
        steps.step("hopeless, quarantined", async |notes| story.quarantined(&cast, notes).await).await?;
        steps.step("discarded, archived first", async |notes| story.discarded(&cast, notes).await).await?;
        steps.step("history", async |notes| story.history(notes).await).await
    }

    /// Messages in the dead-letter queue, as the engine counts them.
    async fn dead_letters(&self) -> Result<usize, Missed> {
        let counts = self.scene.stack.queue_counts(self.scene.stack.email_dead_letter_queue()).await;
        Ok(works("the dead-letter queue can be read", counts)?.all())
    }

    /// Posts a welcome mail to a user.
    async fn post(&self, user: &str) -> Result<JobId, Missed> {
        let key = format!("operators:{user}");
        self.scene.post(&key, &welcome(user, &format!("operators-{user}"))).await
    }

    /// Mails that the engine took for a job, as the proxy counts them.
    fn mails(&self, job_id: &JobId) -> u64 {
        self.scene.stage.aws.proxy().effects_of(job_id.as_str())
    }

    async fn record(&self, job_id: &JobId) -> Result<JobRecord, Missed> {
        let found = self.scene.record(job_id).await;
        found.ok_or_else(|| Missed { what: format!("{job_id} has a record"), found: "none".into() })
    }
}

/// A number in an answer.
fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
