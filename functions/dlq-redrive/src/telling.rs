//! Records and messages as operators are told them: nothing private, no payload, no address, no token.

use ikkai::clock::EpochMillis;
use ikkai::idempotency::JobRecord;

use crate::dead_letter::DeadLetter;
use crate::protocol::{RecordSummary, SeenMessage, VerdictCode};
use crate::queues::StackQueue;

impl From<&JobRecord> for RecordSummary {
    fn from(record: &JobRecord) -> Self {
        let error = record.last_error.as_ref();
        Self {
            job_id: record.job_id.to_string(),
            job_type: record.job_type.to_string(),
            status: record.status.as_str().to_owned(),
            generation: record.generation,
            attempts: record.attempts,
            crashes: record.crashes,
            business_id: record.business_id.clone(),
            error_class: error.map(|error| error.class.as_str().to_owned()),
            error_code: error.map(|error| error.code.clone()),
            error_message: error.map(|error| error.message.clone()),
            patched: record.original_payload_digest.is_some(),
            provider_ref: record.provider_ref.clone(),
            created_at: moment(record.created_at),
            updated_at: moment(record.updated_at),
            died_at: record.died_at.map(moment),
        }
    }
}

/// A message with the records of its jobs; an expired one counts as none.
pub(crate) fn seen_message(letter: &DeadLetter, queue: &StackQueue, verdict: VerdictCode, now: EpochMillis) -> SeenMessage {
    let message = &letter.message;
    let records = letter.places.iter().filter_map(|place| place.record.as_ref()).filter(|record| !record.is_expired(now));
    SeenMessage {
        queue: queue.name.clone(),
        message_id: message.message_id.clone(),
        job_ids: letter.job_ids().map(ToString::to_string).collect(),
        bytes: u64::try_from(message.body.len()).unwrap_or(u64::MAX),
        source: message.source.as_ref().map(|source| source.as_str().to_owned()),
        sent_at: message.sent_at.map(moment),
        receive_count: message.receive_count,
        records: records.map(RecordSummary::from).collect(),
        verdict,
    }
}

/// RFC 3339.
pub(crate) fn moment(at: EpochMillis) -> String {
    at.rfc3339().to_string()
}
