//! The payment provider is down for longer than the queue allows receives, and the others go on.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;

use super::super::findings::Missed;
use super::super::scene::{Scene, SceneOutcome, works};
use super::super::stage::{DEFERRAL, MAX_RECEIVES, Stage, welcome};
use super::charges::{PAYS, charge};

/// Charges that wait.
const INVOICES: [&str; 3] = ["invoice-outage-1", "invoice-outage-2", "invoice-outage-3"];

/// Nothing is lost, nothing is charged twice, and nobody else waits.
pub(super) async fn outlived(stage: &Stage<'_>) -> SceneOutcome {
    let scene = Scene::new(stage, &stage.stacks.long, "provider down for long");
    scene
        .play(async |scene, notes| {
            let provider = stage.provider()?;
            let customer = provider.customer(PAYS).await?;
            provider.door.refuse_connections().await;
            let before = stage.aws.proxy().calls();
            let mut charges = Vec::new();
            for invoice in INVOICES {
                charges.push(scene.post(invoice, &charge(invoice, &customer)).await?);
            }
            scene.line.note("connections to the payment provider are refused");
            let began = Instant::now();
            let others = others(scene).await?;
            let others_done = began.elapsed();

            let least = DEFERRAL * MAX_RECEIVES + Duration::from_secs(1);
            tokio::time::sleep(least.saturating_sub(began.elapsed())).await;
            let sent_again = || {
                let calls = stage.aws.proxy().calls().since(&before);
                let sends = charges.iter().map(|job_id| {
                    let calls = calls.about(job_id.as_str()).filter(|call| call.operation.starts_with("sqs.SendMessage"));
                    calls.count().saturating_sub(1)
                });
                sends.sum::<usize>()
            };
            // A renewal shows that the receives ran low: only then was the provider away for longer than they last.
            let renewed = async || (sent_again() > 0).then_some(());
            scene.stage.eventually("a message of a charge was renewed", renewed).await?;
            let mut unpaid = 0;
            for job_id in &charges {
                unpaid += usize::from(scene.record(job_id).await.is_some_and(|record| !record.status.is_final()));
            }
            notes.findings.equal("charges that still wait at the end of the outage", unpaid, INVOICES.len());
            provider.door.accept_connections().await;
            let outage = began.elapsed();
            scene.line.note("the provider is back");

            for (job_id, invoice) in charges.iter().zip(INVOICES) {
                scene.succeeded(job_id).await?;
                notes.findings.equal(&format!("payments for {invoice}"), provider.payments_of(invoice).await?.len(), 1);
            }
            scene.drained("BillingQueueName").await?;
            let dead = scene.stack.queue_counts(scene.output("BillingDeadLetterQueueName")?).await;
            notes.findings.equal("dead letters", works("the queues can be read", dead)?.all(), 0);
            let renewals = sent_again();
            notes.findings.at_least("renewals of their messages", renewals, 1);
            notes.figure("outageSeconds", outage.as_secs_f64());
            notes.figure("othersDoneAfterSeconds", others_done.as_secs_f64());
            notes.figure("renewals", renewals);
            Ok(format!(
                "{:.0} s down, {MAX_RECEIVES} receives allowed: {} charges, once each; {others} other jobs done meanwhile",
                outage.as_secs_f64(),
                INVOICES.len(),
            ))
        })
        .await
}

/// A mail, pictures and a report, on the same stack. Returns how many there are once they are done.
async fn others(scene: &Scene<'_>) -> Result<usize, Missed> {
    let photograph: Bytes = works("the photograph can be read", scene.stage.photograph())?;
    let stored = scene.bucket("AssetsBucketName")?.put("uploads/outage.jpg", photograph).await;
    works("the original is stored", stored)?;
    let picture = json!({"type": "image.resize", "payload": {"assetId": "outage.jpg", "sizes": [64], "formats": ["webp"]}});
    let report = json!({"reportId": "outage", "accountId": "account-outage", "period": "2026-01"});
    let report = json!({"type": "report.generate", "accountId": "account-outage", "payload": report});
    let jobs = [("outage-mail", welcome("user-13", "outage-mail")), ("outage-picture", picture), ("outage-report", report)];
    let mut posted = Vec::new();
    for (key, job) in &jobs {
        posted.push(scene.post(key, job).await?);
    }
    for job_id in &posted {
        scene.succeeded(job_id).await?;
    }
    Ok(posted.len())
}
