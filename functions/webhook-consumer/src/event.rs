//! What a receiver is told.

use std::fmt;

use ikkai::{
    clock::EpochMillis,
    idempotency::{JobView, LastError},
    job::{JobId, WebhookDeliver},
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Names one end of one job: the same in every try and every repetition, so that a receiver counts it once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventId(String);

impl EventId {
    /// `evt_` and the first half of a SHA-256 over job, generation and status.
    #[must_use]
    pub fn of(event: &WebhookDeliver) -> Self {
        let named = format!("ikkai-event-v1:{}:{}:{}", event.job_id, event.generation, event.status.as_str());
        let digest = Sha256::digest(named.as_bytes());
        Self(format!("evt_{}", digest[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The body, member by member in this order. Nothing in it depends on the moment of the try, so equal ends make equal bytes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    id: &'a EventId,
    #[serde(rename = "type")]
    event_type: String,
    job_id: &'a JobId,
    job_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    business_id: Option<&'a str>,
    status: &'a str,
    generation: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a LastError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred_at: Option<String>,
}

/// The body of the event. Where the record has moved on since (the job was put back, cancelled or resolved), it says nothing any more about this
/// end: the event is told all the same, without result, error and time.
pub(crate) fn body(id: &EventId, event: &WebhookDeliver, job_id: &JobId, ended: &JobView) -> String {
    let still_so = ended.generation == event.generation && ended.status.as_str() == event.status.as_str();
    let when_so = |moment: EpochMillis| still_so.then(|| moment.rfc3339().to_string());
    let job_type = job_id.job_type();
    let body = Body {
        id,
        event_type: format!("job.{}", event.status.as_str()),
        job_id,
        job_type: job_type.as_str(),
        business_id: ended.business_id.as_deref(),
        status: event.status.as_str(),
        generation: event.generation,
        result: ended.result.as_ref().filter(|_| still_so),
        error: ended.last_error.as_ref().filter(|_| still_so),
        occurred_at: when_so(ended.updated_at),
    };
    serde_json::to_string(&body).expect("texts, numbers and JSON make JSON")
}
