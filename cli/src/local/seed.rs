//! Puts data into a new stack: contacts to write to, the identity to send as, the key to charge with.

use std::collections::HashMap;
use std::path::PathBuf;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use bytes::Bytes;
use http::Request;
use serde_json::{Map, Value};
use std::net::SocketAddr;
use std::time::Duration;

use super::aws::ACCESS_KEY;
use super::checkout::Checkout;
use super::loopback::Loopback;
use super::signed::sign_request;

/// A batch write takes 25 items (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html>).
const BATCH: usize = 25;

/// A new stack could not be filled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// The seed file could not be read.
    #[error("cannot read `{}`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The seed file is not a list of objects.
    #[error("`{}` is not a JSON list of contacts", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// Where.
        source: serde_json::Error,
    },
    /// The table refused.
    #[error("cannot write contacts to the table `{table}`: {reason}")]
    Table {
        /// Its name.
        table: String,
        /// The engine's answer.
        reason: String,
    },
    /// Secrets Manager refused the value.
    #[error("cannot put a value into the secret `{secret}`: {reason}")]
    Secret {
        /// Its id.
        secret: String,
        /// The engine's answer.
        reason: String,
    },
    /// SES refused the sender.
    #[error("cannot set up `{identity}` as a sender: {reason}")]
    Sender {
        /// The identity.
        identity: String,
        /// The engine's answer.
        reason: String,
    },
}

/// The contacts of `localstack/seed/contacts.json`.
///
/// # Errors
/// The file is missing or is no list of objects.
pub fn contacts_of(checkout: &Checkout) -> Result<Vec<Map<String, Value>>, SeedError> {
    let path = checkout.file("localstack/seed/contacts.json");
    let text = std::fs::read_to_string(&path).map_err(|source| SeedError::File { path: path.clone(), source })?;
    serde_json::from_str(&text).map_err(|source| SeedError::Format { path, source })
}

/// Writes contacts to a table.
///
/// # Errors
/// The table refused them, or did not take all of them.
pub async fn write_contacts(config: &SdkConfig, table: &str, contacts: &[Map<String, Value>]) -> Result<(), SeedError> {
    let failed = |reason: String| SeedError::Table { table: table.to_owned(), reason };
    let client = aws_sdk_dynamodb::Client::new(config);
    for chunk in contacts.chunks(BATCH) {
        let mut requests = Vec::new();
        for contact in chunk {
            let item = contact.iter().map(|(name, value)| (name.clone(), attribute(value))).collect::<HashMap<_, _>>();
            let put = PutRequest::builder().set_item(Some(item)).build().map_err(|error| failed(error.to_string()))?;
            requests.push(WriteRequest::builder().put_request(put).build());
        }
        let answer = client.batch_write_item().request_items(table, requests).send().await;
        let answer = answer.map_err(|error| failed(DisplayErrorContext(&error).to_string()))?;
        if answer.unprocessed_items().is_some_and(|items| !items.is_empty()) {
            return Err(failed("it did not take all of them".to_owned()));
        }
    }
    Ok(())
}

fn attribute(value: &Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null(true),
        Value::Bool(flag) => AttributeValue::Bool(*flag),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        Value::String(text) => AttributeValue::S(text.clone()),
        Value::Array(items) => AttributeValue::L(items.iter().map(attribute).collect()),
        Value::Object(members) => {
            AttributeValue::M(members.iter().map(|(name, value)| (name.clone(), attribute(value))).collect())
        }
    }
}

/// Makes the engine's SES take mails from a domain; without it every mail is refused, as on AWS.
///
/// # Errors
/// The engine refused.
pub async fn verify_sender(engine: SocketAddr, domain: &str) -> Result<(), SeedError> {
    let request = Request::post("/v2/email/identities").header(http::header::CONTENT_TYPE, "application/json");
    match ask(engine, "ses", request, &serde_json::json!({ "EmailIdentity": domain })).await {
        // A second stack finds the domain set up already.
        Err(reason) if !reason.contains("AlreadyExists") => Err(SeedError::Sender { identity: domain.to_owned(), reason }),
        _ => Ok(()),
    }
}

/// Puts a value into a secret of the stack, as an operator does on AWS
/// (<https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html>).
///
/// # Errors
/// The engine refused.
pub async fn put_secret(engine: SocketAddr, secret: &str, value: &str) -> Result<(), SeedError> {
    let request = Request::post("/")
        .header(http::header::CONTENT_TYPE, "application/x-amz-json-1.1")
        .header("x-amz-target", "secretsmanager.PutSecretValue");
    // SDKs make up the token; LocalStack, as AWS, asks for it.
    let token = uuid::Uuid::new_v4();
    let put = serde_json::json!({ "SecretId": secret, "SecretString": value, "ClientRequestToken": token.to_string() });
    let put = ask(engine, "secretsmanager", request, &put).await;
    put.map_err(|reason| SeedError::Secret { secret: secret.to_owned(), reason })
}

/// Sends a signed request; a refusal is the reason. Two calls are not worth two SDKs.
async fn ask(engine: SocketAddr, service: &str, request: http::request::Builder, body: &Value) -> Result<(), String> {
    let request = request.header(http::header::HOST, engine.to_string()).body(Bytes::from(body.to_string()));
    let mut request = request.map_err(|error| error.to_string())?;
    sign_request(&mut request, service, ACCESS_KEY).map_err(|error| error.to_string())?;
    let answer = Loopback::new(Duration::from_secs(60)).send(engine, request).await.map_err(|error| error.to_string())?;
    if answer.status().is_success() {
        return Ok(());
    }
    Err(format!("status {}: {}", answer.status(), String::from_utf8_lossy(answer.body())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_holds_who_the_documentation_and_the_demo_speak_of() {
        let checkout = Checkout::around(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let contacts = contacts_of(&checkout).unwrap();
        let of = |id: &str| contacts.iter().find(|contact| contact["user_id"] == id).unwrap();
        assert_eq!(of("user-42")["email"], "arthur@example.com");
        assert_eq!(contacts.iter().filter(|contact| contact.get("suppressed") == Some(&Value::Bool(true))).count(), 1);
        assert!(!of("user-7")["display_name"].as_str().unwrap().is_ascii());
        assert!(contacts.iter().all(|contact| contact["email"].as_str().unwrap().ends_with("@example.com")));
    }

    #[test]
    fn json_becomes_attributes() {
        let contact = serde_json::json!({"a": "x", "b": true, "n": 3, "m": {"k": "v"}, "l": [null]});
        let AttributeValue::M(members) = attribute(&contact) else { panic!("an object is a map") };
        assert_eq!(members["n"], AttributeValue::N("3".into()));
        assert_eq!(members["l"], AttributeValue::L(vec![AttributeValue::Null(true)]));
        assert_eq!(members["m"], AttributeValue::M(HashMap::from([("k".into(), AttributeValue::S("v".into()))])));
    }
}
