//! Completion events: what became of a job, as a job of the webhook consumer's.

use serde_json::Value;

use super::outcome::Outcome;
use crate::clock::{EpochMillis, EpochSeconds};
use crate::idempotency::{JobRecord, Status};
use crate::job::{EndStatus, Envelope, IdempotencyKey, JobId, JobPayload, JobType, ReferenceId, WebhookDeliver};
use crate::queue::{OutgoingMessage, QueueName};

/// A job whose caller wants to be told how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Completion {
    job_id: JobId,
    generation: u32,
    status: Status,
    /// Who is told.
    caller: String,
    /// The business case, whose ends are told in order where the queue keeps one.
    business_id: Option<String>,
    /// When the record may go, as far as it was read with an end.
    expires_at: Option<EpochSeconds>,
}

impl Completion {
    /// The event about a job that had ended before.
    pub(super) fn of_ended(record: &JobRecord) -> Option<Self> {
        Self::of(record, record.status)
    }

    /// The event about a job that ends now.
    pub(super) fn of_ending(record: &JobRecord, outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Succeeded => Self::of(record, Status::Succeeded),
            Outcome::Died(_) => Self::of(record, Status::Dead),
            Outcome::InDoubt(_) => Self::of(record, Status::InDoubt),
            _ => None,
        }
    }

    fn of(record: &JobRecord, status: Status) -> Option<Self> {
        // The delivery of an event has no event itself.
        let is_delivery = record.job_type.as_str() == WebhookDeliver::TYPE;
        let wanted = record.callback_url.is_some() && !is_delivery && end_status(status).is_some();
        wanted.then(|| Self {
            job_id: record.job_id.clone(),
            generation: record.generation,
            status,
            caller: record.caller.clone(),
            business_id: record.business_id.clone(),
            expires_at: record.expires_at,
        })
    }

    /// Whether the record is still there at this moment: without it the job would run again. One that ends now has all its time left.
    pub(super) fn is_remembered_at(&self, moment: EpochMillis) -> bool {
        self.expires_at.is_none_or(|end| end.to_millis() > moment)
    }

    /// The event for `queue`. The same end of the same job is the same job there, however often it is sent. `None`: a job with such an id
    /// was never accepted with a callback.
    pub(super) fn message(&self, queue: &QueueName, trace_header: Option<&String>) -> Option<OutgoingMessage> {
        let job_type = JobType::parse(WebhookDeliver::TYPE).ok()?;
        let Self { job_id, generation, status, .. } = self;
        let key = IdempotencyKey::parse(&format!("{job_id}:{generation}:{status}")).ok()?;
        let event = WebhookDeliver {
            job_id: ReferenceId::parse(job_id.as_str()).ok()?,
            status: end_status(*status)?,
            generation: *generation,
        };
        let event_id = JobId::for_direct_sender(queue.as_str(), &job_type, &key);
        let envelope = Envelope {
            job_id: Some(event_id.clone()),
            job_type,
            schema_version: WebhookDeliver::SCHEMA_VERSION,
            business_id: None,
            idempotency_key: key,
            payload: serde_json::to_value(event).unwrap_or(Value::Null),
        };
        // A line a caller: one whose receiver is down does not hold up another's.
        let line = [self.caller.as_str(), self.business_id.as_deref().unwrap_or(job_id.as_str())];
        let message = OutgoingMessage { trace_header: trace_header.cloned(), ..OutgoingMessage::new(envelope.to_body()) };
        Some(message.in_line(queue, &line, &event_id))
    }
}

/// Ends that callers are told. Who cancels a job knows it.
const fn end_status(status: Status) -> Option<EndStatus> {
    match status {
        Status::Succeeded => Some(EndStatus::Succeeded),
        Status::Dead => Some(EndStatus::Dead),
        Status::InDoubt => Some(EndStatus::InDoubt),
        _ => None,
    }
}
