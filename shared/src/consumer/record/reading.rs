//! What a message says: its job, or why it is none.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use uuid::Uuid;

use super::super::handler::Handler;
use super::super::outcome::Outcome;
use super::{RecordRun, Stop};
use crate::idempotency::{Created, ErrorClass, Event, JobRecord, LastError, Status, Verdict};
use crate::job::{Envelope, EnvelopeError, Header, Job, JobId, Parsed, decode};

impl<H: Handler> RecordRun<'_, H> {
    pub(super) async fn parse(&mut self) -> Result<Envelope, Stop> {
        match guarded(|| Envelope::parse(self.received.body(), &self.core.kind)) {
            Ok(Ok(Parsed::Job(envelope))) => Ok(envelope),
            Ok(Ok(Parsed::TooNew(header))) => Err(self.hold_schema(&header).await.into()),
            Ok(Err(error)) => Err(self.reject(&error).await.into()),
            Err(panicked) => Err(self.record_poison(panicked).await.into()),
        }
    }

    /// A body that cannot be understood: recorded dead under its message id, with the reason and without the body.
    async fn reject(&mut self, error: &EnvelopeError) -> Outcome {
        self.record_poison(LastError::new(ErrorClass::Poison, error.code(), error.to_string())).await
    }

    pub(super) async fn record_poison(&mut self, error: LastError) -> Outcome {
        let job_type = self.core.kind.job_type();
        let job_id = JobId::for_message(&job_type, &self.received.message_id);
        let now = self.core.clock.now();
        let caller = format!("direct:{}", self.core.settings.queue_name.as_str());
        let record = JobRecord {
            last_error: Some(error.clone()),
            died_at: Some(now),
            // So that a write which is repeated because its first answer was lost recognises itself.
            accept_token: Some(Uuid::new_v4().to_string()),
            ..JobRecord::new(job_id.clone(), job_type, self.core.kind.schema_version, &caller, Status::Dead, now)
        };
        self.job_id = Some(job_id);
        match self.in_time(self.core.ledger.create(&record)).await {
            Ok(Created::New) => Outcome::Poison(error),
            Ok(Created::Exists(_)) => Outcome::EndedBefore(error),
            // Without a record the reason would be lost, so the message comes back for another try at writing it.
            Err(problem) => self.unrecorded(&problem),
        }
    }

    async fn hold_schema(&mut self, header: &Header) -> Outcome {
        let settings = &self.core.settings;
        let job_id = match (&header.job_id, &header.idempotency_key) {
            (Some(job_id), _) => job_id.clone(),
            (None, Some(key)) => JobId::for_direct_sender(settings.queue_name.as_str(), &header.job_type, key),
            (None, None) => JobId::for_message(&header.job_type, &self.received.message_id),
        };
        let now = self.core.clock.now();
        let caller = format!("direct:{}", settings.queue_name.as_str());
        let blank =
            JobRecord::new(job_id.clone(), header.job_type.clone(), header.schema_version, &caller, Status::Accepted, now);
        let hold = |hold| Event::HoldSchema {
            blank: Box::new(blank.clone()),
            sent_at: self.received.sent_at,
            hold,
            max_generations: settings.max_generations,
        };
        self.job_id = Some(job_id.clone());
        let mut held = self.in_time(self.core.ledger.apply(&job_id, &hold(settings.schema_hold))).await;
        if matches!(held, Ok(Verdict::SchemaHeld)) && self.is_last_chance() {
            // A FIFO message cannot be renewed: it has waited as long as it could.
            held = self.in_time(self.core.ledger.apply(&job_id, &hold(Duration::ZERO))).await;
        }
        match held {
            Ok(Verdict::SchemaHeld) => Outcome::SchemaHeld(settings.schema_defer),
            Ok(verdict) => self.stopped(verdict),
            Err(error) => self.unrecorded(&error),
        }
    }

    pub(super) async fn understand(&mut self, envelope: Envelope) -> Result<(Job<H::Payload>, serde_json::Value), Stop> {
        let payload = match guarded(|| decode::<H::Payload>(&envelope.payload)) {
            Ok(Ok(payload)) => payload,
            Ok(Err(fields)) => return Err(self.reject(&EnvelopeError::InvalidPayload(fields)).await.into()),
            Err(panicked) => return Err(self.record_poison(panicked).await.into()),
        };
        let queue = self.core.settings.queue_name.as_str();
        let id =
            envelope.job_id.unwrap_or_else(|| JobId::for_direct_sender(queue, &envelope.job_type, &envelope.idempotency_key));
        self.job_id = Some(id.clone());
        let job = Job {
            id,
            job_type: envelope.job_type,
            schema_version: envelope.schema_version,
            business_id: envelope.business_id,
            idempotency_key: envelope.idempotency_key,
            payload,
        };
        Ok((job, envelope.payload))
    }
}

/// Reads a body with the payload type's own code, whose panics end this record only.
fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, LastError> {
    std::panic::catch_unwind(AssertUnwindSafe(read)).map_err(|_| {
        let message = "the check of the payload panicked; its location is in the log";
        LastError::new(ErrorClass::Poison, "payload_check_panicked", message)
    })
}
