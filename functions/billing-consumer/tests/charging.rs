//! One charge, whatever happens to its answer.

mod provider;
mod scene;

use ikkai::{
    consumer::IncomingEvent,
    idempotency::{ErrorClass, Status},
    queue::QueueName,
    testing::MessageBuilder,
};
use provider::Fault;
use scene::{HOUR, Scene, charge, job};
use serde_json::json;

/// The next deliveries of a message, up to `count` of them, an hour apart unless it is done before.
async fn redeliver(scene: &Scene, message: &MessageBuilder, count: u32) {
    for receive in 2..=count + 1 {
        scene.bench.clock.advance(HOUR);
        scene.deliver(&message.clone().received(receive)).await;
    }
}

#[tokio::test]
async fn a_job_is_one_charge_of_exactly_what_was_asked_for() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    assert!(scene.deliver(&message).await.failed.is_empty());
    assert_eq!(scene.result(&message), json!({"status": "succeeded", "paymentId": "pi_1", "amount": "19.99", "currency": "EUR"}));
    assert_eq!(scene.record(&message).provider_ref.as_deref(), Some("pi_1"));
    let [request] = &scene.provider.charge_requests()[..] else { panic!("one request") };
    let job_id = message.job_id().unwrap();
    assert_eq!(request.key.as_deref(), Some(job_id.as_str()));
    assert!(request.body.starts_with("amount=1999&confirm=true&currency=eur&customer=cus_good&"), "{}", request.body);
}

#[tokio::test]
async fn money_comes_from_the_private_data_of_a_job_that_came_through_the_api() {
    let scene = Scene::new().await;
    let message = charge("inv-1", json!({"invoiceId": "inv-1", "customerId": "cus_good"}));
    scene.accept(&message, json!({"amount": "500", "currency": "JPY"}));
    assert!(scene.deliver(&message).await.failed.is_empty());
    assert_eq!(scene.result(&message)["amount"], "500");
    assert!(scene.provider.charge_requests()[0].body.starts_with("amount=500&confirm=true&currency=jpy&"));
    assert_eq!(scene.record(&message).data, None);
}

#[tokio::test]
async fn a_first_success_costs_three_writes_and_no_read() {
    let scene = Scene::new().await;
    scene.deliver(&job("inv-1", "cus_good")).await;
    assert_eq!((scene.bench.store.writes(), scene.bench.store.reads()), (3, 0), "claim, card, result");
}

#[tokio::test]
async fn a_message_that_comes_again_charges_nothing() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.deliver(&message).await;
    for again in [message.clone().received(2), message.clone().message_id("another")] {
        assert!(scene.deliver(&again).await.failed.is_empty());
    }
    let twice = job("inv-2", "cus_good");
    scene.bench.run_batch([twice.clone().build(), twice.clone().message_id("beside").build()]).await.unwrap();
    assert_eq!((scene.provider.charges(), scene.provider.charge_requests().len()), (2, 2));
}

#[tokio::test]
async fn a_charge_whose_answer_was_lost_is_asked_for_again_in_the_same_bytes_and_is_one() {
    for fault in [Fault::LoseAnswer, Fault::Garble, Fault::DropRequest] {
        let scene = Scene::new().await;
        let message = job("inv-1", "cus_good");
        scene.provider.fail_next(fault.clone());
        assert_eq!(scene.deliver(&message).await.failed, ["inv-1"]);
        assert_eq!(scene.record(&message).status, Status::RetryScheduled, "{fault:?}");
        // As another message, and in another process.
        scene.bench.clock.advance(HOUR);
        let handler = scene::handler(&scene.provider.url(), scene.secret.clone()).await;
        let second = scene.bench.another_worker(handler);
        let run = second.run_batch([message.clone().message_id("another").build()]).await.unwrap();
        let requests = scene.provider.charge_requests();
        assert_eq!((requests.len(), &requests[0].key, &requests[0].body), (2, &requests[1].key, &requests[1].body), "{fault:?}");
        if matches!(fault, Fault::Garble) {
            // What was stored can still not be read.
            assert_eq!((scene.record(&message).status, scene.provider.charges()), (Status::RetryScheduled, 1));
            continue;
        }
        assert!(run.failed.is_empty(), "{fault:?}");
        assert_eq!(scene.provider.charges(), 1, "{fault:?}");
        assert_eq!(scene.result(&message)["status"], "succeeded");
    }
}

#[tokio::test]
async fn a_provider_that_keeps_silent_is_left_after_the_timeout_and_asked_again() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::Silence);
    let handler = scene::impatient_handler(&scene.provider.url(), scene.secret.clone()).await;
    assert_eq!(scene.bench.another_worker(handler).run_batch([message.build()]).await.unwrap().failed, ["inv-1"]);
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("provider_timeout".to_owned())));
    scene.bench.clock.advance(HOUR);
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    assert_eq!(scene.provider.charges(), 1);
}

#[tokio::test]
async fn the_two_readings_before_a_charge_take_no_longer_than_one_call_may() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.payments(|payments| payments.set_default("cus_good", None));
    for _ in 0..2 {
        scene.provider.fail_next_reading(Fault::Late(scene::SHORT_TIMEOUT * 2 / 3));
    }
    let handler = scene::impatient_handler(&scene.provider.url(), scene.secret.clone()).await;
    scene.bench.another_worker(handler).run_batch([message.build()]).await.unwrap();
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("provider_timeout".to_owned())));
    assert!(scene.provider.charge_requests().is_empty());
}

