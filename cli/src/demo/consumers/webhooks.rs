//! The end of a job, told to whoever asked for it.

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde_json::Value;

use super::super::findings::Missed;
use super::super::scene::{Notes, Scene, SceneOutcome, works};
use super::super::stage::{CALLER, Stage, welcome};
use crate::local::receiver::{Delivery, Receiver, caller_key, verify};
use crate::local::secrets::secret_text;

const GOOD: &str = "/hooks/good";
const FLAKY: &str = "/hooks/flaky";

/// How often the flaky receiver fails.
const FAILURES: usize = 2;

/// One receiver takes its event at once, another one only after it failed twice.
pub(super) async fn told(stage: &Stage<'_>) -> SceneOutcome {
    let scene = Scene::new(stage, &stage.stacks.main, "webhooks");
    scene
        .play(async |scene, notes| {
            let receiver = works("a receiver listens", Receiver::start().await)?;
            receiver.answer(FLAKY, 503, FAILURES);
            let mut ids = Vec::new();
            for (path, key) in [(GOOD, "told"), (FLAKY, "told-later")] {
                let mut job = welcome("user-13", key);
                job["callbackUrl"] = receiver.url(path).into();
                ids.push(scene.post(key, &job).await?);
            }
            for (path, job_id, deliveries) in [(GOOD, &ids[0], 1), (FLAKY, &ids[1], FAILURES + 1)] {
                scene.succeeded(job_id).await?;
                let what = format!("{path} gets its event");
                let taken = || receiver.deliveries(path).iter().any(|delivery| delivery.answered == 204);
                stage.eventually(&what, async || taken().then_some(())).await?;
                notes.findings.equal(&format!("deliveries to {path}"), receiver.deliveries(path).len(), deliveries);
            }
            scene.drained("WebhookQueueName").await?;
            let all = [receiver.deliveries(GOOD), receiver.deliveries(FLAKY)];
            check_events(scene, notes, &ids, &all).await?;
            Ok(format!("2 events, signed; one at once, one after {FAILURES} × 503 under the same id"))
        })
        .await
}

async fn check_events(
    scene: &Scene<'_>,
    notes: &mut Notes,
    jobs: &[ikkai::job::JobId],
    all: &[Vec<Delivery>],
) -> Result<(), Missed> {
    let secret = secret_text(scene.stage.aws.address(), scene.output("WebhookSecretId")?).await;
    let secret = works("the signing secret can be read", secret)?;
    let secret: Value = serde_json::from_str(&secret).unwrap_or_default();
    let key = caller_key(secret["current"].as_str().unwrap_or_default(), &format!("local:{CALLER}"));
    let signed = |delivery: &Delivery| {
        let signature = delivery.header("ikkai-signature").unwrap_or_default();
        verify(signature, &delivery.body, &key, SystemTime::now())
    };
    let deliveries: Vec<&Delivery> = all.iter().flatten().collect();
    let believed = deliveries.iter().filter(|delivery| signed(delivery).is_ok()).count();
    notes.findings.equal("deliveries with a right signature", believed, deliveries.len());
    let forged = deliveries.iter().filter(|delivery| {
        let changed = Delivery { body: [delivery.body.as_ref(), b" "].concat().into(), ..(**delivery).clone() };
        signed(&changed).is_ok()
    });
    notes.findings.equal("of them with a changed body", forged.count(), 0);
    let ids: Vec<BTreeSet<&str>> =
        all.iter().map(|all| all.iter().filter_map(|delivery| delivery.header("ikkai-event-id")).collect()).collect();
    notes.findings.equal("event ids of each job", ids.iter().map(BTreeSet::len).collect::<Vec<_>>(), vec![1; jobs.len()]);
    let distinct: BTreeSet<&str> = ids.iter().flatten().copied().collect();
    notes.findings.equal("event ids of all jobs", distinct.len(), jobs.len());
    for (job_id, deliveries) in jobs.iter().zip(all) {
        let told = deliveries.iter().all(|delivery| {
            let event = delivery.json();
            event["jobId"] == job_id.as_str() && event["type"] == "job.succeeded" && event["status"] == "succeeded"
        });
        notes.findings.check(format!("every event tells that {job_id} succeeded"), format!("{} events", deliveries.len()), told);
    }
    notes.figure("deliveries", deliveries.len());
    Ok(())
}
