//! What each answer of the provider means for the job.

mod provider;
mod scene;

use std::time::Duration;

use ikkai::{
    consumer::ConsumerSettings,
    idempotency::{ErrorClass, Status},
    testing::{self, MessageBuilder},
};
use provider::{Card, Fault};
use scene::{HOUR, Scene, charge, job};
use serde_json::{Value, json};

#[tokio::test]
async fn what_the_customers_bank_says_is_the_result_of_the_job_and_nothing_is_tried_again() {
    for (customer, expected) in [
        ("cus_empty", json!({"status": "declined", "code": "insufficient_funds", "paymentId": "pi_1"})),
        ("cus_guarded", json!({"status": "authentication_required", "paymentId": "pi_1"})),
        ("cus_slow", json!({"status": "processing", "paymentId": "pi_1", "amount": "19.99", "currency": "EUR"})),
    ] {
        let scene = Scene::new().await;
        let message = job("inv-1", customer);
        assert!(scene.deliver(&message).await.failed.is_empty(), "{customer}");
        assert_eq!(scene.result(&message), expected);
        scene.deliver(&message.clone().received(2)).await;
        assert_eq!((scene.provider.charge_requests().len(), scene.provider.charges()), (1, 0));
    }
}

#[tokio::test]
async fn a_decline_without_details_is_a_decline() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::Answer(
        402,
        vec![],
        json!({"error": {"type": "invalid_request_error", "code": "card_declined"}}),
    ));
    scene.deliver(&message).await;
    assert_eq!(scene.result(&message), json!({"status": "declined", "code": "card_declined", "paymentId": null}));
}

#[tokio::test]
async fn a_decline_whose_payment_says_otherwise_is_not_believed() {
    for (status, amount, ending) in [
        ("succeeded", 1999, (Status::RetryScheduled, Some("payment_contradictory".to_owned()))),
        ("processing", 1999, (Status::RetryScheduled, Some("payment_contradictory".to_owned()))),
        ("requires_capture", 1999, (Status::RetryScheduled, Some("payment_contradictory".to_owned()))),
        ("requires_payment_method", 1, (Status::InDoubt, Some("payment_mismatch".to_owned()))),
        ("requires_payment_method", 1999, (Status::Succeeded, None)),
    ] {
        let scene = Scene::new().await;
        let message = job("inv-1", "cus_good");
        let mut intent = payment_of(&message);
        (intent["status"], intent["amount"]) = (json!(status), json!(amount));
        let error = json!({"error": {"type": "card_error", "code": "card_declined", "payment_intent": intent}});
        scene.provider.fail_next(Fault::Answer(402, vec![], error));
        scene.deliver(&message).await;
        assert_eq!(scene.ending(&message), ending, "{status} {amount}");
    }
}

/// A transient answer, then the provider works.
async fn then_works(fault: Fault) -> (Scene, MessageBuilder) {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(fault);
    assert_eq!(scene.deliver(&message).await.failed, ["inv-1"]);
    (scene, message)
}

async fn comes_good(scene: &Scene, message: &MessageBuilder) {
    scene.bench.clock.advance(HOUR);
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    assert_eq!((scene.result(message)["status"].as_str(), scene.provider.charges()), (Some("succeeded"), 1));
}

#[tokio::test]
async fn a_key_in_use_is_tried_again_after_a_backoff() {
    let body = json!({"error": {"type": "idempotency_error", "code": "idempotency_key_in_use"}});
    let (scene, message) = then_works(Fault::Answer(409, vec![], body)).await;
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("charge_in_progress".to_owned())));
    comes_good(&scene, &message).await;
}

#[tokio::test]
async fn a_provider_that_is_busy_says_when_to_come_back_and_uses_no_attempt() {
    let body = json!({"error": {"type": "invalid_request_error", "code": "rate_limit"}});
    let (scene, message) = then_works(Fault::Answer(429, vec![("retry-after", "37")], body.clone())).await;
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts, record.first_effect_at), (Status::RetryScheduled, 0, None));
    assert_eq!(scene.bench.queue.last_visibility(&message.receipt_handle()), Some(Duration::from_secs(37)));
    comes_good(&scene, &message).await;

    let (scene, message) = then_works(Fault::Answer(429, vec![], body)).await;
    assert_eq!(scene.bench.queue.last_visibility(&message.receipt_handle()), Some(testing::settings().defer));
}

