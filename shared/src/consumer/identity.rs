//! Under which ids jobs and messages are recorded. Consumers and tools that look at messages ask here, so that they mean the same record.

use crate::job::{Envelope, Header, IdempotencyKey, JobId, JobType};

/// The id of a job: the one its sender gave it, or the one that its key has in this queue.
pub(super) fn of_job(envelope: &Envelope, queue: &str) -> JobId {
    envelope.job_id.clone().unwrap_or_else(|| of_key(&envelope.job_type, &envelope.idempotency_key, queue))
}

/// The id of a job that came without one.
pub(super) fn of_key(job_type: &JobType, key: &IdempotencyKey, queue: &str) -> JobId {
    JobId::for_direct_sender(queue, job_type, key)
}

/// The id of a job of a newer schema version, of which nothing but the header is read.
pub(super) fn of_newer_job(header: &Header, queue: &str, message_id: &str) -> JobId {
    match (&header.job_id, &header.idempotency_key) {
        (Some(job_id), _) => job_id.clone(),
        (None, Some(key)) => of_key(&header.job_type, key, queue),
        (None, None) => JobId::for_message(&header.job_type, message_id),
    }
}

/// A name for a place of a message: the message's id, and the place where the message holds several.
pub(super) fn of_place(message_id: &str, place: Option<usize>) -> String {
    match place {
        None => message_id.to_owned(),
        Some(place) => format!("{message_id}-{place}"),
    }
}
