//! What a message holds, for tools that look at messages without working on them.

use super::body::{self, Body, Told};
use crate::idempotency::LastError;
use crate::job::{IdempotencyKey, JobId, JobKind, JobType, Parsed, payload_digest};

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
    let unreadable =
        |id: &str, reason: LastError| MessageContent::Unreadable { job_id: JobId::for_message(&kind.job_type(), id), reason };
    let objects = match body::read(body, kind) {
        Ok(Body::Job(parsed)) => return vec![job(parsed, queue, message_id)],
        Ok(Body::Nothing(reason)) => return vec![MessageContent::Nothing(reason)],
        Err(error) => return vec![unreadable(message_id, LastError::from(&error))],
        Ok(Body::Objects(objects)) => objects,
    };
    let several = objects.len() > 1;
    let contents = objects.into_iter().enumerate().map(|(place, told)| {
        let id = if several { format!("{message_id}-{place}") } else { message_id.to_owned() };
        match told {
            Ok(Told::Nothing(reason)) => MessageContent::Nothing(reason),
            Err(error) => unreadable(&id, LastError::from(&error)),
            Ok(Told::Object(object)) => match object.idempotency_key() {
                Some(key) => MessageContent::Job {
                    job_id: JobId::for_direct_sender(queue, &kind.job_type(), &key),
                    schema_version: kind.schema_version,
                    payload_digest: None,
                },
                None => unreadable(&id, LastError::from(&body::BodyError::ObjectNotIdentified)),
            },
        }
    });
    contents.collect()
}

fn job(parsed: Parsed, queue: &str, message_id: &str) -> MessageContent {
    let derived = |job_type: &JobType, key: &IdempotencyKey| JobId::for_direct_sender(queue, job_type, key);
    match parsed {
        Parsed::Job(envelope) => MessageContent::Job {
            job_id: envelope.job_id.clone().unwrap_or_else(|| derived(&envelope.job_type, &envelope.idempotency_key)),
            schema_version: envelope.schema_version,
            payload_digest: Some(payload_digest(&envelope.payload)),
        },
        Parsed::TooNew(header) => {
            let key = header.idempotency_key.as_ref();
            let derived = || key.map(|key| derived(&header.job_type, key));
            let job_id = header.job_id.clone().or_else(derived);
            MessageContent::Job {
                job_id: job_id.unwrap_or_else(|| JobId::for_message(&header.job_type, message_id)),
                schema_version: header.schema_version,
                payload_digest: None,
            }
        }
    }
}
