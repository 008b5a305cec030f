//! The API key as Secrets Manager hands it out.

use aws_sdk_secretsmanager::{
    Client,
    config::{BehaviorVersion, Config, Credentials, Region, retry::RetryConfig},
};
use billing_consumer::{ApiKeyError, ApiKeySource, SecretsManagerKey};
use ikkai::observability::logs::{LevelSetting, LogSetup, capture::Captured};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// A source whose service answers every request so.
async fn source(status: u16, body: &Value) -> SecretsManagerKey {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let body = body.to_string();
    let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = vec![0; 16 * 1024];
            // The request is small and comes at once; what it says does not matter.
            let _read = connection.read(&mut request).await;
            let _written = connection.write_all(answer.as_bytes()).await;
        }
    });
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .endpoint_url(endpoint)
        .build();
    SecretsManagerKey::new(Client::from_conf(config), "ikkai/payment-key")
}

#[tokio::test]
async fn a_secret_is_the_key_plain_or_in_json_and_nothing_of_it_is_logged() {
    let logs = Captured::start(LogSetup::new(LevelSetting::Trace).own_crate("billing_consumer"));
    for secret in ["sk_test_private", "{\"apiKey\":\"sk_test_private\"}"] {
        let source = source(200, &json!({"Name": "ikkai/payment-key", "SecretString": secret})).await;
        let key = source.fetch().await.unwrap();
        assert!(!format!("{key:?}").contains("private"));
    }
    assert!(!logs.lines().join("\n").contains("sk_test_private"), "{:?}", logs.lines());
}

#[tokio::test]
async fn a_secret_that_is_missing_empty_or_something_else_is_an_error_that_names_the_mend() {
    for (status, body, named) in [
        (
            400,
            json!({"__type": "ResourceNotFoundException", "Message": "Secrets Manager can't find the specified secret."}),
            "ResourceNotFoundException",
        ),
        (
            400,
            json!({"__type": "AccessDeniedException", "Message": "User: arn:aws:… is not authorized"}),
            "AccessDeniedException",
        ),
        (200, json!({"Name": "ikkai/payment-key"}), "apiKey"),
        (200, json!({"Name": "ikkai/payment-key", "SecretString": "two words"}), "apiKey"),
        (200, json!({"Name": "ikkai/payment-key", "SecretBinary": "c2tfdGVzdA=="}), "apiKey"),
    ] {
        let error: ApiKeyError = source(status, &body).await.fetch().await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(named) && !text.contains("words") && !text.contains("arn:"), "{text}");
    }
}

#[tokio::test]
async fn a_store_that_is_busy_broken_or_away_is_an_outage() {
    for (status, name) in [(400, "ThrottlingException"), (500, "InternalServiceError"), (503, "ServiceUnavailable")] {
        let error = source(status, &json!({"__type": name})).await.fetch().await.unwrap_err();
        assert_eq!(error, ApiKeyError::Unreachable { code: name.to_owned() });
    }
}
