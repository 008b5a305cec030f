//! Whatever happens to a charge, neither the key nor money nor people are written down, at any level.

mod provider;
mod scene;

use ikkai::{
    idempotency::JobRecord,
    observability::logs::{LevelSetting, LogSetup, capture::Captured},
};
use provider::{Card, Fault};
use scene::{Scene, charge};
use serde_json::{Value, json};

/// Each is there in one spelling only, so that a search finds it. The amount also as the provider counts it.
const PRIVATE: [&str; 7] = ["77.13", "7713", "sk_test_good", "cus_zoe", "inv-zoe", "Zoe Private", "pm_of_"];

fn logs() -> Captured {
    Captured::start(LogSetup::new(LevelSetting::Trace).own_crate("billing_consumer"))
}

async fn run(fault: Option<Fault>, reading: Option<Fault>, data: Value) -> String {
    let scene = Scene::new().await;
    scene.provider.payments(|payments| payments.customer("cus_zoe", Card::Good));
    let message = charge("job-1", json!({"invoiceId": "inv-zoe", "customerId": "cus_zoe"}));
    scene.accept(&message, data);
    fault.into_iter().for_each(|fault| scene.provider.fail_next(fault));
    reading.into_iter().for_each(|fault| scene.provider.fail_next_reading(fault));
    let logs = logs();
    let report = scene.deliver(&message).await;
    let record = scene.record(&message);
    // The result is the caller's to read; the payload and the data are what was asked for; the progress names the card, for the next run alone.
    let record = JobRecord { data: None, payload: None, result: None, progress: None, ..record };
    assert!(!logs.lines().is_empty());
    format!("{record:?}\n{report:?}\n{}", logs.lines().join("\n"))
}

#[tokio::test]
async fn no_answer_of_the_provider_brings_anything_private_into_logs_or_records() {
    let said = json!({"error": {
        "type": "card_error", "code": "Zoe Private", "decline_code": "No cus_zoe", "param": "cus_zoe",
        "message": "No such customer: 'cus_zoe' (Zoe Private), amount 77.13, key sk_test_good"
    }});
    let answers = [200, 302, 400, 401, 402, 403, 404, 409, 429, 500].map(|status| Fault::Answer(status, vec![], said.clone()));
    let others = [
        Fault::LoseAnswer,
        Fault::Garble,
        Fault::Claim(json!({"id": "pi", "amount": 7_713, "currency": "Zoe Private",
        "customer": "cus_zoe", "status": "succeeded"})),
    ];
    for fault in answers.into_iter().chain(others) {
        let name = format!("{fault:?}").chars().take(20).collect::<String>();
        let written = run(Some(fault), None, json!({"amount": "77.13", "currency": "EUR"})).await;
        for private in PRIVATE {
            assert!(!written.contains(private), "{name}: {private} in {written}");
        }
    }
    for status in [401, 403, 404, 429, 500] {
        let fault = Fault::Answer(status, vec![], said.clone());
        let written = run(None, Some(fault), json!({"amount": "77.13", "currency": "EUR"})).await;
        for private in PRIVATE {
            assert!(!written.contains(private), "{status}: {private} in {written}");
        }
    }
}

#[tokio::test]
async fn no_mistake_in_the_private_data_brings_it_into_logs_or_records() {
    for data in [
        json!({"amount": "77.131", "currency": "EUR"}),
        json!({"amount": "77.13", "currency": "Zoe Private"}),
        json!({"amount": 7713, "currency": "EUR"}),
        json!({"amount": "77.13 Zoe Private", "currency": "EUR"}),
        json!("Zoe Private 77.13"),
    ] {
        let written = run(None, None, data.clone()).await;
        for private in PRIVATE {
            assert!(!written.contains(private), "{data}: {private} in {written}");
        }
    }
}
