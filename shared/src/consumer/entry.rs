//! What the messages of a batch hold: one job each, or several.

use std::panic::AssertUnwindSafe;

use super::body::{self, Body, BodyError, Told};
use super::core::Core;
use super::handler::Handler;
use super::identity;
use super::object::{ObjectEvent, ObjectVerdict};
use super::received::Received;
use crate::idempotency::{ErrorClass, LastError};
use crate::job::{Envelope, EnvelopeError, FieldError, Header, JobPayload, Parsed};

/// One job of a message, or what stands where a job should be. It goes through the pipeline by itself.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its message's place in the batch.
    pub(super) message: usize,
    /// Its place in the message, where that holds several.
    pub(super) place: Option<usize>,
    pub(super) content: Content,
}

/// What an entry says.
#[derive(Debug)]
pub(super) enum Content {
    /// A job that was sent as one.
    Job(Envelope),
    /// The job that the handler makes of an object in S3.
    Object(Envelope),
    /// A job for a newer consumer.
    TooNew(Header),
    /// No job, for this reason.
    Unreadable(LastError),
    /// Nothing to do, for this reason.
    Nothing(&'static str),
}

impl Entry {
    /// A name for the entry in its queue: the message's id, and its place where the message holds several.
    pub(super) fn id(&self, received: &Received) -> String {
        identity::of_place(&received.message_id, self.place)
    }
}

/// Reads all messages of a batch: at least one entry for each, in order.
pub(super) fn entries<H: Handler>(core: &Core<H>, received: &[Received]) -> Vec<Entry> {
    let contents = received.iter().map(|message| read(core, message.body()));
    let entries = contents.enumerate().flat_map(|(message, contents)| {
        let several = contents.len() > 1;
        contents.into_iter().enumerate().map(move |(place, content)| Entry { message, place: several.then_some(place), content })
    });
    entries.collect()
}

fn read<H: Handler>(core: &Core<H>, text: &str) -> Vec<Content> {
    match guarded(PAYLOAD_CHECK, || body::read(text, &core.kind)) {
        Ok(Ok(Body::Job(Parsed::Job(envelope)))) => vec![Content::Job(envelope)],
        Ok(Ok(Body::Job(Parsed::TooNew(header)))) => vec![Content::TooNew(header)],
        Ok(Ok(Body::Objects(told))) => told.into_iter().map(|told| content_of(core, told)).collect(),
        Ok(Ok(Body::Nothing(reason))) => vec![Content::Nothing(reason)],
        Ok(Err(error)) => vec![Content::Unreadable(LastError::from(&error))],
        Err(panicked) => vec![Content::Unreadable(panicked)],
    }
}

fn content_of<H: Handler>(core: &Core<H>, told: Result<Told, BodyError>) -> Content {
    let object = match told {
        Ok(Told::Object(object)) => object,
        Ok(Told::Nothing(reason)) => return Content::Nothing(reason),
        Err(error) => return Content::Unreadable(LastError::from(&error)),
    };
    match guarded(OBJECT_CHECK, || core.handler.on_object(&object)) {
        Ok(ObjectVerdict::Job(payload)) => match guarded(PAYLOAD_CHECK, || job_of(core, &object, &payload)) {
            Ok(Ok(envelope)) => Content::Object(envelope),
            Ok(Err(error)) => Content::Unreadable(LastError::from(&error)),
            Err(panicked) => Content::Unreadable(panicked),
        },
        Ok(ObjectVerdict::Skip(reason)) => Content::Nothing(reason),
        Ok(ObjectVerdict::Refuse { code, message }) => Content::Unreadable(LastError::new(ErrorClass::Poison, code, message)),
        Err(panicked) => Content::Unreadable(panicked),
    }
}

/// The envelope that a sender would have written for the object, under the same rules.
fn job_of<H: Handler>(core: &Core<H>, object: &ObjectEvent, payload: &H::Payload) -> Result<Envelope, BodyError> {
    let not_json = |_| {
        let error = FieldError::new("/payload", "payload_invalid", "the payload that the handler made is no JSON");
        EnvelopeError::InvalidPayload(vec![error])
    };
    let envelope = Envelope {
        job_id: None,
        job_type: core.kind.job_type(),
        schema_version: H::Payload::SCHEMA_VERSION,
        business_id: None,
        idempotency_key: object.idempotency_key().ok_or(BodyError::ObjectNotIdentified)?,
        payload: serde_json::to_value(payload).map_err(not_json)?,
    };
    envelope.check(&core.kind).map_err(|error| error.fit_for_logs(&core.kind, &[]))?;
    Ok(envelope)
}

/// Code of a consumer that reads a message, by the names of its panic.
pub(super) struct Guard {
    code: &'static str,
    message: &'static str,
}

pub(super) const PAYLOAD_CHECK: Guard =
    Guard { code: "payload_check_panicked", message: "the check of the payload panicked; its location is in the log" };

const OBJECT_CHECK: Guard =
    Guard { code: "on_object_panicked", message: "the handler's `on_object` panicked; its location is in the log" };

/// Reads with a consumer's own code, whose panics end this entry only.
pub(super) fn guarded<T>(guard: Guard, read: impl FnOnce() -> T) -> Result<T, LastError> {
    std::panic::catch_unwind(AssertUnwindSafe(read)).map_err(|_| LastError::new(ErrorClass::Poison, guard.code, guard.message))
}
