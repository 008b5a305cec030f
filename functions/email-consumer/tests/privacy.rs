//! Whatever happens to a mail, nothing personal is written down: not in logs at any level, not in metrics, reports or records.

mod scene;

use std::{sync::Arc, time::Duration};

use aws_sdk_sesv2::config::{BehaviorVersion, Builder, Credentials, Region};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use email_consumer::{Contact, ContactsError, DisplayName, EmailAddress, Recipient, SesMailer, SesSettings};
use ikkai::{
    idempotency::{EffectPolicy, JobRecord, Status},
    observability::logs::{LevelSetting, LogSetup, capture::Captured},
    testing::{HttpReply, HttpStub, MessageBuilder},
};
use scene::{Scene, job};
use serde_json::{Value, json};

/// Parts of everything personal in these tests. Each is there in one spelling only, so that a search finds it.
const PERSONAL: [&str; 6] = ["zoe.private", "Zoe Private", "12.34 SECRET", "private-receipt", "98.76 SECRET", "fr-PRIVATE"];

fn zoe() -> Recipient {
    let variables =
        [("order_number", "1"), ("total", "12.34 SECRET"), ("receipt_url", "https://shop.example.com/private-receipt")];
    Recipient {
        address: EmailAddress::parse("zoe.private@example.com").unwrap(),
        display_name: Some(DisplayName::parse("Zoe Private").unwrap()),
        locale: Some("fr-PRIVATE".to_owned()),
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}

/// A scene whose real SES client talks to a service that replies so.
async fn scene(reply: HttpReply) -> (Scene, HttpStub) {
    let stub = HttpStub::replying(reply).await;
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(stub.url());
    let mailer = SesMailer::new(config, SesSettings { timeout: Duration::from_secs(60), configuration_set: None });
    let scene = Scene::new(Arc::new(mailer), EffectPolicy::Hold);
    scene.contacts.put("user-42", Contact::Reachable(zoe()));
    (scene, stub)
}

fn refusal(status: u16, error: &str) -> HttpReply {
    // SES quotes addresses like this.
    let message =
        "Email address is not verified. The following identities failed the check: Zoe Private <zoe.private@example.com>";
    HttpReply::json(status, json!({"__type": error, "message": message}))
}

/// Everything that was written down about a job except its private inputs, which are kept until it has succeeded.
fn written(record: JobRecord, report: &dyn std::fmt::Debug, logs: &Captured) -> String {
    let record = JobRecord { data: None, ..record };
    format!("{record:?}\n{report:?}\n{}", logs.lines().join("\n"))
}

fn nothing_personal(text: &str) {
    for personal in PERSONAL {
        assert!(!text.contains(personal), "{personal:?} in {text}");
    }
}

/// The search is worth something: what it looks for was in the mail.
fn assert_the_mail_was_personal(request: &Value) {
    let mime = STANDARD.decode(request["Content"]["Raw"]["Data"].as_str().unwrap()).unwrap();
    let mail = String::from_utf8(mime).unwrap();
    for personal in ["zoe.private", "Zoe Private", "private-receipt", "98.76 SECRET"] {
        assert!(mail.contains(personal), "{personal:?} in {mail}");
    }
}

fn logs() -> Captured {
    Captured::start(LogSetup::new(LevelSetting::Trace).own_crate("email_consumer"))
}

async fn run(scene: &Scene, message: &MessageBuilder, status: Status) {
    let logs = logs();
    let report = scene.deliver(message).await;
    let record = scene.record(message);
    assert_eq!(record.status, status);
    assert!(!logs.lines().is_empty());
    nothing_personal(&written(record, &report, &logs));
}

#[tokio::test]
async fn no_answer_of_the_provider_brings_anything_personal_into_logs_or_records() {
    let sent = HttpReply::json(200, r#"{"MessageId":"0100-abc"}"#);
    for (reply, status) in [
        (sent, Status::Succeeded),
        (refusal(400, "MessageRejected"), Status::RetryScheduled),
        (refusal(400, "zoe.private@example.com"), Status::Dead),
        (refusal(429, "TooManyRequestsException"), Status::RetryScheduled),
        (refusal(400, "SendingPausedException"), Status::RetryScheduled),
        (refusal(500, "InternalFailure"), Status::RetryScheduled),
        (refusal(504, "x"), Status::InDoubt),
        (HttpReply::json(200, "zoe.private@example.com"), Status::InDoubt),
        (HttpReply::Bytes("zoe.private@example.com\r\n\r\n".into()), Status::InDoubt),
        (HttpReply::Reset, Status::InDoubt),
    ] {
        let (scene, stub) = scene(reply).await;
        let message = job("mail-1", "receipt", "user-42");
        scene.accept(&message, json!({"variables": {"total": "98.76 SECRET"}}));
        run(&scene, &message, status).await;
        assert_the_mail_was_personal(&stub.requests()[0].json());
    }
}

#[tokio::test]
async fn no_mistake_in_contact_template_or_job_brings_anything_personal_into_logs_or_records() {
    let personal = json!({"variables": {"total": "98.76 SECRET"}});
    let without = |name: &str, value: &str| {
        let mut recipient = zoe();
        recipient.variables.insert(name.to_owned(), value.to_owned());
        recipient
    };
    let cases: [(&str, Recipient, Value); 6] = [
        ("no-such-template", zoe(), personal.clone()),
        ("receipt", without("order_number", " "), personal.clone()),
        ("receipt", without("receipt_url", "ftp://private-receipt"), personal.clone()),
        ("receipt", zoe(), json!({"variables": {"total": ["98.76 SECRET"]}})),
        ("receipt", zoe(), json!({"98.76 SECRET": "98.76 SECRET"})),
        ("receipt", zoe(), json!("98.76 SECRET")),
    ];
    for (template, recipient, data) in cases {
        let (scene, stub) = scene(HttpReply::Reset).await;
        scene.contacts.put("user-42", Contact::Reachable(recipient));
        let message = job("mail-1", template, "user-42");
        scene.accept(&message, data);
        run(&scene, &message, Status::Dead).await;
        assert!(stub.requests().is_empty());
    }
}

#[tokio::test]
async fn a_contacts_table_that_fails_brings_nothing_personal_into_logs_or_records() {
    let (scene, _stub) = scene(HttpReply::Reset).await;
    scene.contacts.fail_with(Some(ContactsError::Unavailable { code: "contacts_unavailable" }));
    run(&scene, &job("mail-1", "receipt", "user-42"), Status::RetryScheduled).await;
}

#[tokio::test]
async fn a_message_that_is_keyed_by_people_brings_no_name_into_logs_or_records() {
    let payload = |extra: Value| {
        let mut payload = json!({"deliveryId": "mail-1", "templateId": "receipt", "userId": "user-42"});
        payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        payload
    };
    for payload in [
        payload(json!({"Zoe Private": 1})),
        payload(json!({"users": {"Zoe Private": [{"zoe.private": 0.5}]}})),
        payload(json!({"userId": {"Zoe Private": 0.5}})),
    ] {
        let (scene, stub) = scene(HttpReply::Reset).await;
        let logs = logs();
        let report = scene.deliver(&MessageBuilder::job("mail-1", "email.send", "mail-1", payload)).await;
        let [record] = &scene.bench.records.all()[..] else { panic!("one record") };
        assert_eq!(record.status, Status::Dead);
        assert!(logs.lines().iter().any(|line| line.contains("message unparseable") && line.contains("(unknown member)")));
        nothing_personal(&written(record.clone(), &report, &logs));
        assert!(stub.requests().is_empty());
    }
}
