//! What the provider remembers, and what happens when it no longer does or only repeats itself.

mod provider;
mod scene;

use std::time::Duration;

use ikkai::{
    consumer::ConsumerSettings,
    idempotency::{ErrorClass, JobRecord, Status},
    testing::{self, MessageBuilder, StoreCall, StoreFault},
};
use provider::Fault;
use scene::{HOUR, Scene, charge, job};
use serde_json::json;

const MINUTE: Duration = Duration::from_secs(60);

/// A job whose first request was met by `fault`, `later` after it. The provider has forgotten its keys.
async fn forgotten(fault: Fault, later: Duration) -> (Scene, MessageBuilder) {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(fault);
    assert_eq!(scene.deliver(&message).await.failed, ["inv-1"]);
    scene.bench.clock.advance(later);
    scene.provider.payments(provider::Payments::forget_keys);
    (scene, message)
}

#[tokio::test]
async fn a_charge_that_the_provider_has_forgotten_the_key_of_is_found_and_not_repeated() {
    for later in [23 * HOUR, 24 * HOUR, 13 * 24 * HOUR] {
        let (scene, message) = forgotten(Fault::LoseAnswer, later).await;
        assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty(), "{later:?}");
        assert_eq!(scene.provider.charges(), 1);
        assert_eq!(scene.provider.charge_requests().len(), 1, "nobody was asked to charge again");
        assert_eq!(
            scene.result(&message),
            json!({"status": "succeeded", "paymentId": "pi_1", "amount": "19.99", "currency": "EUR"})
        );
    }
}

#[tokio::test]
async fn a_charge_that_was_never_made_is_made_under_a_new_key_once_it_cannot_appear_any_more() {
    let (scene, message) = forgotten(Fault::DropRequest, 23 * HOUR + MINUTE).await;
    assert_eq!(scene.deliver(&message.clone().received(2)).await.failed, ["inv-1"]);
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts), (Status::RetryScheduled, 1), "it only waits");
    assert_eq!(record.last_error.unwrap().code, "earlier_charge_settling");
    assert_eq!(scene.bench.queue.last_visibility(&message.receipt_handle()), Some(14 * MINUTE));
    assert_eq!(scene.provider.charge_requests().len(), 1);

    scene.bench.clock.advance(14 * MINUTE);
    assert!(scene.deliver(&message.clone().received(3)).await.failed.is_empty());
    let requests = scene.provider.charge_requests();
    let job_id = message.job_id().unwrap();
    assert_eq!((requests.len(), requests[1].key.clone()), (2, Some(format!("{}:r1", job_id.as_str()))));
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(scene.provider.charges(), 1);
}

#[tokio::test]
async fn a_charge_under_a_later_key_whose_answer_was_lost_too_is_found_as_well() {
    let (scene, message) = forgotten(Fault::DropRequest, 24 * HOUR).await;
    scene.provider.fail_next(Fault::LoseAnswer);
    assert_eq!(scene.deliver(&message.clone().received(2)).await.failed, ["inv-1"]);
    scene.bench.clock.advance(40 * HOUR);
    scene.provider.payments(provider::Payments::forget_keys);
    assert!(scene.deliver(&message.clone().received(3)).await.failed.is_empty());
    assert_eq!((scene.provider.charges(), scene.provider.charge_requests().len()), (1, 2));
}

#[tokio::test]
async fn while_the_provider_does_not_list_payments_nothing_is_charged() {
    let (scene, message) = forgotten(Fault::LoseAnswer, 24 * HOUR).await;
    for receive in 2..=6 {
        scene.provider.fail_next_reading(Fault::Answer(500, vec![], json!({})));
        scene.deliver(&message.clone().received(receive)).await;
        scene.bench.clock.advance(HOUR);
    }
    assert_eq!(scene.record(&message).status, Status::InDoubt, "and what may be done does not end as dead");
    assert_eq!(scene.provider.charge_requests().len(), 1);
}

