//! What an operator does about a dead job: one sentence, by what a redrive would do with it and by the reason of its death.

use ikkai::clock::EpochMillis;
use ikkai::consumer::MessageContent;
use ikkai::idempotency::{ErrorClass, JobRecord, LastError, Status};

use crate::protocol::VerdictCode;

/// What advice is given about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// What stands in the message; `None` where there is no message any more.
    pub(crate) content: Option<&'a MessageContent>,
    /// The record, where there is one.
    pub(crate) record: Option<&'a JobRecord>,
    /// Whether SQS moved the message here, as far as there is one.
    pub(crate) has_source: bool,
    /// What a `redrive` would do.
    pub(crate) verdict: VerdictCode,
}

/// What an operator does about a running job whose lease is over, before anything else can be done about it.
pub(crate) const WORKER_DIED: &str =
    "its worker died: redrive it, and it runs again, or is dead or in doubt where it cannot; or discard it";

/// The advice, in one sentence.
pub(crate) fn advice(subject: Subject<'_>, now: EpochMillis) -> String {
    match subject.verdict {
        VerdictCode::AlreadyDone => done(subject).to_owned(),
        VerdictCode::InDoubt => in_doubt(subject.record),
        VerdictCode::Quarantined => quarantined(subject.record),
        VerdictCode::Running => "a worker has the job right now; look again when it is done or its lease is over".to_owned(),
        VerdictCode::OtherContent => {
            "its payload is not the one that its job was accepted with, so it never runs: find out who sent it, \
             then discard the message; the job itself is not touched"
                .to_owned()
        }
        VerdictCode::NotRebuildable => {
            "its message is gone and cannot be made again: the record stands for a message that was no job, or the queue is a \
             FIFO queue and nobody knows its group any more; have it sent again, then discard this job"
                .to_owned()
        }
        VerdictCode::Changed => {
            "nothing is wrong yet: it waits for a message that was not found, and that may be on its way; look again in some \
             minutes"
                .to_owned()
        }
        VerdictCode::NotFound => {
            "there is neither a record nor a message of it; post the job again if it is still wanted".to_owned()
        }
        VerdictCode::Redriven => to_redrive(subject, now),
        _ => "a redrive leaves it where it is; inspect it, then discard it if nobody needs it".to_owned(),
    }
}

fn done(subject: Subject<'_>) -> &'static str {
    match (subject.content, subject.record.map(|record| record.status)) {
        (Some(MessageContent::Nothing(_)), _) => "there is nothing to do in this message; a redrive deletes it",
        (_, Some(Status::Cancelled)) => "the job was cancelled; a redrive deletes its message, and nothing runs",
        _ => "the job is done; a redrive deletes its message, and nothing runs",
    }
}

fn in_doubt(record: Option<&JobRecord>) -> String {
    let reference = record.and_then(|record| record.provider_ref.as_deref());
    let look =
        reference.map_or_else(|| "look at the provider".to_owned(), |reference| format!("look at the provider ({reference})"));
    format!(
        "nobody knows whether its effect happened: {look}, then resolve the job as done or runAgain; until then it cannot be redriven"
    )
}

fn quarantined(record: Option<&JobRecord>) -> String {
    let times = record.map_or(0, |record| record.generation);
    format!(
        "it was put back {times} times and failed each time: mend the cause first, then redrive it by its jobId with overrideQuarantine, \
         or discard it"
    )
}

fn to_redrive(subject: Subject<'_>, now: EpochMillis) -> String {
    if let Some(MessageContent::Unreadable { .. }) = subject.content {
        return "no consumer understands this message: deploy code that does, then redrive it; or mend its sender and discard it"
            .to_owned();
    }
    let Some(record) = subject.record else {
        let origin =
            if subject.has_source { "there is no record of it" } else { "somebody sent it straight into the dead-letter queue" };
        return format!("{origin}, so the job has not run, or so long ago that its record is gone; redrive it if it shall run");
    };
    match record.status {
        Status::Accepted | Status::RetryScheduled => {
            "nothing is wrong with the job: its receives were used up before it could run to an end, \
             mostly by throttling; see that the consumer has concurrency to spare, then redrive it"
                .to_owned()
        }
        Status::Running if record.lease_is_over(now) && record.effect_begun => {
            "its worker died after the effect had begun: a redrive marks the \
             job as in doubt, and then it has to be resolved"
                .to_owned()
        }
        Status::Running => {
            "its worker died and nobody took the job over; look at the consumer's log, then redrive it. If it was put back as often as it may \
             be, it is dead or in doubt then: resolve it, discard it, or redrive it with overrideQuarantine"
                .to_owned()
        }
        _ => record.last_error.as_ref().map_or_else(|| "redrive it".to_owned(), by_reason),
    }
}

fn by_reason(error: &LastError) -> String {
    let by_code = match error.code.as_str() {
        "record_missing" => Some(
            "its job needs private data that only the producer API records: post it through the API, then discard this message; \
             a redrive fails again",
        ),
        "schema_too_new" => Some("deploy a consumer that knows its schema version, then redrive it"),
        "resolved_to_run_again" => Some("an operator has resolved its doubt and wants it to run again; redrive it"),
        "parts_used_up" => Some("raise IKKAI_MAX_PARTS or the function's timeout, then redrive it: it goes on where it was"),
        _ => None,
    };
    by_code.unwrap_or_else(|| by_class(error.class)).to_owned()
}

const fn by_class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Transient => {
            "its provider failed until the attempts were used up: see that it is well again, then redrive with a canary"
        }
        ErrorClass::Deferred => {
            "its provider asked to come back later for too long: see that it takes requests again, then redrive with a low rate"
        }
        ErrorClass::Permanent => {
            "it fails again as it is: mend what it refers to, the code, or its payload with a patch, then redrive it; or discard it"
        }
        ErrorClass::Ambiguous => "its effect may have happened: look at the provider before you redrive it",
        ErrorClass::Crash => {
            "each worker that started it died: look at the consumer's log, memory and timeout, deploy the mend, then redrive one as a canary"
        }
        ErrorClass::Poison => {
            "no consumer understands this message: deploy code that does, then redrive it; or mend its sender and discard it"
        }
        ErrorClass::Exhausted => {
            "nothing is known to be wrong with the job: its receives were used up before it could run to an end; redrive it"
        }
        _ => "a newer version of Ikkai gave it up; inspect it before you redrive it",
    }
}
