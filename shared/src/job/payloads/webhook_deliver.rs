//! `webhook.deliver`: the end of a job, told to its caller's URL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference_id::ReferenceId;
use crate::job::field_error::FieldError;
use crate::job::id::{JobId, JobIdError};
use crate::job::job_type::JobType;
use crate::job::payload::JobPayload;

/// Tells the URL in a job's record what became of the job. Consumers send it; the producer API does not take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookDeliver {
    /// The job that ended.
    pub job_id: ReferenceId,
    /// How it ended.
    pub status: EndStatus,
    /// Counts the put-backs of the job before this end.
    pub generation: u32,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    /// Done.
    Succeeded,
    /// Given up, with a reason.
    Dead,
    /// Its effect cannot be known.
    InDoubt,
}

impl EndStatus {
    /// The name in payloads, events and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::InDoubt => "in_doubt",
        }
    }
}

impl WebhookDeliver {
    /// The job that ended.
    ///
    /// # Errors
    /// When the id is none of a job. A payload that was decoded has been checked for that.
    pub fn job_id(&self) -> Result<JobId, JobIdError> {
        let (job_type, _) = self.job_id.as_str().split_once('-').ok_or(JobIdError::NoType)?;
        JobId::parse(self.job_id.as_str(), &JobType::parse(job_type).map_err(|_| JobIdError::NoType)?)
    }
}

impl JobPayload for WebhookDeliver {
    const TYPE: &'static str = "webhook.deliver";
    const SCHEMA_VERSION: u32 = 1;
    const FROM_API: bool = false;

    fn check(&self) -> Vec<FieldError> {
        let error = self.job_id().err();
        error.map(|error| FieldError::new("/jobId", "invalid_value", error.to_string())).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::{Envelope, IdempotencyKey, JobKind, decode};

    const KIND: JobKind = JobKind::of::<WebhookDeliver>();

    #[test]
    fn only_the_id_of_a_job_is_taken() {
        let deliver = |id: &str| decode::<WebhookDeliver>(&json!({"jobId": id, "status": "in_doubt", "generation": 0}));
        assert!(deliver("email.send-aaaqeayeaudaocajbifqydiob4").is_ok());
        for bad in ["email.send-msg-8e03978e", "email.send", "email-aaaqeayeaudaocajbifqydiob4", "email.send-x"] {
            assert_eq!(deliver(bad).unwrap_err()[0].pointer, "/jobId", "{bad}");
        }
    }

    /// Ids and keys of events look random, which the rules against secrets must not take amiss.
    #[test]
    fn the_event_of_any_job_passes_the_rules_of_the_queue() {
        for number in 0..2_000 {
            let key = IdempotencyKey::parse(&number.to_string()).unwrap();
            let job_id = JobId::derive("caller", &JobType::parse("billing.charge").unwrap(), &key);
            let envelope = Envelope {
                job_id: None,
                job_type: KIND.job_type(),
                schema_version: 1,
                business_id: None,
                idempotency_key: IdempotencyKey::parse(&format!("{job_id}:0:succeeded")).unwrap(),
                payload: json!({"jobId": job_id, "status": "succeeded", "generation": 0}),
            };
            assert_eq!(envelope.check(&KIND), Ok(()), "{job_id}");
        }
    }

    #[test]
    fn a_status_has_one_name() {
        for status in [EndStatus::Succeeded, EndStatus::Dead, EndStatus::InDoubt] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
    }
}
