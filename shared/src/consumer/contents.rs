//! What a message holds, for tools that look at messages without working on them.

use super::body::{self, Body, BodyError, Told};
use super::entry::{PAYLOAD_CHECK, guarded};
use super::identity;
use super::object::ObjectEvent;
use crate::idempotency::LastError;
use crate::job::{JobId, JobKind, Parsed, payload_digest};

/// One place of a message: a job, or what stands where a job should be.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MessageContent {
    /// A job. Its record is kept under this id.
    Job {
        /// Key of the job's record.
        job_id: JobId,
        /// The version of its payload.
        schema_version: u32,
        /// Digest of its payload as it stands in the message; `None` for the job of an object, whose payload the handler makes, and for a job
        /// of a newer schema version.
        payload_digest: Option<String>,
    },
    /// No job, for this reason. A consumer records it under this id.
    Unreadable {
        /// Key of the record that stands for this place of the message.
        job_id: JobId,
        /// Why it is none. Holds nothing of the body.
        reason: LastError,
    },
    /// Nothing to do, for this reason.
    Nothing(&'static str),
}

/// Reads the body of a message from the queue called `queue`, whose consumer works on `kind`: at least one content, in order. What a
/// consumer's own code decides, such as which objects it takes, is left out: every object counts as a job.
#[must_use]
pub fn contents(body: &str, kind: &JobKind, queue: &str, message_id: &str) -> Vec<MessageContent> {
    let objects = match guarded(PAYLOAD_CHECK, || body::read(body, kind)) {
        Ok(Ok(Body::Objects(objects))) => objects,
        Ok(Ok(Body::Job(parsed))) => return vec![of_job(&parsed, queue, message_id)],
        Ok(Ok(Body::Nothing(reason))) => return vec![MessageContent::Nothing(reason)],
        Ok(Err(error)) => return vec![unreadable(kind, message_id, LastError::from(&error))],
        Err(panicked) => return vec![unreadable(kind, message_id, panicked)],
    };
    let several = objects.len() > 1;
    let contents = objects.into_iter().enumerate().map(|(place, told)| {
        let id = identity::of_place(message_id, several.then_some(place));
        match told {
            Ok(Told::Nothing(reason)) => MessageContent::Nothing(reason),
            Ok(Told::Object(object)) => of_object(&object, kind, queue, &id),
            Err(error) => unreadable(kind, &id, LastError::from(&error)),
        }
    });
    contents.collect()
}

fn of_job(parsed: &Parsed, queue: &str, message_id: &str) -> MessageContent {
    match parsed {
        Parsed::Job(envelope) => MessageContent::Job {
            job_id: identity::of_job(envelope, queue),
            schema_version: envelope.schema_version,
            payload_digest: Some(payload_digest(&envelope.payload)),
        },
        Parsed::TooNew(header) => MessageContent::Job {
            job_id: identity::of_newer_job(header, queue, message_id),
            schema_version: header.schema_version,
            payload_digest: None,
        },
    }
}

fn of_object(object: &ObjectEvent, kind: &JobKind, queue: &str, place: &str) -> MessageContent {
    match object.idempotency_key() {
        Some(key) => MessageContent::Job {
            job_id: identity::of_key(&kind.job_type(), &key, queue),
            schema_version: kind.schema_version,
            payload_digest: None,
        },
        None => unreadable(kind, place, LastError::from(&BodyError::ObjectNotIdentified)),
    }
}

fn unreadable(kind: &JobKind, place: &str, reason: LastError) -> MessageContent {
    MessageContent::Unreadable { job_id: JobId::for_message(&kind.job_type(), place), reason }
}
