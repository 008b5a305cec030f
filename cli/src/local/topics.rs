//! Publishing to the engine's SNS topics.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};

use super::aws::ACCESS_KEY;
use super::loopback::{Loopback, LoopbackError};
use super::signed::{SigningError, sign_request};

/// A message could not be published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The request could not be made.
    #[error("cannot make the request")]
    Request(#[from] http::Error),
    /// The request could not be signed.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// The engine did not answer.
    #[error("cannot reach the engine's SNS")]
    Unreachable(#[from] LoopbackError),
    /// The engine refused.
    #[error("SNS answered {status}: {reason}")]
    Refused {
        /// The answer's status.
        status: StatusCode,
        /// What it says.
        reason: String,
    },
}

/// Publishes a message to a topic (<https://docs.aws.amazon.com/sns/latest/api/API_Publish.html>).
///
/// # Errors
/// The engine cannot be reached or refuses.
pub async fn publish(engine: SocketAddr, topic_arn: &str, message: &str) -> Result<(), TopicError> {
    let form = [("Action", "Publish"), ("Version", "2010-03-31"), ("TopicArn", topic_arn), ("Message", message)];
    let body = form.map(|(name, value)| format!("{name}={}", form_encoded(value))).join("&");
    let mut request = Request::post("/")
        .header(header::HOST, engine.to_string())
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Bytes::from(body))?;
    sign_request(&mut request, "sns", ACCESS_KEY)?;
    let answer = Loopback::new(Duration::from_secs(10)).send(engine, request).await?;
    if answer.status().is_success() {
        return Ok(());
    }
    Err(TopicError::Refused { status: answer.status(), reason: String::from_utf8_lossy(answer.body()).into_owned() })
}

fn form_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_goes_into_the_form_whole() {
        assert_eq!(form_encoded(r#"{"a":"b c&d=é"}"#), "%7B%22a%22%3A%22b%20c%26d%3D%C3%A9%22%7D");
    }
}
