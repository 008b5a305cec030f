//! What becomes of an `email.send` job, up to the moment before its mail goes out.

mod scene;

use std::{sync::Arc, time::Duration};

use email_consumer::{Contact, ContactsError, EmailHandler, RecordingMailer};
use ikkai::{
    consumer::{ConsumerSettings, IncomingEvent},
    idempotency::{EffectPolicy, ErrorClass, Status},
    observability::logs::{LevelSetting, LogSetup, capture::Captured},
    queue::QueueName,
    testing::{self, Bench, MessageBuilder, StoreCall},
};
use scene::{Scene, jane, job, nameless, scene, scene_under};
use serde_json::json;

#[tokio::test]
async fn a_job_is_one_mail_and_its_message_id_is_kept() {
    let (scene, mailer) = scene([]);
    let message = job("mail-1", "receipt", "user-42");
    assert!(scene.deliver(&message).await.failed.is_empty());

    let [mail] = &mailer.mails()[..] else { panic!("one mail") };
    assert_eq!(mail.job_id, message.job_id().unwrap().as_str());
    assert_eq!(mail.from.address.as_str(), "shop@example.com");
    assert_eq!(mail.to.address.as_str(), "jane@example.com");
    assert_eq!(mail.to.name.as_ref().unwrap().as_str(), "Jane Doe");
    assert_eq!(mail.content.subject, "Receipt for order 4711");
    assert!(mail.content.text.starts_with("Hello Jane Doe,"), "{}", mail.content.text);
    assert!(mail.content.html.contains("12.50 EUR"));

    let record = scene.record(&message);
    assert_eq!(record.status, Status::Succeeded);
    assert_eq!(record.result, Some(json!({"messageId": "recorded-1"})));
    assert_eq!(record.provider_ref.as_deref(), Some("recorded-1"));
}

#[tokio::test]
async fn a_first_success_costs_three_writes_and_no_read_under_hold() {
    let (scene, _) = scene([]);
    scene.deliver(&MessageBuilder::email("mail-1")).await;
    assert_eq!(scene.bench.store.calls(), [StoreCall::Claim, StoreCall::Replace, StoreCall::Replace]);
}

#[tokio::test]
async fn a_message_that_comes_again_sends_no_second_mail() {
    let (scene, mailer) = scene([]);
    let message = MessageBuilder::email("mail-1");
    scene.deliver(&message).await;
    for again in [message.clone().received(2), message.clone().message_id("another-message")] {
        assert!(scene.deliver(&again).await.failed.is_empty());
    }
    assert_eq!(mailer.mails().len(), 1);
}

#[tokio::test]
async fn the_same_message_twice_in_a_batch_is_one_mail() {
    let (scene, mailer) = scene([]);
    let message = MessageBuilder::email("mail-1");
    let twice = [message.clone().build(), message.clone().message_id("another-message").build()];
    scene.bench.run_batch(twice).await.unwrap();
    assert_eq!(mailer.mails().len(), 1);
    assert_eq!(scene.record(&message).status, Status::Succeeded);
}

#[tokio::test]
async fn an_unknown_user_is_dead_with_a_reason_and_leaves_the_others_alone() {
    let (scene, mailer) = scene([]);
    let (good, unknown) = (job("mail-1", "welcome", "user-42"), job("mail-2", "welcome", "user-nobody"));
    let run = scene.bench.run_batch([good.build(), unknown.build()]).await.unwrap();
    assert_eq!(run.failed, ["mail-2"]);
    assert_eq!(mailer.mails().len(), 1);
    let error = scene.record(&unknown).last_error.unwrap();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Permanent, "unknown_user"));
    assert_eq!(error.message, "userId names nobody in the contacts table: add the contact, then redrive the job");
    assert_eq!(scene.record(&unknown).status, Status::Dead);
}

#[tokio::test]
async fn somebody_suppressed_gets_no_mail_and_the_job_is_done() {
    let (scene, mailer) = scene([]);
    let message = job("mail-1", "welcome", "user-gone");
    assert!(scene.deliver(&message).await.failed.is_empty());
    assert!(mailer.mails().is_empty());
    let record = scene.record(&message);
    assert_eq!((record.status, record.result), (Status::Succeeded, Some(json!({"suppressed": true}))));
    assert_eq!((record.provider_ref, record.first_effect_at), (None, None));
}