#[tokio::test]
async fn the_payment_is_found_on_a_later_page_among_other_payments_of_the_customer() {
    let (scene, message) = forgotten(Fault::LoseAnswer, 24 * HOUR).await;
    scene.provider.payments(|payments| {
        payments.page_size = 3;
        for number in 0..10 {
            let other = json!({"id": format!("pi_other_{number}"), "amount": 1999, "currency": "eur", "customer": "cus_good",
                               "status": "succeeded", "metadata": {"ikkai_job_id": "billing.charge-other"}});
            payments.intents().insert(0, other);
        }
    });
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    assert_eq!(scene.result(&message)["paymentId"], "pi_1");
    assert_eq!(scene.provider.charge_requests().len(), 1);
}

/// The customer has so many other payments, and they are listed one by one.
fn with_other_payments(scene: &Scene, count: usize) {
    scene.provider.payments(|payments| {
        payments.page_size = 1;
        for number in 0..count {
            let other = json!({"id": format!("pi_other_{number}"), "amount": 1, "currency": "eur", "customer": "cus_good", "status": "succeeded"});
            payments.intents().insert(0, other);
        }
    });
}

#[tokio::test]
async fn a_list_without_end_is_left_and_nothing_is_charged() {
    let (scene, message) = forgotten(Fault::LoseAnswer, 24 * HOUR).await;
    with_other_payments(&scene, 30);
    scene.deliver(&message.clone().received(2)).await;
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("lookup_too_long".to_owned())));
    assert_eq!(scene.provider.charge_requests().len(), 1);
}

#[tokio::test]
async fn a_list_that_takes_longer_than_the_invocation_is_left_between_two_pages() {
    let (scene, message) = forgotten(Fault::LoseAnswer, 24 * HOUR).await;
    with_other_payments(&scene, 10);
    let clock = scene.bench.clock.clone();
    scene.provider.before_each(move |_| {
        clock.advance(Duration::from_secs(4));
    });
    let before = scene.provider.seen().len();
    let deadline = scene.now() + Duration::from_secs(30);
    scene.bench.run_until([message.clone().received(2).build()], Some(deadline)).await.unwrap();
    let record = scene.record(&message);
    let error = record.last_error.unwrap();
    assert_eq!((record.status, error.code.as_str()), (Status::RetryScheduled, "lookup_out_of_time"));
    assert_eq!((error.class, record.attempts), (ErrorClass::Ambiguous, 2), "a list that never fits must end");
    let pages = scene.provider.seen().len() - before;
    assert!((1..=6).contains(&pages), "{pages} pages of 11 were begun, each with ten seconds left");
}

#[tokio::test]
async fn what_only_one_customer_has_to_wait_for_is_no_failure_of_the_provider() {
    let one_by_one = ConsumerSettings { batch_concurrency: 1, circuit_failures: 1, ..testing::settings() };
    for (others, later, code) in [(0, 23 * HOUR, "earlier_charge_settling"), (30, 24 * HOUR, "lookup_too_long")] {
        let scene = Scene::with(one_by_one.clone(), Some("sk_test_good")).await;
        let message = job("inv-1", "cus_good");
        scene.provider.fail_next(Fault::DropRequest);
        scene.deliver(&message).await;
        scene.bench.clock.advance(later);
        with_other_payments(&scene, others);
        // A worker that has not seen the first failure.
        let handler = scene::handler(&scene.provider.url(), scene.secret.clone()).await;
        let second = scene.bench.another_worker(handler);
        second.run_batch([message.clone().received(2).build()]).await.unwrap();
        assert_eq!(scene.ending(&message).1.as_deref(), Some(code));
        assert!(second.run_batch([job("inv-2", "cus_slow").build()]).await.unwrap().failed.is_empty(), "{code}");
    }
}

