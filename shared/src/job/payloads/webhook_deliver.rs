//! `webhook.deliver`: what became of a job, told to its caller's URL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference_id::ReferenceId;
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

impl JobPayload for WebhookDeliver {
    const TYPE: &'static str = "webhook.deliver";
    const SCHEMA_VERSION: u32 = 1;
}