#[tokio::test]
async fn a_contacts_table_that_cannot_be_read_uses_no_attempt_however_often() {
    let (scene, mailer) = scene([]);
    scene.contacts.fail_with(Some(ContactsError::Unavailable { code: "contacts_throttled" }));
    let message = MessageBuilder::email("mail-1");
    let beyond_all_attempts = testing::settings().max_attempts + 1;
    for _ in 0..beyond_all_attempts {
        assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
        assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("contacts_throttled".to_owned())));
        assert_eq!(scene.visible_in(&message), Duration::from_secs(60));
        scene.bench.clock.advance(Duration::from_secs(60));
    }
    scene.contacts.fail_with(None);
    assert!(scene.deliver(&message).await.failed.is_empty());
    assert_eq!((mailer.mails().len(), scene.record(&message).attempts), (1, 1));
}

#[tokio::test]
async fn a_contacts_table_that_is_set_up_wrong_is_left_alone_for_a_quarter_of_an_hour_and_told_about() {
    for code in ["contacts_access_denied", "contacts_table_not_found", "contacts_table_refused"] {
        let logs = Captured::start(LogSetup::new(LevelSetting::Info).own_crate("email_consumer"));
        let (scene, mailer) = scene([]);
        scene.contacts.fail_with(Some(ContactsError::NotReady { code }));
        let message = MessageBuilder::email("mail-1");
        assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
        assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some(code.to_owned())));
        assert_eq!((scene.record(&message).attempts, scene.record(&message).first_effect_at), (0, None));
        assert_eq!(scene.visible_in(&message), Duration::from_secs(900));
        let is_told = |line: &String| line.contains("\"ERROR\"") && line.contains(&format!("\"error_code\":\"{code}\""));
        assert_eq!(logs.lines().iter().filter(|line| is_told(line)).count(), 1, "{:?}", logs.lines());

        scene.contacts.fail_with(None);
        scene.bench.clock.advance(Duration::from_secs(900));
        assert!(scene.deliver(&message).await.failed.is_empty());
        assert_eq!((mailer.mails().len(), scene.record(&message).attempts), (1, 1));
    }
}

#[tokio::test]
async fn a_contact_that_is_none_is_dead_with_the_attribute_named() {
    let (scene, mailer) = scene([]);
    let malformed = ContactsError::Malformed { attribute: "email".to_owned(), problem: "the address has no @".to_owned() };
    scene.contacts.fail_with(Some(malformed));
    let message = MessageBuilder::email("mail-1");
    scene.deliver(&message).await;
    let error = scene.record(&message).last_error.unwrap();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Permanent, "contact_malformed"));
    assert_eq!(error.message, "the contact's attribute \"email\" is not usable: the address has no @");
    assert_eq!((scene.record(&message).status, mailer.mails().len()), (Status::Dead, 0));
}

#[tokio::test]
async fn what_cannot_be_rendered_is_dead_before_the_effect_is_announced() {
    let mut unlinked = jane();
    unlinked.variables.insert("receipt_url".to_owned(), "javascript:alert(1)".to_owned());
    let mut blank = jane();
    blank.variables.insert("total".to_owned(), " ".to_owned());
    for (template, recipient, code, named) in [
        ("receipt", nameless("max@example.com"), "template_variable_missing", "order_number"),
        ("receipt", blank, "template_variable_missing", "total"),
        ("receipt", unlinked, "template_variable_not_a_link", "receipt_url"),
        ("no-such-template", jane(), "unknown_template", "templateId"),
    ] {
        let (scene, mailer) = scene([]);
        scene.contacts.put("user-42", Contact::Reachable(recipient));
        let message = job("mail-1", template, "user-42");
        assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
        let record = scene.record(&message);
        let error = record.last_error.unwrap();
        assert_eq!((record.status, error.class, error.code.as_str()), (Status::Dead, ErrorClass::Permanent, code));
        assert!(error.message.contains(named), "{}", error.message);
        assert_eq!((mailer.mails().len(), record.first_effect_at, record.attempts), (0, None, 1));
        assert_eq!(scene.bench.store.calls(), [StoreCall::Claim, StoreCall::Replace], "claimed and settled, nothing between");
    }
}

