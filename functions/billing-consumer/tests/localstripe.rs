//! Charges against localstripe, a stateful Stripe that others wrote. Makes its Python environment by itself.

#[path = "scene/fixed_key.rs"]
mod fixed_key;

use std::{sync::Arc, time::Duration};

use billing_consumer::{ApiKeyRing, ApiUrl, BillingHandler, BillingSettings, KeyWindow, StripeGateway};
use fixed_key::FixedKey;
use ikkai::{
    idempotency::Status,
    testing::{Bench, MessageBuilder},
};
use ikkai_cli::{
    local::{
        checkout::Checkout,
        payments::{API_KEY, PaymentsFake},
    },
    progress::Progress,
};
use serde_json::json;

const GOOD: &str = "4242424242424242";
const DECLINED: &str = "4000000000000341";
const GUARDED: &str = "4000002500003155";

async fn provider(test: &str) -> PaymentsFake {
    let checkout = Checkout::find().unwrap();
    let folder = checkout.state().join(format!("test-{test}"));
    PaymentsFake::start(&checkout, &folder, &Progress::silent()).await.unwrap()
}

async fn bench(provider: &PaymentsFake, key: &'static str) -> Bench<BillingHandler> {
    let settings = BillingSettings {
        api_url: ApiUrl::parse(&provider.url()).unwrap(),
        secret_id: "payment-key".to_owned(),
        key_window: KeyWindow::new(Duration::from_secs(82_800)),
        provider_timeout: Duration::from_secs(8),
    };
    let keys = ApiKeyRing::new(Arc::new(FixedKey(key)));
    keys.fetch_at_start().await;
    let gateway = StripeGateway::new(settings.api_url.clone(), keys, settings.provider_timeout);
    Bench::new(BillingHandler::new(Arc::new(gateway), &settings))
}

fn job(name: &str, customer: &str, amount: &str, currency: &str) -> MessageBuilder {
    let payload = json!({"invoiceId": name, "customerId": customer, "amount": amount, "currency": currency});
    MessageBuilder::job(name, "billing.charge", name, payload)
}

async fn ended(bench: &Bench<BillingHandler>, message: &MessageBuilder) -> (Status, serde_json::Value) {
    bench.run_batch([message.build()]).await.unwrap();
    let record = bench.record_of(message).unwrap();
    let told = record.result.unwrap_or_else(|| json!(record.last_error.map(|error| error.code)));
    (record.status, told)
}

#[tokio::test]
async fn every_kind_of_card_ends_as_its_bank_says_and_every_amount_arrives_exactly() {
    let provider = provider("localstripe-cards").await;
    let bench = bench(&provider, API_KEY).await;
    let good = provider.customer(GOOD).await.unwrap();
    for (name, amount, currency, units) in [
        ("a", "19.99", "EUR", 1_999),
        ("b", "0.29", "USD", 29),
        ("c", "500", "JPY", 500),
        ("d", "5", "UGX", 500),
        ("e", "5.12", "KWD", 5_120),
    ] {
        let (status, result) = ended(&bench, &job(name, &good, amount, currency)).await;
        assert_eq!((status, result["status"].as_str()), (Status::Succeeded, Some("succeeded")), "{result}");
        let payment = &provider.payments().await.unwrap()[0];
        assert_eq!(
            (payment["amount"].as_u64(), payment["currency"].as_str()),
            (Some(units), Some(&*currency.to_ascii_lowercase()))
        );
        assert_eq!((payment["status"].as_str(), payment["id"].as_str()), (Some("succeeded"), result["paymentId"].as_str()));
        assert_eq!(payment["metadata"]["invoice_id"], name);
    }
    for (name, card, expected) in [("f", DECLINED, "declined"), ("g", GUARDED, "authentication_required")] {
        let customer = provider.customer(card).await.unwrap();
        let (status, result) = ended(&bench, &job(name, &customer, "19.99", "EUR")).await;
        assert_eq!((status, result["status"].as_str()), (Status::Succeeded, Some(expected)), "{result}");
    }
    assert_eq!(ended(&bench, &job("h", "cus_unknown", "19.99", "EUR")).await, (Status::Dead, json!("unknown_customer")));
}

#[tokio::test]
async fn a_charge_whose_answer_was_lost_is_one_charge_with_the_key_known_and_with_the_key_forgotten() {
    let provider = provider("localstripe-lost").await;
    let bench = bench(&provider, API_KEY).await;
    let customer = provider.customer(GOOD).await.unwrap();
    for (name, later, forget) in [("a", 3_600, false), ("b", 90_000, true)] {
        let message = job(name, &customer, "19.99", "EUR");
        provider.lose_answers(1).await.unwrap();
        assert_eq!(ended(&bench, &message).await, (Status::RetryScheduled, json!("provider_connection_lost")));
        bench.clock.advance(Duration::from_secs(later));
        if forget {
            provider.forget_keys().await.unwrap();
        }
        let (status, result) = ended(&bench, &message.clone().message_id("another")).await;
        assert_eq!((status, result["status"].as_str()), (Status::Succeeded, Some("succeeded")));
        let payments = provider.payments().await.unwrap();
        let mine: Vec<_> = payments.iter().filter(|payment| payment["metadata"]["invoice_id"] == name).collect();
        assert_eq!((mine.len(), mine[0]["id"].as_str()), (1, result["paymentId"].as_str()), "{name}");
    }
}

#[tokio::test]
async fn a_key_that_is_no_secret_key_is_refused_and_nothing_is_charged() {
    let provider = provider("localstripe-key").await;
    let bench = bench(&provider, "pk_not_a_secret_key").await;
    let customer = provider.customer(GOOD).await.unwrap();
    assert_eq!(ended(&bench, &job("a", &customer, "19.99", "EUR")).await, (Status::RetryScheduled, json!("api_key_refused")));
    assert!(provider.payments().await.unwrap().is_empty());
}
