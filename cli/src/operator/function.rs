//! The deployed function as the desk.

use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_lambda::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_lambda::operation::invoke::InvokeError;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use dlq_redrive::protocol::Request;
use serde_json::Value;

use super::desk::{Desk, DeskError, Reply};

/// Longer than a function may run (<https://docs.aws.amazon.com/lambda/latest/dg/configuration-timeout.html>): 900 s.
const ANSWERS_WITHIN: Duration = Duration::from_secs(930);

/// A deployed function.
#[derive(Debug, Clone)]
pub struct FunctionDesk {
    client: aws_sdk_lambda::Client,
    function: String,
}

impl FunctionDesk {
    /// The function of this name.
    ///
    /// The SDK's own retries are off: a slow answer would become a second invocation
    /// (<https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>). Who repeats a request does so knowingly, under the same run id.
    #[must_use]
    pub fn new(config: &SdkConfig, function: impl Into<String>) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(5))
            .read_timeout(ANSWERS_WITHIN)
            .operation_attempt_timeout(ANSWERS_WITHIN)
            .operation_timeout(ANSWERS_WITHIN)
            .build();
        let patient = aws_sdk_lambda::config::Builder::from(config)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Self { client: aws_sdk_lambda::Client::from_conf(patient), function: function.into() }
    }

    fn failed(&self, error: SdkError<InvokeError>) -> DeskError {
        let function = self.function.clone();
        match &error {
            SdkError::ServiceError(_) => {}
            SdkError::ConstructionFailure(_) => return DeskError::NotAsked { function, source: Box::new(error) },
            SdkError::DispatchFailure(_) if never_connected(&error) => {
                return DeskError::NotAsked { function, source: Box::new(error) };
            }
            // Whatever broke later: the request may be on its way.
            _ => return DeskError::Lost { function, source: Box::new(error) },
        }
        let told = error.message().unwrap_or_default().to_owned();
        let status = error.raw_response().map(|response| response.status().as_u16());
        match (error.code(), status) {
            (Some("ResourceNotFoundException"), _) => DeskError::NoFunction { function },
            (Some("AccessDeniedException"), _) | (_, Some(403)) => DeskError::NotAllowed { function, told },
            (Some("TooManyRequestsException"), _) => DeskError::Throttled { function },
            (_, Some(400..500)) => DeskError::NotAsked { function, source: Box::new(error) },
            // Lambda itself is in trouble: whether the function has run is not known.
            _ => DeskError::Lost { function, source: Box::new(error) },
        }
    }
}

/// Whether there was no connection over which anything could have been asked.
fn never_connected(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        cause.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(hyper_util::client::legacy::Error::is_connect)
    })
}

#[async_trait]
impl Desk for FunctionDesk {
    async fn ask(&self, request: &Request) -> Result<Reply, DeskError> {
        let invoke = self.client.invoke().function_name(&self.function).invocation_type(InvocationType::RequestResponse);
        let output = invoke.payload(Blob::new(request.to_json().to_string())).send().await.map_err(|error| self.failed(error))?;
        let payload = output.payload().map(Blob::as_ref).unwrap_or_default();
        read(&self.function, output.function_error().is_some(), payload)
    }
}

/// Reads what an invocation gave.
fn read(function: &str, is_error: bool, payload: &[u8]) -> Result<Reply, DeskError> {
    let json: Value = match serde_json::from_slice(payload) {
        Ok(json) => json,
        Err(_) if is_error => Value::Null,
        Err(error) => return Err(DeskError::NotAnAnswer { why: format!("not JSON: {error}") }),
    };
    if !is_error {
        return Reply::read(json);
    }
    let member = |name: &str, unknown: &str| json[name].as_str().unwrap_or(unknown).to_owned();
    Err(DeskError::Failed {
        function: function.to_owned(),
        kind: member("errorType", "unknown error"),
        message: member("errorMessage", "it said nothing"),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_function_that_fails_is_told_in_its_own_words() {
        let error = read("redrive", true, br#"{"errorType":"Sandbox.Timedout","errorMessage":"timed out after 900.00 seconds"}"#);
        let told = error.unwrap_err().to_string();
        assert_eq!(told, "the function `redrive` failed (Sandbox.Timedout): timed out after 900.00 seconds; its log says more");
        assert!(read("redrive", true, b"").unwrap_err().to_string().contains("it said nothing"));
    }

    #[test]
    fn an_answer_that_is_no_json_is_told_so() {
        assert!(read("redrive", false, b"<html>").unwrap_err().to_string().contains("not JSON"));
        assert!(read("redrive", false, b"null").unwrap_err().to_string().contains("no answer"));
    }

    #[test]
    fn an_answer_is_read() {
        let reply = read("redrive", false, br#"{"version":1,"action":"history","ok":true,"runs":[]}"#).unwrap();
        assert_eq!(reply.json["action"], "history");
    }

    #[tokio::test]
    async fn a_function_that_cannot_be_reached_was_not_asked() {
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let desk = FunctionDesk::new(&crate::local::aws::sdk_config(nobody), "redrive");
        let request = Request::read(serde_json::json!({"action": "status"})).unwrap();
        let error = desk.ask(&request).await.unwrap_err();
        assert!(matches!(error, DeskError::NotAsked { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_lost_and_asked_for_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let desk = FunctionDesk::new(&crate::local::aws::sdk_config(listener.local_addr().unwrap()), "redrive");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                // It takes the request, and hangs up.
                stream.readable().await.unwrap();
            }
        });
        let request = Request::read(serde_json::json!({"action": "status"})).unwrap();
        assert!(desk.ask(&request).await.unwrap_err().is_lost());
        assert_eq!(connections.load(Ordering::SeqCst), 1, "the SDK must not repeat it");
    }
}
