//! What a consumer brings: one payload type and one handler.

use std::future::Future;

use super::context::JobContext;
use super::failure::{Done, Failure};
use super::object::{ObjectEvent, ObjectVerdict};
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

    /// Makes the job of an object that S3 tells about. A consumer that does not say how takes none: the event is refused.
    ///
    /// Asked for each object of a message, without I/O: the same event has the same answer on every delivery. Removed objects, S3's test
    /// event and folder markers never come here. The job's id follows from bucket, key and version, whatever the answer is.
    fn on_object(&self, object: &ObjectEvent) -> ObjectVerdict<Self::Payload> {
        let _ = object;
        ObjectVerdict::Refuse {
            code: "object_not_expected",
            message: "the body is an S3 event, and this consumer takes jobs only; remove the bucket's notification".to_owned(),
        }
    }

    /// Does the job. Under `hold`, [`JobContext::begin_effect`] comes right before the irreversible step.
    fn handle(&self, job: &Job<Self::Payload>, context: &JobContext) -> impl Future<Output = Result<Done, Failure>> + Send;
}