#[tokio::test]
async fn a_found_payment_that_is_another_one_or_one_too_many_is_in_doubt() {
    for (name, value) in [("amount", json!(1)), ("currency", json!("usd"))] {
        let (scene, message) = forgotten(Fault::LoseAnswer, 24 * HOUR).await;
        scene.provider.payments(|payments| payments.intents()[0][name] = value);
        scene.deliver(&message.clone().received(2)).await;
        assert_eq!(scene.ending(&message), (Status::InDoubt, Some("payment_mismatch".to_owned())));
    }
    let (scene, message) = forgotten(Fault::LoseAnswer, 24 * HOUR).await;
    scene.provider.payments(|payments| {
        let copy = payments.intents()[0].clone();
        payments.intents().push(copy);
    });
    scene.deliver(&message.clone().received(2)).await;
    assert_eq!(scene.ending(&message), (Status::InDoubt, Some("payment_mismatch".to_owned())));
}

#[tokio::test]
async fn a_declined_payment_that_is_found_is_the_result() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_empty");
    scene.provider.fail_next(Fault::LoseAnswer);
    scene.deliver(&message).await;
    scene.bench.clock.advance(25 * HOUR);
    scene.provider.payments(provider::Payments::forget_keys);
    scene.deliver(&message.clone().received(2)).await;
    assert_eq!(scene.result(&message), json!({"status": "declined", "code": "insufficient_funds", "paymentId": "pi_1"}));
}

// -- inside the window -----------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_500_that_is_repeated_is_resolved_by_the_payment_where_there_is_one() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::ChargeAndFail);
    assert_eq!(scene.deliver(&message).await.failed, ["inv-1"]);
    scene.bench.clock.advance(HOUR);
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    assert_eq!((scene.provider.charges(), scene.result(&message)["paymentId"].as_str()), (1, Some("pi_1")));
}

#[tokio::test]
async fn a_500_that_is_repeated_to_the_last_attempt_leaves_the_job_in_doubt() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::Fail);
    for receive in 1..=6 {
        scene.deliver(&message.clone().received(receive)).await;
        scene.bench.clock.advance(HOUR);
    }
    assert_eq!(scene.ending(&message), (Status::InDoubt, Some("provider_error_repeated".to_owned())));
    assert_eq!(scene.provider.charges(), 0);
}

#[tokio::test]
async fn another_default_card_between_attempts_changes_no_byte_and_is_no_second_charge() {
    for (fault, code) in [(Fault::LoseAnswer, None), (Fault::Fail, Some("provider_error_repeated"))] {
        let scene = Scene::new().await;
        let message = job("inv-1", "cus_good");
        scene.provider.fail_next(fault);
        scene.deliver(&message).await;
        scene.provider.payments(|payments| payments.set_default("cus_good", Some("pm_newer")));
        scene.bench.clock.advance(HOUR);
        scene.deliver(&message.clone().received(2)).await;
        let requests = scene.provider.charge_requests();
        assert_eq!((requests.len(), &requests[1].body), (2, &requests[0].body));
        assert_eq!(scene.ending(&message).1.as_deref(), code);
        assert_eq!(scene.provider.charges(), usize::from(code.is_none()));
    }
}

#[tokio::test]
async fn each_window_charges_the_card_that_was_the_default_when_it_was_first_used() {
    let (scene, message) = forgotten(Fault::DropRequest, 24 * HOUR).await;
    for (receive, newer, fault) in [(2, "pm_second", Some(Fault::DropRequest)), (3, "pm_third", None)] {
        scene.provider.payments(|payments| payments.set_default("cus_good", Some(newer)));
        fault.into_iter().for_each(|fault| scene.provider.fail_next(fault));
        scene.deliver(&message.clone().received(receive)).await;
        scene.bench.clock.advance(HOUR);
    }
    let methods: Vec<String> =
        scene.provider.charge_requests().iter().map(|seen| seen.body.rsplit_once('=').unwrap().1.to_owned()).collect();
    assert_eq!(methods, ["pm_of_cus_good", "pm_second", "pm_second"]);
    assert_eq!(scene.result(&message)["status"], "succeeded");
}

#[tokio::test]
async fn a_card_that_was_surely_not_charged_is_looked_up_again() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::Answer(429, vec![], json!({})));
    scene.deliver(&message).await;
    scene.provider.payments(|payments| payments.set_default("cus_good", Some("pm_newer")));
    scene.bench.clock.advance(HOUR);
    scene.deliver(&message.clone().received(2)).await;
    assert!(scene.provider.charge_requests()[1].body.ends_with("payment_method=pm_newer"));
}

