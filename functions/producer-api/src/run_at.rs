//! Jobs that are asked for later.

use std::time::Duration;

use ikkai::clock::EpochMillis;
use ikkai::job::FieldError;
use ikkai::queue::OutgoingMessage;

use crate::catalog::Served;

/// How far ahead a job may be asked for: what SQS holds a message back
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-timers.html>).
pub const MAX_RUN_AHEAD: Duration = OutgoingMessage::MAX_DELAY;

const AT: &str = "/runAt";

/// Reads the member `runAt`. A time that has passed is no mistake: the job runs at once, and a repeated request is still the same one.
pub(crate) fn read(text: &str, served: Option<&Served>, now: EpochMillis) -> Result<EpochMillis, FieldError> {
    let run_at = EpochMillis::parse_rfc3339(text).map_err(|error| FieldError::new(AT, "invalid_time", error.to_string()))?;
    if run_at.since(now) > MAX_RUN_AHEAD {
        let message = "must be at most 15 minutes ahead; post the job later";
        return Err(FieldError::new(AT, "too_far_ahead", message));
    }
    // A FIFO queue delays all of its messages or none: <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>.
    if served.is_some_and(|served| served.name.is_fifo()) {
        let message = "must be left out: the queue of this job type is a FIFO queue, which cannot hold single messages back";
        return Err(FieldError::new(AT, "not_on_fifo", message));
    }
    Ok(run_at)
}
