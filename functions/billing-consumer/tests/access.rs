//! The API key: missing, refused, renewed.

mod provider;
mod scene;

use std::{sync::Arc, time::Duration};

use billing_consumer::{ApiKey, ApiKeyError, ApiKeySource};
use ikkai::{
    consumer::ConsumerSettings,
    idempotency::{ErrorClass, Status},
    testing,
};
use provider::Fault;
use scene::{HOUR, Scene, job};
use serde_json::{Value, json};

/// One job at a time, and a circuit that would open after ten failures in a row.
fn one_by_one() -> ConsumerSettings {
    ConsumerSettings { batch_concurrency: 1, circuit_failures: 10, ..testing::settings() }
}

#[tokio::test]
async fn a_key_that_was_replaced_is_fetched_once_and_the_charge_goes_on() {
    let scene = Scene::with(one_by_one(), Some("sk_test_old")).await;
    scene.secret.put(Some("sk_test_good"));
    for name in ["inv-1", "inv-2"] {
        let message = job(name, "cus_good");
        assert!(scene.deliver(&message).await.failed.is_empty());
        assert_eq!(scene.result(&message)["status"], "succeeded");
    }
    assert_eq!((scene.secret.reads(), scene.provider.charges()), (2, 2));
}

#[tokio::test]
async fn a_key_that_stays_refused_opens_the_circuit_and_uses_no_attempt() {
    let scene = Scene::with(one_by_one(), Some("sk_test_old")).await;
    let messages = ["inv-1", "inv-2", "inv-3"].map(|name| job(name, "cus_good"));
    let run = scene.bench.run_batch(messages.iter().map(testing::MessageBuilder::build)).await.unwrap();
    assert_eq!(run.failed, ["inv-1", "inv-2", "inv-3"]);
    let record = scene.record(&messages[0]);
    assert_eq!((record.status, record.attempts, record.first_effect_at), (Status::RetryScheduled, 0, None));
    assert_eq!(record.last_error.unwrap().code, "api_key_refused");
    assert_eq!(scene.bench.record_of(&messages[1]), None, "the others are not touched");
    assert_eq!((scene.secret.reads(), scene.provider.seen().len()), (2, 1), "the secret is read once more, and is the same");
    assert!(scene.provider.charge_requests().is_empty());
}

/// What Stripe answers to a restricted key that lacks a permission.
fn not_permitted() -> Value {
    let message = "The provided key 'rk_test_*******' does not have the required permissions for this endpoint on account 'acct_1'. \
                   Having the 'rak_payment_intent_write' permission would allow this request to continue.";
    json!({"error": {"type": "invalid_request_error", "message": message}})
}

#[tokio::test]
async fn a_403_that_does_not_name_the_key_makes_its_own_job_wait_alone() {
    let scene = Scene::with(ConsumerSettings { circuit_failures: 1, ..one_by_one() }, Some("sk_test_good")).await;
    let message = job("inv-1", "cus_good");
    let forbidden = json!({"error": {"type": "invalid_request_error", "message": "This customer is not yours."}});
    scene.provider.fail_next_reading(Fault::Answer(403, vec![], forbidden));
    scene.deliver(&message).await;
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts, record.first_effect_at), (Status::RetryScheduled, 0, None));
    assert_eq!(record.last_error.unwrap().code, "charge_forbidden");
    assert!(scene.deliver(&job("inv-2", "cus_good")).await.failed.is_empty(), "the others go on");
}

#[tokio::test]
async fn a_403_that_the_provider_did_not_write_leaves_open_what_happened() {
    let scene = Scene::with(one_by_one(), Some("sk_test_good")).await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::Answer(403, vec![], json!("<html>")));
    scene.deliver(&message).await;
    assert_eq!(scene.record(&message).last_error.unwrap().class, ErrorClass::Ambiguous);
}

#[tokio::test]
async fn a_key_without_the_permission_opens_the_circuit_too() {
    let scene = Scene::with(one_by_one(), Some("sk_test_good")).await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::Answer(403, vec![], not_permitted()));
    scene.deliver(&message).await;
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts), (Status::RetryScheduled, 0));
    assert_eq!(record.last_error.unwrap().code, "api_key_not_permitted");
    let beside = job("inv-2", "cus_good");
    assert_eq!(scene.deliver(&beside).await.failed, ["inv-2"]);
    assert_eq!(scene.bench.record_of(&beside), None);
}

#[tokio::test]
async fn without_a_secret_the_function_starts_and_its_jobs_wait_until_there_is_one() {
    let scene = Scene::with(one_by_one(), None).await;
    let message = job("inv-1", "cus_good");
    assert_eq!(scene.deliver(&message).await.failed, ["inv-1"]);
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts, record.first_effect_at), (Status::RetryScheduled, 0, None));
    assert_eq!(record.last_error.unwrap().code, "api_key_missing");
    assert!(scene.provider.seen().is_empty());

    scene.secret.put(Some("sk_test_good"));
    scene.bench.clock.advance(HOUR);
    let handler = scene::handler(&scene.provider.url(), scene.secret.clone()).await;
    assert!(
        scene.bench.another_worker(handler).run_batch([message.clone().received(2).build()]).await.unwrap().failed.is_empty()
    );
}

/// Who keeps the key does not answer.
struct Away;

#[async_trait::async_trait]
impl ApiKeySource for Away {
    async fn fetch(&self) -> Result<ApiKey, ApiKeyError> {
        Err(ApiKeyError::Unreachable { code: "no answer".to_owned() })
    }
}

#[tokio::test]
async fn while_the_store_of_secrets_is_away_charges_wait_as_for_the_provider_and_no_longer() {
    let scene = Scene::with(one_by_one(), Some("sk_test_good")).await;
    let message = job("inv-1", "cus_good");
    let worker = scene.bench.another_worker(scene::handler(&scene.provider.url(), Arc::new(Away)).await);
    worker.run_batch([message.build()]).await.unwrap();
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts, record.first_effect_at), (Status::RetryScheduled, 0, None));
    assert_eq!(record.last_error.unwrap().code, "api_key_unreachable");
    let wait = record.retry_at.unwrap().since(record.updated_at);
    assert!(wait <= Duration::from_secs(60), "the usual deferral, not that of a mistake: {wait:?}");
}

#[tokio::test]
async fn a_refused_key_after_an_answer_was_lost_does_not_make_the_charge_forgotten() {
    let scene = Scene::with(one_by_one(), Some("sk_test_good")).await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::LoseAnswer);
    scene.deliver(&message).await;
    scene.provider.accept_key("sk_test_newer");
    scene.bench.clock.advance(HOUR);
    scene.deliver(&message.clone().received(2)).await;
    let record = scene.record(&message);
    assert_eq!((record.status, record.first_effect_at.is_some()), (Status::RetryScheduled, true));
    assert_eq!(record.last_error.unwrap().class, ErrorClass::Ambiguous, "so that nobody can cancel it");
}
