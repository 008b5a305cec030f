//! What a consumer brings: one payload type and one handler.

use std::future::Future;

use super::context::JobContext;
use super::failure::{Done, Failure};
use crate::idempotency::EffectPolicy;
use crate::job::{Job, JobPayload};

/// Does the work of one job type. It knows its provider and nothing about queues.
///
/// The future must not leave anything running behind: what it spawns goes on after the invocation's answer, when Lambda freezes
/// the process. It is dropped at its deadline, and when its lease is lost before its effect began.
pub trait Handler: Send + Sync + 'static {
    /// The registered payload type.
    type Payload: JobPayload;

    /// What happens when the effect is tried twice; [`EffectPolicy::Hold`] unless said otherwise.
    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::Hold
    }

    /// Does the job. Under `hold`, [`JobContext::begin_effect`] comes right before the irreversible step.
    fn handle(&self, job: &Job<Self::Payload>, context: &JobContext) -> impl Future<Output = Result<Done, Failure>> + Send;
}
