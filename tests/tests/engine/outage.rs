//! A provider that is down for long holds up nobody else and kills no job.

use std::time::{Duration, Instant};

use ikkai_cli::local::proxy::Proxy;
use serde_json::json;

use crate::harness::{block_on, on_stack, provider};

/// Receives that the queue allows, times the longest deferral, and a little more, on a machine with nothing else to do.
const LONGER_THAN_THE_RECEIVES_LAST: Duration = Duration::from_secs(6);

#[test]
fn charges_outlive_a_provider_that_refuses_connections_and_mails_go_on_meanwhile() {
    // A stack must know its provider before it is deployed.
    let door = block_on(async || Proxy::start(provider().await.fake.address()).await.expect("a proxy"));
    let url = door.url();
    let parameters = [("PaymentApiUrl", url.as_str()), ("CircuitFailures", "2")];
    on_stack("outage", &parameters, async |lab| {
        let provider = provider().await;
        let customer = provider.fake.customer("4242424242424242").await.expect("a customer");
        door.refuse_connections().await;
        let (began, before) = (Instant::now(), lab.aws.proxy().calls());
        let mut charges = Vec::new();
        for _ in 0..3 {
            let invoice = lab.key("outage");
            let job = json!({
                "type": "billing.charge", "payload": {"invoiceId": invoice, "customerId": customer},
                "data": {"amount": "5.00", "currency": "EUR"},
            });
            charges.push((lab.post(&invoice, &job).await, invoice));
        }
        // The provider is still away when the mail is sent: nothing waits for it but its own jobs.
        let mail = lab.post_mail("meanwhile", "user-1").await;
        lab.succeeded(&mail).await;
        tokio::time::sleep(LONGER_THAN_THE_RECEIVES_LAST.saturating_sub(began.elapsed())).await;
        let sends = |id: &str| {
            let calls = lab.aws.proxy().calls().since(&before);
            calls.about(id).filter(|call| call.operation.starts_with("sqs.SendMessage")).count()
        };
        // A renewal shows that the receives ran low: only then did the provider stay away for longer than they last.
        let renewed = async || charges.iter().any(|(job_id, _)| sends(job_id.as_str()) >= 2).then_some(());
        lab.eventually("a message was renewed", renewed).await;
        for (job_id, _) in &charges {
            let record = lab.record(job_id).await.expect("a record");
            assert!(!record.status.is_final(), "{job_id} still waits: {:?}", record.last_error);
        }
        door.accept_connections().await;
        for (job_id, invoice) in &charges {
            lab.succeeded(job_id).await;
            let payments = provider.fake.payments().await.expect("a list");
            let of_invoice = payments.iter().filter(|payment| payment["metadata"]["invoice_id"] == invoice.as_str());
            assert_eq!(of_invoice.count(), 1);
        }
        let dead = lab.stack.messages(lab.output("BillingDeadLetterQueueName")).await.expect("the engine answers");
        assert!(dead.is_empty(), "{dead:?}");
    });
}