#[tokio::test]
async fn a_provider_that_wants_us_to_wait_for_years_is_believed_for_an_hour() {
    for seconds in ["4294967295", "18446744073709551615"] {
        let (scene, message) = then_works(Fault::Answer(429, vec![("retry-after", seconds)], json!({}))).await;
        assert_eq!(scene.bench.queue.last_visibility(&message.receipt_handle()), Some(HOUR), "{seconds}");
        comes_good(&scene, &message).await;
    }
}

#[tokio::test]
async fn server_errors_are_tried_again_and_leave_open_what_happened() {
    let error = json!({"error": {"type": "api_error"}});
    for status in [408, 424, 425, 500, 502, 503, 504] {
        let (scene, message) = then_works(Fault::Answer(status, vec![], error.clone())).await;
        assert_eq!(scene.record(&message).last_error.unwrap().class, ErrorClass::Ambiguous, "{status}");
        comes_good(&scene, &message).await;
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_leaves_open_what_happened() {
    let (scene, message) = then_works(Fault::Answer(302, vec![("location", "/v1/elsewhere")], json!({}))).await;
    assert!(scene.provider.seen().iter().all(|seen| !seen.target.contains("elsewhere")));
    comes_good(&scene, &message).await;
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    for (padding, status) in [(1_000, Status::Succeeded), (5_000_000, Status::RetryScheduled)] {
        let scene = Scene::new().await;
        let message = job("inv-1", "cus_good");
        let mut claimed = payment_of(&message);
        claimed["description"] = json!("x".repeat(padding));
        scene.provider.fail_next(Fault::Claim(claimed));
        scene.deliver(&message).await;
        assert_eq!(scene.record(&message).status, status, "{padding}");
    }
}

#[tokio::test]
async fn a_charge_that_the_provider_refuses_is_dead_at_once_with_the_providers_reason() {
    let scene = Scene::new().await;
    let message = charge("inv-1", json!({"invoiceId": "inv-1", "customerId": "cus_good", "amount": "0.01", "currency": "EUR"}));
    scene.deliver(&message).await;
    let error = scene.record(&message).last_error.unwrap();
    assert_eq!((scene.record(&message).status, error.code.as_str()), (Status::Dead, "charge_refused"));
    assert!(error.message.contains("amount_too_small"), "{}", error.message);
}

#[tokio::test]
async fn a_refusal_that_the_provider_remembers_says_how_to_get_past_it() {
    let scene = Scene::new().await;
    let message = charge("inv-1", json!({"invoiceId": "inv-1", "customerId": "cus_good", "amount": "0.01", "currency": "EUR"}));
    scene.deliver(&message).await;
    scene.bench.clock.advance(HOUR);
    scene.deliver(&message.clone().message_id("redriven").sent_at(scene.now())).await;
    let record = scene.record(&message);
    assert_eq!((record.status, record.generation), (Status::Dead, 1));
    assert!(record.last_error.unwrap().message.contains("24 h"));
}

#[tokio::test]
async fn customers_who_cannot_be_charged_are_dead_before_the_provider_is_asked_to() {
    let scene = Scene::new().await;
    scene.provider.payments(|payments| {
        payments.customer("cus_none", Card::Good);
        payments.set_default("cus_none", None);
        payments.set_default("cus_none", Some("pm_second_of_cus_none"));
        payments.set_default("cus_none", None);
    });
    for (customer, code) in [("cus_unknown", "unknown_customer"), ("cus_none", "no_payment_method")] {
        let message = job(customer, customer);
        scene.deliver(&message).await;
        assert_eq!(scene.ending(&message), (Status::Dead, Some(code.to_owned())));
    }
    assert!(scene.provider.charge_requests().is_empty());
}

#[tokio::test]
async fn the_only_card_is_charged_where_no_default_is_set() {
    let scene = Scene::new().await;
    scene.provider.payments(|payments| payments.set_default("cus_good", None));
    let message = job("inv-1", "cus_good");
    scene.deliver(&message).await;
    assert_eq!(scene.result(&message)["status"], "succeeded");
    assert!(scene.provider.charge_requests()[0].body.ends_with("payment_method=pm_of_cus_good"));
}

#[tokio::test]
async fn amounts_that_the_provider_does_not_count_in_are_dead_before_it_is_asked() {
    let scene = Scene::new().await;
    for (amount, currency) in [("5.124", "KWD"), ("5.50", "MGA")] {
        let payload = json!({"invoiceId": "inv", "customerId": "cus_good", "amount": amount, "currency": currency});
        let message = charge(currency, payload);
        scene.deliver(&message).await;
        assert_eq!(scene.ending(&message), (Status::Dead, Some("amount_not_taken".to_owned())));
    }
    assert!(scene.provider.charge_requests().is_empty());
}

#[tokio::test]
async fn a_job_without_money_or_with_it_twice_is_dead_and_names_the_place() {
    let scene = Scene::new().await;
    let missing = charge("inv-1", json!({"invoiceId": "inv-1", "customerId": "cus_good"}));
    scene.deliver(&missing).await;
    assert_eq!(scene.ending(&missing), (Status::Dead, Some("amount_missing".to_owned())));
    let twice = job("inv-2", "cus_good");
    scene.accept(&twice, json!({"amount": "19.99", "currency": "EUR"}));
    scene.deliver(&twice).await;
    assert_eq!(scene.ending(&twice), (Status::Dead, Some("job_data_malformed".to_owned())));
    assert!(scene.provider.seen().is_empty());
}

/// A payment as it was asked for.
fn payment_of(message: &MessageBuilder) -> Value {
    json!({
        "id": "pi_9", "amount": 1999, "amount_received": 1999, "currency": "eur", "customer": "cus_good", "status": "succeeded",
        "metadata": {"ikkai_job_id": message.job_id().unwrap().as_str()}
    })
}

#[tokio::test]
async fn a_payment_that_is_not_the_one_asked_for_is_in_doubt_at_once() {
    let changes: [(&str, &str, Value); 6] = [
        ("amount", "/amount", json!(19_990)),
        ("amount", "/amount_received", json!(1_000)),
        ("currency", "/currency", json!("usd")),
        ("customer", "/customer", json!("cus_other")),
        ("customer", "/customer", json!(null)),
        ("ikkai_job_id", "/metadata/ikkai_job_id", json!("billing.charge-other")),
    ];
    for (member, pointer, value) in changes {
        let scene = Scene::new().await;
        let message = job("inv-1", "cus_good");
        let mut claimed = payment_of(&message);
        *claimed.pointer_mut(pointer).unwrap() = value;
        scene.provider.fail_next(Fault::Claim(claimed));
        scene.deliver(&message).await;
        assert_eq!(scene.ending(&message), (Status::InDoubt, Some("payment_mismatch".to_owned())), "{pointer}");
        assert!(scene.record(&message).last_error.unwrap().message.contains(member));
    }
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::Claim(payment_of(&message)));
    scene.deliver(&message).await;
    assert_eq!(scene.result(&message)["paymentId"], "pi_9", "unchanged it is accepted");
}

#[tokio::test]
async fn a_200_that_is_no_finished_payment_leaves_open_what_happened() {
    let scene = Scene::with(ConsumerSettings { max_attempts: 1, ..testing::settings() }, Some("sk_test_good")).await;
    for (name, body) in [
        ("a", json!({})),
        ("b", json!([])),
        ("c", json!({"id": "pi_1", "status": "succeeded"})),
        ("d", json!({"id": "pi_1", "amount": 19.99, "currency": "eur", "customer": "cus_good", "status": "succeeded"})),
        (
            "e",
            json!({"id": "pi_1", "amount": 1999, "currency": "eur", "customer": "cus_good", "status": "requires_confirmation",
                   "metadata": {"ikkai_job_id": job("e", "cus_good").job_id().unwrap().as_str()}}),
        ),
    ] {
        let message = job(name, "cus_good");
        scene.provider.fail_next(Fault::Claim(body));
        scene.deliver(&message).await;
        assert_eq!(scene.record(&message).status, Status::InDoubt, "{name}");
    }
}

#[tokio::test]
async fn a_message_whose_amount_is_a_number_is_dead_and_names_the_field() {
    for (amount, told) in
        [("100.0", "/payload/amount"), ("19.99", "/payload/amount"), ("100", "such as \\\"19.99\\\""), ("-0", "/payload/amount")]
    {
        let scene = Scene::new().await;
        let body = format!(
            r#"{{"type":"billing.charge","schemaVersion":1,"idempotencyKey":"k","payload":{{"invoiceId":"inv-1","customerId":"cus_good","amount":{amount},"currency":"EUR"}}}}"#
        );
        assert_eq!(scene.deliver(&MessageBuilder::new("m-1", body)).await.failed, ["m-1"]);
        let [record] = &scene.bench.records.all()[..] else { panic!("one record") };
        let error = format!("{:?}", record.last_error);
        assert!(record.status == Status::Dead && error.contains(told), "{amount}: {error}");
        assert!(scene.provider.seen().is_empty());
    }
}
