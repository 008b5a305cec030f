//! Reads the engine's Secrets Manager.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use serde_json::{Value, json};

use super::aws::ACCESS_KEY;
use super::loopback::{Loopback, LoopbackError};
use super::signed::{SigningError, sign_request};

/// A secret could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The request could not be made.
    #[error("cannot make the request")]
    Request(#[from] http::Error),
    /// The request could not be signed.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// The engine did not answer.
    #[error("cannot reach the engine's Secrets Manager")]
    Unreachable(#[from] LoopbackError),
    /// There is none, or it has no text.
    #[error("the secret `{id}` has no text")]
    NoText {
        /// Its name or ARN.
        id: String,
    },
}

/// The text of a secret (<https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html>).
///
/// # Errors
/// The engine cannot be reached, or the secret has no text.
pub async fn secret_text(engine: SocketAddr, id: &str) -> Result<String, SecretError> {
    let mut request = Request::post("/")
        .header(header::HOST, engine.to_string())
        .header(header::CONTENT_TYPE, "application/x-amz-json-1.1")
        .header("x-amz-target", "secretsmanager.GetSecretValue")
        .body(Bytes::from(json!({"SecretId": id}).to_string()))?;
    sign_request(&mut request, "secretsmanager", ACCESS_KEY)?;
    let answer = Loopback::new(Duration::from_secs(10)).send(engine, request).await?;
    let answer: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    answer["SecretString"].as_str().map(str::to_owned).ok_or_else(|| SecretError::NoText { id: id.to_owned() })
}