#[tokio::test]
async fn without_a_note_of_the_card_nothing_is_charged() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.bench.store.fail_next(StoreCall::Replace, StoreFault::Unreachable);
    assert_eq!(scene.deliver(&message).await.failed, ["inv-1"]);
    let record = scene.record(&message);
    assert_eq!((record.status, record.first_effect_at), (Status::RetryScheduled, None));
    assert!(scene.provider.charge_requests().is_empty());
}

#[tokio::test]
async fn other_parameters_under_a_known_key_are_resolved_by_the_payment_where_there_is_one() {
    let reused = json!({"error": {"type": "idempotency_error", "message": "other parameters"}});
    for (fault, code) in [(Fault::LoseAnswer, None), (Fault::DropRequest, Some("idempotency_key_reused"))] {
        let scene = Scene::new().await;
        let message = job("inv-1", "cus_good");
        scene.provider.fail_next(fault);
        scene.deliver(&message).await;
        scene.provider.fail_next(Fault::Answer(400, vec![], reused.clone()));
        scene.bench.clock.advance(HOUR);
        scene.deliver(&message.clone().received(2)).await;
        assert_eq!(scene.ending(&message).1.as_deref(), code);
        assert_eq!(scene.record(&message).status, if code.is_none() { Status::Succeeded } else { Status::RetryScheduled });
    }
}

#[tokio::test]
async fn a_refusal_says_nothing_about_an_earlier_request_whose_answer_was_lost() {
    let refusal = json!({"error": {"type": "invalid_request_error", "code": "parameter_invalid"}});
    for (fault, status) in [(Fault::LoseAnswer, Status::Succeeded), (Fault::DropRequest, Status::InDoubt)] {
        let scene = Scene::new().await;
        let message = job("inv-1", "cus_good");
        scene.provider.fail_next(fault);
        scene.deliver(&message).await;
        scene.provider.fail_next(Fault::Answer(400, vec![], refusal.clone()));
        scene.bench.clock.advance(HOUR);
        scene.deliver(&message.clone().received(2)).await;
        assert_eq!(scene.record(&message).status, status);
    }
}

#[tokio::test]
async fn a_refusal_that_is_repeated_was_the_answer_that_was_lost() {
    let scene = Scene::new().await;
    let message = charge("inv-1", json!({"invoiceId": "inv-1", "customerId": "cus_good", "amount": "0.01", "currency": "EUR"}));
    scene.provider.fail_next(Fault::LoseAnswer);
    scene.deliver(&message).await;
    scene.bench.clock.advance(HOUR);
    scene.deliver(&message.clone().received(2)).await;
    assert_eq!(scene.ending(&message), (Status::Dead, Some("charge_refused".to_owned())));
}

#[tokio::test]
async fn a_customer_who_is_gone_after_the_charge_is_looked_for_and_the_charge_is_found() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::LoseAnswer);
    scene.deliver(&message).await;
    scene.provider.payments(|payments| payments.forget_customer("cus_good"));
    // As a record looks that was written before cards were noted.
    scene.bench.records.put(JobRecord { progress: None, ..scene.record(&message) });
    scene.bench.clock.advance(HOUR);
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    assert_eq!((scene.result(&message)["paymentId"].as_str(), scene.provider.charge_requests().len()), (Some("pi_1"), 1));
}

#[tokio::test]
async fn a_worker_that_died_with_a_forgotten_key_is_followed_by_a_look_first() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.die_after_charging();
    scene.deliver(&message).await;
    assert_eq!(scene.provider.charges(), 1);
    scene.bench.clock.advance(30 * HOUR);
    scene.provider.payments(provider::Payments::forget_keys);
    let handler = scene::handler(&scene.provider.url(), scene.secret.clone()).await;
    assert!(
        scene.bench.another_worker(handler).run_batch([message.clone().received(2).build()]).await.unwrap().failed.is_empty()
    );
    assert_eq!((scene.provider.charges(), scene.provider.charge_requests().len()), (1, 1));
}