#[tokio::test]
async fn a_worker_that_died_after_the_charge_is_followed_by_one_that_charges_nothing() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.die_after_charging();
    assert_eq!(scene.deliver(&message).await.failed, ["inv-1"]);
    assert_eq!((scene.record(&message).status, scene.provider.charges()), (Status::Running, 1));

    scene.bench.clock.advance(HOUR);
    let handler = scene::handler(&scene.provider.url(), scene.secret.clone()).await;
    assert!(
        scene.bench.another_worker(handler).run_batch([message.clone().received(2).build()]).await.unwrap().failed.is_empty()
    );
    assert_eq!((scene.provider.charges(), scene.result(&message)["paymentId"].as_str()), (1, Some("pi_1")));
}

#[tokio::test]
async fn a_provider_that_could_not_be_reached_has_charged_nothing() {
    let scene = Scene::new().await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Nobody there; nobody there with encryption; somebody there who does not speak TLS.
    let urls = [format!("http://{closed}"), format!("https://{closed}"), scene.provider.url().replace("http:", "https:")];
    for (number, url) in urls.into_iter().enumerate() {
        let message = job(&format!("inv-{number}"), "cus_good");
        let handler = scene::handler(&url, scene.secret.clone()).await;
        assert_eq!(scene.bench.another_worker(handler).run_batch([message.build()]).await.unwrap().failed.len(), 1);
        let record = scene.record(&message);
        assert_eq!((record.status, record.first_effect_at), (Status::RetryScheduled, None), "the key's window has not begun");
        assert_eq!(record.attempts, 0, "an outage uses up nobody's attempts");
        assert_eq!(record.last_error.unwrap().code, "provider_unreachable", "{url}");
    }
    assert!(scene.provider.seen().is_empty());
}

#[tokio::test]
async fn an_answer_that_is_lost_on_the_last_attempt_leaves_the_job_in_doubt() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    for _ in 0..5 {
        scene.provider.fail_next(Fault::LoseAnswer);
    }
    scene.deliver(&message).await;
    redeliver(&scene, &message, 4).await;
    assert_eq!(scene.ending(&message), (Status::InDoubt, Some("provider_connection_lost".to_owned())));
    assert_eq!(scene.provider.charges(), 1);
    // A native redrive does not run it.
    let before = scene.provider.seen().len();
    scene.bench.clock.advance(HOUR);
    scene.deliver(&message.clone().message_id("redriven").sent_at(scene.now())).await;
    assert_eq!((scene.provider.seen().len(), scene.record(&message).status), (before, Status::InDoubt));
}

#[tokio::test]
async fn an_outage_after_an_answer_was_lost_keeps_the_doubt_and_no_second_charge_comes_of_it() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::LoseAnswer);
    scene.deliver(&message).await;
    // From now on nobody is there: these runs did nothing, and the first one did.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for receive in 2..=5 {
        scene.bench.clock.advance(HOUR);
        let handler = scene::handler(&format!("http://{closed}"), scene.secret.clone()).await;
        scene.bench.another_worker(handler).run_batch([message.clone().received(receive).build()]).await.unwrap();
    }
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts), (Status::RetryScheduled, 1), "an outage uses up nobody's attempts");
    assert_eq!(
        record.last_error.unwrap().class,
        ErrorClass::Ambiguous,
        "the first run may have charged, so the job cannot be cancelled"
    );
    scene.bench.clock.advance(HOUR);
    assert!(scene.deliver(&message.clone().received(6)).await.failed.is_empty());
    assert_eq!((scene.record(&message).status, scene.provider.charges()), (Status::Succeeded, 1));
}

#[tokio::test]
async fn a_changed_amount_under_the_same_key_never_reaches_the_provider() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    scene.provider.fail_next(Fault::LoseAnswer);
    scene.deliver(&message).await;
    let payload = json!({"invoiceId": "inv-1", "customerId": "cus_good", "amount": "29.99", "currency": "EUR"});
    let changed = charge("inv-1", payload).message_id("changed");
    scene.bench.clock.advance(HOUR);
    assert_eq!(scene.deliver(&changed).await.failed, ["changed"]);
    assert_eq!(scene.provider.charge_requests().len(), 1);
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    assert_eq!(scene.result(&message)["amount"], "19.99");
}

#[tokio::test]
async fn without_time_for_the_providers_answer_no_charge_is_begun() {
    let scene = Scene::new().await;
    let message = job("inv-1", "cus_good");
    let deadline = scene.now() + scene::PROVIDER_TIMEOUT;
    assert_eq!(scene.bench.run_until([message.build()], Some(deadline)).await.unwrap().failed, ["inv-1"]);
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts, record.first_effect_at), (Status::RetryScheduled, 0, None));
    assert!(scene.provider.seen().is_empty());
}

#[tokio::test]
async fn the_recorded_event_is_worked_on() {
    let event: IncomingEvent = serde_json::from_str(include_str!("../events/charge.json")).unwrap();
    let mut settings = ikkai::testing::settings();
    settings.queue_name = QueueName::new("ikkai-billing");
    let scene = Scene::with(settings, Some("sk_test_good")).await;
    let run = scene.bench.run_batch(event.records.unwrap()).await.unwrap();
    assert!(run.failed.is_empty());
    assert_eq!(scene.provider.charges(), 1);
}
