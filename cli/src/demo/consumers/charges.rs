//! Charges: approved, declined, and one whose answer is lost.

use serde_json::{Value, json};

use super::super::findings::Missed;
use super::super::scene::{Notes, Scene, SceneOutcome};
use super::super::stage::Stage;
use super::provider::Provider;
use crate::local::proxy::Rule;

/// What asks the provider to charge.
const CHARGE: &str = "http.POST /v1/payment_intents";

/// Test cards (<https://docs.stripe.com/testing>).
pub(super) const PAYS: &str = "4242424242424242";
const IS_DECLINED: &str = "4000000000000341";

/// What a charge is promised to end as.
struct Promise {
    invoice: &'static str,
    /// In its job's result.
    status: &'static str,
    attempts: u32,
}

const LOST: Promise = Promise { invoice: "invoice-lost", status: "succeeded", attempts: 2 };
const APPROVED: Promise = Promise { invoice: "invoice-approved", status: "succeeded", attempts: 1 };
const DECLINED: Promise = Promise { invoice: "invoice-declined", status: "declined", attempts: 1 };

/// Each job is one payment at the provider, whatever happens on the way.
pub(super) async fn paid(stage: &Stage<'_>) -> SceneOutcome {
    let scene = Scene::new(stage, &stage.stacks.main, "charges");
    scene
        .play(async |scene, notes| {
            let provider = stage.provider()?;
            let (good, bad) = (provider.customer(PAYS).await?, provider.customer(IS_DECLINED).await?);
            let losing = Rule::on(CHARGE).text(LOST.invoice).times(1).forward_then_drop();
            let losing = provider.front.add(losing);
            let lost = scene.post(LOST.invoice, &charge(LOST.invoice, &good)).await?;
            let approved = scene.post(APPROVED.invoice, &charge(APPROVED.invoice, &good)).await?;
            let declined = scene.post(DECLINED.invoice, &charge(DECLINED.invoice, &bad)).await?;
            for (job_id, promise) in [(&approved, &APPROVED), (&declined, &DECLINED), (&lost, &LOST)] {
                let record = scene.succeeded(job_id).await?;
                notes.findings.equal(&format!("attempts for {}", promise.invoice), record.attempts, promise.attempts);
                check(provider, notes, promise, &record.result.unwrap_or_default()).await?;
            }
            notes.findings.equal("answers that were lost", losing.hits(), 1);
            // Nobody tries a declined card again.
            scene.drained("BillingQueueName").await?;
            let calls = provider.front.calls();
            let tries = calls.of(CHARGE).filter(|call| call.job_ids.iter().any(|id| id == declined.as_str())).count();
            notes.findings.equal("requests to charge the declined card", tries, 1);
            Ok("approved, declined, answer lost: 3 jobs, 3 payments at the provider".to_owned())
        })
        .await
}

/// A charge of 19.99 EUR.
pub(super) fn charge(invoice: &str, customer: &str) -> Value {
    json!({
        "type": "billing.charge",
        "businessId": invoice,
        "payload": {"invoiceId": invoice, "customerId": customer},
        "data": {"amount": "19.99", "currency": "EUR"},
    })
}

/// Compares the job's result with the provider's books.
async fn check(provider: &Provider, notes: &mut Notes, promise: &Promise, result: &Value) -> Result<(), Missed> {
    let invoice = promise.invoice;
    let payments = provider.payments_of(invoice).await?;
    notes.findings.equal(&format!("payments at the provider for {invoice}"), payments.len(), 1);
    notes.findings.equal(&format!("status of {invoice}"), result["status"].as_str(), Some(promise.status));
    let Some(payment) = payments.first() else { return Ok(()) };
    notes.findings.equal(&format!("what {invoice} costs"), (payment.amount, payment.currency.as_str()), (1_999, "eur"));
    notes.findings.equal(
        &format!("{invoice} is paid at the provider"),
        payment.status == "succeeded",
        promise.status == "succeeded",
    );
    if promise.status == "succeeded" {
        notes.findings.equal(
            &format!("the job of {invoice} knows its payment"),
            result["paymentId"] == payment.id.as_str(),
            true,
        );
    }
    notes.figure(&format!("payments of {invoice}"), payments.len());
    Ok(())
}
