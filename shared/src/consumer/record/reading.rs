//! What an entry says: its job, or why it is none.

use std::time::Duration;

use serde_json::Value;

use super::super::entry::{Content, PAYLOAD_CHECK, guarded};
use super::super::handler::Handler;
use super::super::identity;
use super::super::outcome::Outcome;
use super::{JobRun, Stop};
use crate::idempotency::{Created, Decision, ErrorClass, Event, JobRecord, LastError, Status, Verdict};
use crate::job::{Envelope, EnvelopeError, Header, Job, JobId, decode, payload_digest};

/// A job with its payload both ways: decoded for the handler, as it was sent for the record.
pub(super) struct Understood<H: Handler> {
    pub(super) job: Job<H::Payload>,
    pub(super) payload: Value,
}

impl<H: Handler> JobRun<'_, H> {
    pub(super) async fn read(&mut self) -> Result<Understood<H>, Stop> {
        let entry = self.entry;
        match &entry.content {
            Content::Job(envelope) | Content::Object(envelope) => self.understand(envelope).await,
            Content::TooNew(header) => Err(self.hold_schema(header).await.into()),
            Content::Unreadable(error) => Err(self.record_poison(error.clone()).await.into()),
            Content::Nothing(reason) => Err(Outcome::Skipped(reason).into()),
        }
    }

    async fn understand(&mut self, envelope: &Envelope) -> Result<Understood<H>, Stop> {
        let payload = match guarded(PAYLOAD_CHECK, || decode::<H::Payload>(&envelope.payload)) {
            Ok(Ok(payload)) => payload,
            Ok(Err(fields)) => {
                let error = EnvelopeError::InvalidPayload(fields);
                let error = LastError::new(ErrorClass::Poison, error.code(), error.to_string());
                return Err(self.record_poison(error).await.into());
            }
            Err(panicked) => return Err(self.record_poison(panicked).await.into()),
        };
        let id = identity::of_job(envelope, self.core.settings.queue_name.as_str());
        self.job_id = Some(id.clone());
        let job = Job {
            id,
            job_type: envelope.job_type.clone(),
            schema_version: envelope.schema_version,
            business_id: envelope.business_id.clone(),
            idempotency_key: envelope.idempotency_key.clone(),
            payload,
        };
        Ok(Understood { job, payload: envelope.payload.clone() })
    }

    /// The job is what its record says, where its message may say something else: what a handler makes of an object may change with its
    /// settings, and an event may come again after that; and an operator may have mended the payload of a job whose former message is still
    /// about, or is sent again by its caller's honest repetition. `false`: the payload stays as it is.
    pub(super) fn adopt_recorded_payload(&self, understood: &mut Understood<H>, record: &JobRecord) -> bool {
        let is_of_object = matches!(self.entry.content, Content::Object(_));
        if !is_of_object && !record.had_payload(&payload_digest(&understood.payload)) {
            return false;
        }
        let Some(payload) = &record.payload else { return false };
        let Ok(Ok(decoded)) = guarded(PAYLOAD_CHECK, || decode::<H::Payload>(payload)) else { return false };
        understood.job.payload = decoded;
        understood.payload.clone_from(payload);
        true
    }

    /// What cannot be understood is recorded dead under its message's id, with the reason and without the body.
    pub(super) async fn record_poison(&mut self, error: LastError) -> Outcome {
        let job_type = self.core.kind.job_type();
        let job_id = JobId::for_message(&job_type, &self.entry.id(self.received));
        let now = self.core.clock.now();
        let caller = format!("direct:{}", self.core.settings.queue_name.as_str());
        let record = JobRecord {
            last_error: Some(error.clone()),
            died_at: Some(now),
            // So that a write which is repeated because its first answer was lost recognises itself.
            accept_token: Some(crate::token::unique().to_string()),
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
        let job_id = identity::of_newer_job(header, settings.queue_name.as_str(), &self.received.message_id);
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
        if matches!(&held, Ok(Decision { verdict: Verdict::SchemaHeld, .. })) && self.is_last_chance() {
            // A FIFO message cannot be renewed: it has waited as long as it could.
            held = self.in_time(self.core.ledger.apply(&job_id, &hold(Duration::ZERO))).await;
        }
        match held {
            Ok(Decision { verdict: Verdict::SchemaHeld, .. }) => Outcome::SchemaHeld(settings.schema_defer),
            Ok(Decision { verdict, record }) => self.stopped(verdict, record.as_deref()),
            Err(error) => self.unrecorded(&error),
        }
    }
}
