//! Amazon SES, API version 2.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use aws_sdk_sesv2::{
    Client,
    config::{
        Builder, ConfigBag, Intercept, RuntimeComponents, StalledStreamProtectionConfig,
        interceptors::BeforeTransmitInterceptorContextRef, retry::RetryConfig, timeout::TimeoutConfig,
    },
    error::{BuildError, ProvideErrorMetadata as _, SdkError},
    operation::send_email::SendEmailError,
    primitives::Blob,
    types::{Destination, EmailContent, MessageTag, RawMessage},
};
use aws_smithy_runtime_api::{box_error::BoxError, client::orchestrator::HttpResponse};

use ikkai::aws::connections::{MAX_CONNECT_TIME, Unsigned, http_client, never_connected};

use super::{Mailer, MessageId, SendError, failure::Refusal};
use crate::message::Mail;

/// Name of the tag that carries the job id into SES's events (bounce, complaint, delivery).
const JOB_TAG: &str = "ikkai-job";
/// Longest tag value (`MessageTag`, API reference).
const MAX_TAG_CHARS: usize = 256;
/// How long an idle connection may be used again.
///
/// A request that is written to a connection which the other side has closed is lost, and nobody knows whether it was read: a mail in
/// doubt. hyper does what can be done afterwards: a pooled connection whose end it has seen is not handed out, and a request that was
/// not written yet goes to another connection. The round trip to DynamoDB before each mail gives the runtime the time to see ends that
/// have arrived. What remains is an end that has not: lost while the sandbox was frozen, or never sent by something in between that
/// forgot the connection. So a connection is left while the other side surely still holds it; some AWS endpoints
/// close after 20 s of silence (<https://github.com/vectordotdev/vector/pull/9703>). The age is checked at the moment of use, by
/// a clock that goes on while a sandbox is frozen (measured: <https://github.com/aws/aws-lambda-web-adapter/issues/830>).
const MAX_IDLE_TIME: Duration = Duration::from_secs(10);

/// What the mailer needs to know besides the SDK's configuration.
#[derive(Clone, Debug)]
pub struct SesSettings {
    /// How long one request may take, connection included, before its outcome counts as unknown.
    pub timeout: Duration,
    /// The SES configuration set to send under, if any.
    pub configuration_set: Option<String>,
}

/// Sends through SES with one HTTP request a mail.
#[derive(Clone, Debug)]
pub struct SesMailer {
    client: Client,
    configuration_set: Option<String>,
}

impl SesMailer {
    /// Makes a client of its own from the SDK configuration, `Builder::from(&sdk_config)`, with connections of its own that are not
    /// kept idle for long, and with retries off: the SDK would repeat a request whose answer was lost, and SES has no idempotency key,
    /// so the repetition is a second mail.
    #[must_use]
    pub fn new(config: Builder, settings: SesSettings) -> Self {
        // Under the attempt's timeout, so that a connection that never came up is told apart from an answer that never came.
        let connect_timeout = (settings.timeout / 2).min(MAX_CONNECT_TIME);
        let config = config
            .http_client(http_client(connect_timeout, MAX_IDLE_TIME))
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(settings.timeout).build())
            // One clock decides when an answer is late, not two.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Self { client: Client::from_conf(config), configuration_set: settings.configuration_set }
    }

    /// Opens `connections` connections, so that the first mails make no TLS handshake. Best effort: whatever is answered, the
    /// connections stay.
    ///
    /// The call is a `GetAccount` without its signature, which SES refuses at the door: it needs no permission, leaves no denied call
    /// in the account's trail, and takes nothing of the one call a second that all but the sending operations share
    /// (<https://docs.aws.amazon.com/ses/latest/dg/quotas.html>).
    pub async fn warm_up(&self, connections: usize) {
        ikkai::aws::warm_up(connections, || Box::pin(self.client.get_account().customize().interceptor(Unsigned).send())).await;
    }
}

#[async_trait]
impl Mailer for SesMailer {
    async fn send(&self, mail: &Mail) -> Result<MessageId, SendError> {
        let (content, tag) = parts_of(mail).map_err(|_| SendError::NotSent { code: "request_not_built" })?;
        let transmission = Transmission::default();
        let answer = self
            .client
            .send_email()
            .from_email_address(mail.from.address.as_str())
            // The envelope's only recipient, whatever the message's header says.
            .destination(Destination::builder().to_addresses(mail.to.address.as_str()).build())
            .content(content)
            .email_tags(tag)
            .set_configuration_set_name(self.configuration_set.clone())
            .customize()
            .interceptor(transmission.clone())
            .send()
            .await;
        match answer {
            Ok(answer) => answer.message_id.map(MessageId).ok_or(SendError::Unknown { code: "provider_answer_unreadable" }),
            Err(error) => Err(classify(&error, &transmission)),
        }
    }
}

fn parts_of(mail: &Mail) -> Result<(EmailContent, MessageTag), BuildError> {
    let raw = RawMessage::builder().data(Blob::new(mail.to_mime())).build()?;
    let tag = MessageTag::builder().name(JOB_TAG).value(tag_value(&mail.job_id)).build()?;
    Ok((EmailContent::builder().raw(raw).build(), tag))
}

/// The job id in the characters that a tag may have. Only the dot of the job's type is foreign to them.
fn tag_value(job_id: &str) -> String {
    let allowed = |character: char| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
    job_id.chars().map(allowed).take(MAX_TAG_CHARS).collect()
}

fn classify(error: &SdkError<SendEmailError, HttpResponse>, transmission: &Transmission) -> SendError {
    match error {
        SdkError::ServiceError(answered) => refusal(answered.raw(), error.code(), error.message()).classify(),
        SdkError::ResponseError(unreadable) => refusal(unreadable.raw(), None, None).classify(),
        SdkError::ConstructionFailure(_) => SendError::NotSent { code: "request_not_built" },
        // Nothing was handed to a connection: there were no credentials to sign it with.
        _ if !transmission.has_begun() => SendError::AccountNotReady { code: "provider_credentials_missing" },
        SdkError::DispatchFailure(failure) if never_connected(failure) => SendError::Unreachable { code: "provider_unreachable" },
        SdkError::TimeoutError(_) => SendError::Unknown { code: "provider_timeout" },
        SdkError::DispatchFailure(failure) if failure.is_timeout() => SendError::Unknown { code: "provider_timeout" },
        // Reset, closed, or anything the SDK may add: unless it is known that nothing was written, a mail may be out.
        _ => SendError::Unknown { code: "provider_connection_lost" },
    }
}

fn refusal<'a>(raw: &'a HttpResponse, error_code: Option<&'a str>, message: Option<&'a str>) -> Refusal<'a> {
    Refusal {
        status: raw.status().as_u16(),
        error_code: error_code.unwrap_or_default(),
        message: message.unwrap_or_default(),
        retry_after: raw.headers().get("retry-after"),
    }
}

/// Notes when a request is handed to the connection. What fails before (no credentials, no region) cannot have sent anything, but
/// the SDK reports it like a broken connection.
#[derive(Clone, Debug, Default)]
struct Transmission(Arc<AtomicBool>);

impl Transmission {
    fn has_begun(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Intercept for Transmission {
    fn name(&self) -> &'static str {
        "Transmission"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.store(true, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_value_has_only_the_characters_that_ses_takes() {
        assert_eq!(tag_value("email.send-0f3a_9Z"), "email_send-0f3a_9Z");
        assert_eq!(tag_value("ü\r\n:"), "____");
        assert_eq!(tag_value(&"x".repeat(300)).len(), 256);
    }
}
