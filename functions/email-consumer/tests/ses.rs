//! The SES mailer against a service that fails in every way a network knows. One request arrives in each case, never two.

use std::time::Duration;

use aws_sdk_sesv2::config::{BehaviorVersion, Builder, Credentials, Region, retry::RetryConfig};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use email_consumer::{Mail, Mailbox, Mailer as _, MessageId, Rendered, SendError, SesMailer, SesSettings};
use ikkai::testing::{HttpReply, HttpStub};
use serde_json::json;
use tokio::net::TcpListener;

/// As short as a busy machine can bear, for the cases that end by it.
const SHORT: Duration = Duration::from_millis(300);
/// Long enough never to play a part.
const LONG: Duration = Duration::from_secs(60);

fn config(url: &str) -> Builder {
    Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(url)
        // What a function's shared configuration may ask for, and what must not reach this client.
        .retry_config(RetryConfig::standard().with_max_attempts(3))
}

fn mailer(url: &str, timeout: Duration) -> SesMailer {
    SesMailer::new(config(url), SesSettings { timeout, configuration_set: None })
}

fn mail() -> Mail {
    Mail {
        job_id: "email.send-0123abc".to_owned(),
        from: Mailbox::parse("Shop <shop@example.com>").unwrap(),
        to: Mailbox::parse("Jane Doe <jane@example.com>").unwrap(),
        content: Rendered { subject: "Hello".to_owned(), text: "Hello Jane".to_owned(), html: "<p>Hello Jane</p>".to_owned() },
    }
}

/// Sends one mail to a service that replies so, and checks that exactly one request arrived.
async fn send(reply: HttpReply, timeout: Duration) -> Result<MessageId, SendError> {
    let stub = HttpStub::replying(reply).await;
    let result = mailer(&stub.url(), timeout).send(&mail()).await;
    assert_eq!(stub.requests().len(), 1, "{result:?}");
    result
}

async fn refused_with(status: u16, fields: &'static str, error: &str, message: &str) -> SendError {
    let body = json!({"__type": error, "message": message}).to_string();
    send(HttpReply::with_fields(status, fields, body), LONG).await.unwrap_err()
}

#[tokio::test]
async fn a_mail_is_one_raw_message_to_one_recipient_tagged_with_its_job() {
    let stub = HttpStub::replying(HttpReply::json(200, r#"{"MessageId":"0100-abc"}"#)).await;
    let settings = SesSettings { timeout: LONG, configuration_set: Some("events".to_owned()) };
    let id = SesMailer::new(config(&stub.url()), settings).send(&mail()).await.unwrap();
    assert_eq!(id.as_str(), "0100-abc");

    let requests = stub.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].line(), "POST /v2/email/outbound-emails HTTP/1.1");
    let mut body = requests[0].json();
    let raw = STANDARD.decode(body["Content"]["Raw"]["Data"].take().as_str().unwrap()).unwrap();
    assert!(
        String::from_utf8(raw)
            .unwrap()
            .starts_with("From: \"Shop\" <shop@example.com>\r\nTo: \"Jane Doe\" <jane@example.com>\r\n")
    );
    assert_eq!(
        body,
        json!({
            "FromEmailAddress": "shop@example.com",
            "Destination": {"ToAddresses": ["jane@example.com"]},
            "Content": {"Raw": {"Data": null}},
            "EmailTags": [{"Name": "ikkai-job", "Value": "email_send-0123abc"}],
            "ConfigurationSetName": "events",
        })
    );
}

#[tokio::test]
async fn throttling_defers_for_as_long_as_the_provider_asks() {
    let throttled =
        |code, retry_after: Option<u64>| SendError::Throttled { code, retry_after: retry_after.map(Duration::from_secs) };
    assert_eq!(
        refused_with(429, "Retry-After: 17\r\n", "TooManyRequestsException", "slow down").await,
        throttled("provider_throttled", Some(17))
    );
    assert_eq!(refused_with(429, "", "", "").await, throttled("provider_throttled", None));
    assert_eq!(
        refused_with(400, "", "Throttling", "Maximum sending rate exceeded.").await,
        throttled("provider_throttled", None)
    );
    assert_eq!(
        refused_with(429, "", "TooManyRequestsException", "Daily message quota exceeded").await,
        throttled("provider_quota_exceeded", None)
    );
    assert_eq!(refused_with(400, "", "LimitExceededException", "x").await, throttled("provider_limit_exceeded", None));
    assert_eq!(
        refused_with(503, "Retry-After: 2\r\n", "ServiceUnavailable", "x").await,
        throttled("provider_overloaded", Some(2))
    );
}

