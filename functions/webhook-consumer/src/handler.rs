//! What becomes of one `webhook.deliver` job.

use std::sync::Arc;
use std::time::Duration;

use ikkai::{
    clock::Clock,
    consumer::{Done, Failure, Handler, JobContext},
    idempotency::{EffectPolicy, JobViews, StoreError},
    job::{Job, WebhookDeliver},
    visibility::Backoff,
};
use serde_json::json;

use crate::{
    courier::{Courier, Delivery},
    delivery_error::DeliveryError,
    event::{self, EventId},
    keyring::Keyring,
    secret::SecretError,
    signature::signature,
};

/// How long events wait for a secret or a table that the function may not read: an operator has to act first.
const NOT_READY_DELAY: Duration = Duration::from_secs(5 * 60);

/// Tells the callback URL of an ended job what became of it: reads the record, writes and signs the event, posts it.
///
/// Receivers know a repeated event by its id, so a repetition is harmless and nothing is ever in doubt.
pub struct WebhookHandler {
    jobs: Arc<dyn JobViews>,
    keyring: Keyring,
    courier: Courier,
    clock: Arc<dyn Clock>,
    backoff: Backoff,
}

impl WebhookHandler {
    /// A handler over these parts. `backoff` is the consumer's own: a receiver's `Retry-After` never shortens it.
    #[must_use]
    pub fn new(jobs: Arc<dyn JobViews>, keyring: Keyring, courier: Courier, clock: Arc<dyn Clock>, backoff: Backoff) -> Self {
        Self { jobs, keyring, courier, clock, backoff }
    }

    /// What a failed delivery means for its job.
    fn failure(&self, error: DeliveryError, attempt: u32) -> Failure {
        let (code, message) = (error.code(), error.to_string());
        if error.is_final() {
            return Failure::permanent(code, message);
        }
        // The attempt counts, whatever the receiver says: one that always answers 429 would be called for ever.
        let failure = Failure::retry(code, message).of_one_target();
        match error.retry_after() {
            Some(theirs) => {
                let theirs = theirs.wait(self.clock.now());
                failure.after(theirs.max(self.backoff.delay(attempt, 1.0)))
            }
            None => failure,
        }
    }
}

impl Handler for WebhookHandler {
    type Payload = WebhookDeliver;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::RERUN
    }

    async fn handle(&self, job: &Job<WebhookDeliver>, context: &JobContext) -> Result<Done, Failure> {
        let event = &job.payload;
        let job_id = event.job_id().map_err(|error| Failure::permanent("job_id_invalid", error.to_string()))?;
        let ended = self.jobs.view(&job_id, self.clock.now()).await;
        let ended = ended.map_err(record_unread)?;
        let Some((ended, url)) = ended.as_ref().and_then(|ended| Some((ended, ended.callback_url.as_deref()?))) else {
            return Ok(Done::with_result(json!({"skipped": "no_callback"})));
        };
        let secret = self.keyring.secret().await.map_err(secret_missing)?;
        // A call that is cut off by the deadline is one that the receiver may have taken: it is not begun. Nor is one whose answer is.
        if context.remaining() < self.courier.longest_delivery() {
            return Err(Failure::no_time());
        }
        let event_id = EventId::of(event);
        let body = event::body(&event_id, event, &job_id, ended);
        let signature = signature(&secret, &ended.caller, self.clock.now().to_seconds_floor(), body.as_bytes());
        let delivery = Delivery { url, event_id: &event_id, signature: &signature, body };
        let status = self.courier.deliver(delivery).await.map_err(|error| self.failure(error, context.attempt()))?;
        Ok(Done::with_result(json!({"eventId": event_id, "httpStatus": status.as_u16()})))
    }
}

/// As long as the ended job's record is not read, nobody is called: the event waits, and no attempt is used.
fn record_unread(error: StoreError) -> Failure {
    match error {
        StoreError::Denied { .. } | StoreError::Refused { .. } => {
            tracing::error!(error_code = error.code(), error = %error, "jobs table not ready");
            Failure::defer(error.code(), error.to_string(), Some(NOT_READY_DELAY))
        }
        // The record of this one job: asking again for ever would not mend it.
        StoreError::Corrupt { .. } => Failure::retry(error.code(), error.to_string()).of_one_target(),
        _ => Failure::defer(error.code(), error.to_string(), None),
    }
}

/// Nothing is wrong with the event: it waits, and no attempt is used.
fn secret_missing(error: SecretError) -> Failure {
    if let SecretError::Unreachable { .. } = error {
        return Failure::defer(error.code(), error.to_string(), None);
    }
    tracing::error!(error_code = error.code(), error = %error, "signing secret not usable");
    Failure::defer(error.code(), error.to_string(), Some(NOT_READY_DELAY))
}