#[tokio::test]
async fn variables_of_the_job_win_over_those_of_the_contact() {
    let (scene, mailer) = scene([]);
    let message = job("mail-1", "receipt", "user-42");
    scene.accept(&message, json!({"variables": {"total": "99.00 EUR", "display_name": "Dr. Doe"}}));
    assert!(scene.deliver(&message).await.failed.is_empty());
    let mail = &mailer.mails()[0];
    assert!(mail.content.text.starts_with("Hello Dr. Doe,"), "{}", mail.content.text);
    assert!(mail.content.text.contains("Order: 4711\nTotal: 99.00 EUR\n"), "{}", mail.content.text);
    assert_eq!(mail.to.name.as_ref().unwrap().as_str(), "Jane Doe", "the envelope is the contact's business");
    assert_eq!(scene.record(&message).data, None, "private inputs go when the job has succeeded");
}

#[tokio::test]
async fn private_inputs_of_another_form_are_dead_with_the_member_named() {
    for (data, named) in [
        (json!({"variables": {"total": null}}), "data.variables.total "),
        (json!({"variables": ["12.50"]}), "data.variables "),
        (json!({"variable": {"total": "12.50"}}), "data.variable "),
    ] {
        let (scene, mailer) = scene([]);
        let message = job("mail-1", "receipt", "user-42");
        scene.accept(&message, data);
        scene.deliver(&message).await;
        let record = scene.record(&message);
        let error = record.last_error.unwrap();
        assert_eq!((record.status, error.code.as_str()), (Status::Dead, "job_data_malformed"));
        assert!(error.message.contains(named), "{}", error.message);
        assert_eq!((mailer.mails().len(), record.first_effect_at), (0, None));
    }
}

#[tokio::test]
async fn a_mail_speaks_the_language_of_its_contact() {
    let (scene, mailer) = scene([]);
    let mut german = jane();
    german.locale = Some("de-AT".to_owned());
    scene.contacts.put("user-42", Contact::Reachable(german));
    scene.deliver(&MessageBuilder::email("mail-1")).await;
    assert_eq!(mailer.mails()[0].content.subject, "Willkommen, Jane Doe");
}

#[tokio::test]
async fn without_time_for_the_providers_answer_no_mail_is_begun() {
    for policy in [EffectPolicy::Hold, EffectPolicy::RERUN] {
        let (scene, mailer) = scene_under(policy, []);
        let message = MessageBuilder::email("mail-1");
        // A quarter of the time is kept for settling: less than the provider's five seconds are left.
        let deadline = Bench::<EmailHandler>::START + Duration::from_millis(6_600);
        let run = scene.bench.run_until([message.build()], Some(deadline)).await.unwrap();
        assert_eq!(run.failed, ["mail-1"]);
        let record = scene.record(&message);
        assert_eq!((record.status, record.attempts, record.first_effect_at), (Status::RetryScheduled, 0, None), "{policy:?}");
        assert_eq!(record.last_error.unwrap().code, "no_time_for_effect");
        assert!(mailer.mails().is_empty());
        assert!(scene.visible_in(&message) <= testing::settings().backoff.ceiling(1), "a backoff, with full jitter");
    }
}

#[tokio::test]
async fn invocations_without_time_for_a_mail_do_not_speak_against_the_provider() {
    for policy in [EffectPolicy::Hold, EffectPolicy::RERUN] {
        let mailer = Arc::new(RecordingMailer::new());
        let scene = Scene::with_settings(mailer.clone(), policy, ConsumerSettings { circuit_failures: 1, ..testing::settings() });
        let short = Bench::<EmailHandler>::START + Duration::from_millis(6_600);
        scene.bench.run_until([MessageBuilder::email("mail-1").build()], Some(short)).await.unwrap();
        assert!(mailer.mails().is_empty());
        // A circuit that had opened would keep this one back.
        assert!(scene.deliver(&MessageBuilder::email("mail-2")).await.failed.is_empty(), "{policy:?}");
        assert_eq!(mailer.accepted(), 1);
    }
}

#[tokio::test]
async fn the_recorded_event_is_worked_on() {
    let event: IncomingEvent = serde_json::from_str(include_str!("../events/email.json")).unwrap();
    let mut settings = testing::settings();
    settings.queue_name = QueueName::new("ikkai-email");
    let mailer = Arc::new(RecordingMailer::new());
    let scene = Scene::with_settings(mailer.clone(), EffectPolicy::Hold, settings);
    let run = scene.bench.run_batch(event.records.unwrap()).await.unwrap();
    assert!(run.failed.is_empty());
    assert_eq!(mailer.mails().len(), 1);
}