#[tokio::test]
async fn an_account_that_is_stopped_or_set_up_wrong_is_told_apart_from_a_refused_mail() {
    let unverified =
        "Email address is not verified. The following identities failed the check in region EU-CENTRAL-1: jane@example.com";
    for (status, error, message, code) in [
        (400, "AccountSuspendedException", "x", "account_suspended"),
        (400, "SendingPausedException", "x", "sending_paused"),
        (400, "MessageRejected", unverified, "identity_not_verified"),
        (400, "MailFromDomainNotVerifiedException", "x", "mail_from_domain_not_verified"),
        (404, "NotFoundException", "Configuration set <jane@example.com> does not exist.", "configuration_set_not_found"),
        (403, "AccessDeniedException", "x", "provider_access_denied"),
        (403, "UnrecognizedClientException", "x", "provider_access_denied"),
        (403, "", "", "provider_access_denied"),
    ] {
        let refused = refused_with(status, "", error, message).await;
        assert_eq!(refused, SendError::AccountNotReady { code }, "{error}");
        assert!(refused.is_surely_not_sent());
        assert!(!format!("{refused} {refused:?}").contains("jane"));
    }
}

#[tokio::test]
async fn refused_mails_are_permanent() {
    for (status, error, code) in [
        (400, "MessageRejected", "message_rejected"),
        (400, "BadRequestException", "bad_request"),
        (400, "ValidationException", "provider_refused"),
        (413, "", "provider_refused"),
    ] {
        let refused = refused_with(status, "", error, "Invalid address: jane@example.com").await;
        assert_eq!(refused, SendError::Rejected { code }, "{error}");
        assert!(!format!("{refused} {refused:?}").contains("jane"));
    }
}

#[tokio::test]
async fn an_error_answered_by_the_provider_means_that_nothing_was_sent() {
    let not_sent = |code| SendError::NotSent { code };
    assert_eq!(refused_with(500, "", "InternalFailure", "x").await, not_sent("provider_error"));
    assert_eq!(refused_with(403, "", "ExpiredTokenException", "x").await, not_sent("provider_credentials_stale"));
    assert_eq!(refused_with(403, "", "RequestExpired", "x").await, not_sent("provider_credentials_stale"));
    // Not JSON, but an answer all the same.
    assert_eq!(send(HttpReply::new(500, "<html>"), LONG).await, Err(not_sent("provider_error")));
}

#[tokio::test]
async fn an_answer_that_is_lost_or_unreadable_leaves_the_outcome_unknown() {
    let unknown = |code| Err(SendError::Unknown { code });
    assert_eq!(send(HttpReply::Reset, LONG).await, unknown("provider_connection_lost"));
    assert_eq!(send(HttpReply::Close, LONG).await, unknown("provider_connection_lost"));
    assert_eq!(send(HttpReply::Bytes("HTTP/1.1 200 OK\r\ncontent-".into()), LONG).await, unknown("provider_connection_lost"));
    assert_eq!(send(HttpReply::Bytes("this is not HTTP\r\n\r\n".into()), LONG).await, unknown("provider_connection_lost"));
    assert_eq!(
        send(HttpReply::Bytes("HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n{\"Message".into()), LONG).await,
        unknown("provider_answer_unreadable")
    );
    assert_eq!(send(HttpReply::json(200, "{\"MessageId\":"), LONG).await, unknown("provider_answer_unreadable"));
    assert_eq!(send(HttpReply::json(200, "{}"), LONG).await, unknown("provider_answer_unreadable"));
    assert_eq!(send(HttpReply::new(504, ""), LONG).await, unknown("provider_answer_lost"));
    assert_eq!(send(HttpReply::Silence, SHORT).await, unknown("provider_timeout"));
    // The head of an answer in time, its body never.
    let stub = HttpStub::replying(HttpReply::with_fields(200, "content-length: 40\r\nx-ignored: ", "{}")).await;
    assert!(mailer(&stub.url(), SHORT).send(&mail()).await.is_err_and(|error| !error.is_surely_not_sent()));
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test]
async fn a_connection_that_never_came_up_means_that_nothing_was_sent() {
    let unreachable = Err(SendError::Unreachable { code: "provider_unreachable" });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // Accepts TCP, never answers the TLS greeting.
    assert_eq!(mailer(&format!("https://{address}"), SHORT).send(&mail()).await, unreachable);
    drop(listener);
    assert_eq!(mailer(&format!("http://{address}"), LONG).send(&mail()).await, unreachable);
}

#[tokio::test]
async fn a_function_without_credentials_is_an_account_that_is_not_ready() {
    let without_credentials = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .endpoint_url("http://127.0.0.1:9");
    let mailer = SesMailer::new(without_credentials, SesSettings { timeout: LONG, configuration_set: None });
    assert_eq!(mailer.send(&mail()).await, Err(SendError::AccountNotReady { code: "provider_credentials_missing" }));
}
