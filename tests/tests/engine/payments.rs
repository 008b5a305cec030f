//! Charges, counted at a payment provider that others wrote.

use ikkai::idempotency::JobRecord;
use ikkai::job::JobId;
use ikkai_cli::local::proxy::{Ending, Rule};
use serde_json::{Value, json};

use crate::harness::{Lab, on_engine, provider};

const PAYS: &str = "4242424242424242";
const IS_DECLINED: &str = "4000000000000341";
const CHARGE: &str = "http.POST /v1/payment_intents";

/// A charge of 19.99 EUR under a key that is its invoice's name too.
async fn post(lab: &Lab, invoice: &str, card: &str) -> JobId {
    let customer = provider().await.fake.customer(card).await.expect("a customer");
    let job = json!({
        "type": "billing.charge",
        "payload": {"invoiceId": invoice, "customerId": customer},
        "data": {"amount": "19.99", "currency": "EUR"},
    });
    lab.post(invoice, &job).await
}

/// The provider's payments for an invoice.
async fn payments(invoice: &str) -> Vec<Value> {
    let all = provider().await.fake.payments().await.expect("a list");
    all.into_iter().filter(|payment| payment["metadata"]["invoice_id"] == invoice).collect()
}

fn status(record: &JobRecord) -> Option<&str> {
    record.result.as_ref().and_then(|result| result["status"].as_str())
}

#[test]
fn an_approved_charge_is_one_payment_of_the_right_amount() {
    on_engine(async |lab| {
        let invoice = lab.key("approved");
        let record = lab.succeeded(&post(lab, &invoice, PAYS).await).await;
        assert_eq!((status(&record), record.attempts), (Some("succeeded"), 1));
        let payments = payments(&invoice).await;
        assert_eq!(payments.len(), 1);
        assert_eq!((&payments[0]["amount"], &payments[0]["currency"]), (&json!(1_999), &json!("eur")));
        assert_eq!(record.provider_ref.as_deref(), payments[0]["id"].as_str());
        assert_eq!(record.data, None, "what was charged is not kept beside the job");
    });
}

#[test]
fn a_declined_card_is_an_answer_and_not_tried_again() {
    on_engine(async |lab| {
        let invoice = lab.key("declined");
        let job_id = post(lab, &invoice, IS_DECLINED).await;
        let record = lab.succeeded(&job_id).await;
        assert_eq!((status(&record), record.attempts), (Some("declined"), 1));
        lab.let_go(lab.output("BillingQueueName"), job_id.as_str()).await;
        let calls = provider().await.proxy.calls();
        assert_eq!(calls.of(CHARGE).filter(|call| call.job_ids.iter().any(|id| id == job_id.as_str())).count(), 1);
    });
}

#[test]
fn a_charge_whose_answer_was_lost_is_made_once() {
    on_engine(async |lab| {
        let invoice = lab.key("lost");
        let lost = provider().await.proxy.add(Rule::on(CHARGE).text(&invoice).times(1).forward_then_drop());
        let job_id = post(lab, &invoice, PAYS).await;
        let record = lab.succeeded(&job_id).await;
        assert_eq!((lost.hits(), record.attempts, status(&record)), (1, 2, Some("succeeded")));
        let calls = provider().await.proxy.calls();
        let endings: Vec<_> =
            calls.of(CHARGE).filter(|call| call.job_ids.iter().any(|id| id == job_id.as_str())).map(|call| call.ending).collect();
        assert_eq!(endings, [Ending::AnswerLost(200), Ending::Forwarded(200)]);
        assert_eq!(payments(&invoice).await.len(), 1);
    });
}

#[test]
fn a_charged_job_that_is_delivered_again_charges_nothing() {
    on_engine(async |lab| {
        let invoice = lab.key("again");
        let job_id = post(lab, &invoice, PAYS).await;
        let record = lab.succeeded(&job_id).await;
        let body = json!({
            "jobId": job_id.as_str(), "type": "billing.charge", "schemaVersion": 1,
            "idempotencyKey": record.idempotency_key, "payload": record.payload,
        });
        let queue = lab.output("BillingQueueName");
        let before = lab.aws.proxy().calls();
        lab.send_to(queue, &body.to_string()).await;
        lab.eventually("the second claim", async || {
            (lab.aws.proxy().calls().since(&before).about(job_id.as_str()).count() > 0).then_some(())
        })
        .await;
        lab.let_go(queue, job_id.as_str()).await;
        assert_eq!(payments(&invoice).await.len(), 1);
        assert_eq!(lab.record(&job_id).await, Some(record), "the record is untouched");
    });
}
