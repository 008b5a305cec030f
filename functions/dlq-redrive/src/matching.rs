//! Which messages a filter means.

use ikkai::clock::EpochMillis;
use ikkai::consumer::MessageContent;
use ikkai::idempotency::{ErrorClass, JobRecord, LastError};
use ikkai::job::{FieldError, JobId, names};
use ikkai::queue::ReceivedMessage;

use crate::dead_letter::{DeadLetter, Place};
use crate::protocol::Filter;
use crate::queues::StackQueue;

/// The word of `sources` for messages that somebody sent into the dead-letter queue.
const NO_SOURCE: &str = "none";

/// Most job ids of a filter.
const MOST_JOB_IDS: usize = 1000;

/// Most values of any other list of a filter, and the most characters of one. A run keeps its filter, and an item of DynamoDB has 400 KB.
const MOST_VALUES: usize = 50;
const MOST_CHARS: usize = 200;

/// Whether a filter means a message. What is said of jobs has to be true of one place of the message; an expired record counts as none.
pub(crate) fn is_meant(filter: &Filter, letter: &DeadLetter, queue: &StackQueue, now: EpochMillis) -> bool {
    meant_by_message(filter, &letter.message, queue, now)
        && letter.places.iter().any(|place| meant_by_place(filter, place, queue, now))
}

/// Whether a filter means a job of which no message is left. A filter that speaks of messages means none.
pub(crate) fn is_job_meant(filter: &Filter, record: &JobRecord) -> bool {
    let speaks_of_messages = filter.min_age_seconds.is_some() || filter.max_age_seconds.is_some() || !filter.sources.is_empty();
    !speaks_of_messages && meant_by_job(filter, &record.job_id) && meant_by_error(filter, record.last_error.as_ref())
}

/// What is wrong with a filter, with pointers from the filter on.
pub(crate) fn check(filter: &Filter) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if filter.job_ids.len() > MOST_JOB_IDS {
        let message = format!("at most {MOST_JOB_IDS} jobs can be named in one request; ask again for the others");
        errors.push(FieldError::new("/jobIds", "too_many", message));
    }
    for (name, values) in
        [("types", &filter.types), ("classes", &filter.classes), ("codes", &filter.codes), ("sources", &filter.sources)]
    {
        if values.len() > MOST_VALUES {
            let message = format!("at most {MOST_VALUES} can be named in one request; ask again for the others");
            errors.push(FieldError::new(format!("/{name}"), "too_many", message));
        }
        if let Some(index) = values.iter().position(|value| value.chars().count() > MOST_CHARS) {
            let message = format!("has more than {MOST_CHARS} characters, which no name has");
            errors.push(FieldError::new(format!("/{name}/{index}"), "too_long", message));
        }
    }
    for (index, job_id) in filter.job_ids.iter().enumerate() {
        if let Err(error) = JobId::parse_stored(job_id) {
            errors.push(FieldError::new(format!("/jobIds/{index}"), "invalid_value", error.to_string()));
        }
    }
    for (index, job_type) in filter.types.iter().enumerate() {
        if !names().any(|name| name == job_type) {
            let known = names().collect::<Vec<_>>().join(", ");
            errors.push(FieldError::new(format!("/types/{index}"), "invalid_value", format!("must be one of {known}")));
        }
    }
    for (index, class) in filter.classes.iter().enumerate() {
        if ErrorClass::from_name(class).is_none() {
            let message = "must be one of transient, deferred, permanent, ambiguous, crash, poison, exhausted";
            errors.push(FieldError::new(format!("/classes/{index}"), "invalid_value", message));
        }
    }
    if let (Some(least), Some(most)) = (filter.min_age_seconds, filter.max_age_seconds)
        && least > most
    {
        let message = "must not be less than minAgeSeconds, or no message is meant";
        errors.push(FieldError::new("/maxAgeSeconds", "invalid_value", message));
    }
    errors
}

fn meant_by_message(filter: &Filter, message: &ReceivedMessage, queue: &StackQueue, now: EpochMillis) -> bool {
    let age = message.sent_at.map(|sent| now.since(sent).as_secs());
    let old_enough = filter.min_age_seconds.is_none_or(|least| age.is_some_and(|age| age >= least));
    let young_enough = filter.max_age_seconds.is_none_or(|most| age.is_some_and(|age| age <= most));
    old_enough && young_enough && meant_by_source(filter, message, queue)
}

/// Sources may be given by their names in SQS or, for the queue itself, by its name in the stack.
fn meant_by_source(filter: &Filter, message: &ReceivedMessage, queue: &StackQueue) -> bool {
    let is_source = |name: &String| match &message.source {
        None => name == NO_SOURCE,
        Some(source) => name == source.as_str() || (*name == queue.name && *source == queue.queue_name),
    };
    filter.sources.is_empty() || filter.sources.iter().any(is_source)
}

fn meant_by_place(filter: &Filter, place: &Place, queue: &StackQueue, now: EpochMillis) -> bool {
    let record = place.record.as_ref().filter(|record| !record.is_expired(now));
    let error = match &place.content {
        MessageContent::Unreadable { reason, .. } => record.and_then(|record| record.last_error.as_ref()).or(Some(reason)),
        _ => record.and_then(|record| record.last_error.as_ref()),
    };
    let of_job = match place.job_id() {
        Some(job_id) => meant_by_job(filter, job_id),
        None => filter.job_ids.is_empty() && meant_by_type(filter, queue.kind.job_type),
    };
    of_job && meant_by_error(filter, error)
}

fn meant_by_job(filter: &Filter, job_id: &JobId) -> bool {
    let named = filter.job_ids.is_empty() || filter.job_ids.iter().any(|wanted| wanted == job_id.as_str());
    named && meant_by_type(filter, job_id.job_type().as_str())
}

fn meant_by_type(filter: &Filter, job_type: &str) -> bool {
    filter.types.is_empty() || filter.types.iter().any(|wanted| wanted == job_type)
}

fn meant_by_error(filter: &Filter, error: Option<&LastError>) -> bool {
    let class = error.map(|error| error.class.as_str());
    let code = error.map(|error| error.code.as_str());
    let meets = |wanted: &[String], found: Option<&str>| {
        wanted.is_empty() || found.is_some_and(|found| wanted.iter().any(|wanted| wanted == found))
    };
    meets(&filter.classes, class) && meets(&filter.codes, code)
}
