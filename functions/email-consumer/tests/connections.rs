//! Connections that are kept: opened before they are needed, shared by clients of one service, and left before they go stale.

use std::{sync::Arc, time::Duration};

use aws_sdk_sesv2::config::{BehaviorVersion, Credentials, Region, SharedHttpClient};
use email_consumer::{Contacts as _, DynamoDbContacts, Mail, Mailbox, Mailer as _, Rendered, SendError, SesMailer, SesSettings};
use ikkai::{
    clock::SystemClock,
    testing::{Connections, HttpReply, HttpStub},
};
use tokio::runtime::Builder;

const ACCEPTED: &str = r#"{"MessageId":"0100-abc"}"#;

fn mailer(stub: &HttpStub) -> SesMailer {
    let config = aws_sdk_sesv2::config::Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", Some("session".to_owned()), None, "test"))
        .endpoint_url(stub.url());
    SesMailer::new(config, SesSettings { timeout: Duration::from_secs(60), configuration_set: None })
}

fn mail() -> Mail {
    Mail {
        job_id: "email.send-0123abc".to_owned(),
        from: Mailbox::parse("shop@example.com").unwrap(),
        to: Mailbox::parse("jane@example.com").unwrap(),
        content: Rendered { subject: "Hello".to_owned(), text: "Hello".to_owned(), html: "<p>Hello</p>".to_owned() },
    }
}

fn table(stub: &HttpStub, http_client: Option<SharedHttpClient>) -> DynamoDbContacts {
    let mut config = aws_sdk_dynamodb::config::Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(stub.url());
    config.set_http_client(http_client);
    DynamoDbContacts::new(aws_sdk_dynamodb::Client::from_conf(config.build()), "contacts", Arc::new(SystemClock))
}

async fn empty_table() -> HttpStub {
    HttpStub::replying(HttpReply::json(200, "{}")).await
}

/// Lets tokio's clock jump. Only for a moment: a paused clock would run ahead of the sockets.
async fn let_pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// The function's runtime stands still between two invocations, as in a frozen sandbox, while the other side closes.
#[test]
fn a_connection_that_was_closed_while_the_sandbox_was_frozen_costs_no_mail() {
    let outside = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let sandbox = Builder::new_current_thread().enable_all().build().unwrap();
    let ses = outside.block_on(HttpStub::replying(HttpReply::json(200, ACCEPTED).then_closes()));
    let dynamodb = outside.block_on(empty_table());
    let (mailer, contacts) = (mailer(&ses), table(&dynamodb, None));
    for mails in 1..=20 {
        sandbox.block_on(async {
            // What comes before every mail is a round trip to DynamoDB. In it the runtime hears of the end of the idle connection,
            // which had reached the machine before; without it the request would be written into the void.
            contacts.find("user-1").await.unwrap();
            mailer.send(&mail()).await.unwrap();
        });
        assert_eq!(ses.requests().len(), mails, "no mail is sent twice, none is lost");
        while ses.connections().closed < mails {
            std::thread::yield_now();
        }
    }
}

#[tokio::test]
async fn a_connection_is_used_again_within_ten_seconds_and_not_later() {
    let stub = HttpStub::replying(HttpReply::json(200, ACCEPTED)).await;
    let mailer = mailer(&stub);
    mailer.send(&mail()).await.unwrap();
    let_pass(Duration::from_secs(9)).await;
    mailer.send(&mail()).await.unwrap();
    assert_eq!(stub.connections().opened, 1);
    let_pass(Duration::from_secs(11)).await;
    mailer.send(&mail()).await.unwrap();
    assert_eq!((stub.connections().opened, stub.requests().len()), (2, 3));
}

#[tokio::test]
async fn a_reset_in_the_middle_of_a_used_connection_is_still_not_repeated() {
    let stub = HttpStub::scripted([HttpReply::json(200, ACCEPTED), HttpReply::Reset]).await;
    let mailer = mailer(&stub);
    mailer.send(&mail()).await.unwrap();
    assert_eq!(mailer.send(&mail()).await, Err(SendError::Unknown { code: "provider_connection_lost" }));
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test]
async fn mails_use_the_connections_that_were_opened_in_advance() {
    let stub = HttpStub::start(|request, _| match request.line().starts_with("POST ") {
        true => HttpReply::json(200, ACCEPTED),
        false => HttpReply::json(403, r#"{"message":"Missing Authentication Token"}"#),
    })
    .await;
    let mailer = mailer(&stub);
    mailer.warm_up(3).await;
    assert_eq!(stub.connections(), Connections { opened: 3, closed: 0 });
    for request in stub.requests() {
        assert_eq!(request.line(), "GET /v2/email/account HTTP/1.1");
        assert!(!request.head.contains("AKID") && !request.head.contains("session"), "{}", request.head);
    }
    let (first, second, third) = (mail(), mail(), mail());
    let sent = tokio::join!(mailer.send(&first), mailer.send(&second), mailer.send(&third));
    assert!(sent.0.is_ok() && sent.1.is_ok() && sent.2.is_ok());
    assert_eq!(stub.connections(), Connections { opened: 3, closed: 0 });
}

#[tokio::test]
async fn a_provider_that_is_away_does_not_hold_up_the_start() {
    let stub = HttpStub::replying(HttpReply::Close).await;
    mailer(&stub).warm_up(2).await;
    assert_eq!(stub.requests().len(), 2, "no request is repeated");
}

#[tokio::test]
async fn clients_share_connections_only_through_a_shared_http_client() {
    let stub = empty_table().await;
    let http_client = ikkai::aws::connections::shared();
    for _ in 0..2 {
        table(&stub, Some(http_client.clone())).find("user-1").await.unwrap();
    }
    assert_eq!(stub.connections().opened, 1);

    let stub = empty_table().await;
    for _ in 0..2 {
        table(&stub, None).find("user-1").await.unwrap();
    }
    assert_eq!(stub.connections().opened, 2);
}
