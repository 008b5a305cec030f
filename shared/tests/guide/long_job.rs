use std::sync::{Arc, Mutex};
use std::time::Duration;

use ikkai::consumer::{Done, Failure, Handler, JobContext};
use ikkai::idempotency::{EffectPolicy, Status};
use ikkai::job::{Job, ReferenceId};
use ikkai::testing::{Bench, MessageBuilder};
use serde_json::json;

use crate::payload::PartnerNotify;

/// How long a step may take.
const STEP_TIME: Duration = Duration::from_secs(10);

/// Copies an event's files into the partner's archive, one by one.
pub struct ArchiveEvent {
    pub archive: Arc<Archive>,
}

impl Handler for ArchiveEvent {
    type Payload = PartnerNotify;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::RERUN
    }

    async fn handle(&self, job: &Job<PartnerNotify>, context: &JobContext) -> Result<Done, Failure> {
        let mut done = context.progress().and_then(|progress| progress["done"].as_u64()).unwrap_or(0);
        let (began_with, steps) = (done, self.archive.steps());
        while done < steps {
            if context.remaining() < STEP_TIME {
                let nothing_done = done == began_with;
                return Err(if nothing_done { Failure::no_time() } else { Failure::unfinished() });
            }
            self.archive.copy(&job.payload.event_id, done).await?;
            done += 1;
            context.save_progress(json!({"done": done})).await?;
        }
        Ok(Done::with_result(json!({"steps": steps})))
    }
}

/// An archive that notes what was copied.
#[derive(Default)]
pub struct Archive {
    copied: Mutex<Vec<u64>>,
}

impl Archive {
    fn steps(&self) -> u64 {
        7
    }

    async fn copy(&self, _event: &ReferenceId, step: u64) -> Result<(), Failure> {
        tokio::time::sleep(STEP_TIME).await;
        self.copied.lock().unwrap().push(step);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_job_goes_on_where_it_stopped() {
    let archive = Arc::new(Archive::default());
    let bench = Bench::timed(ArchiveEvent { archive: archive.clone() });
    let payload = json!({"partnerId": "partner-7", "eventId": "order-1001-paid"});
    let message = MessageBuilder::job("message-1", "partner.notify", "order-1001-paid", payload);
    // Two steps fit into the thirty seconds of the bench's function.
    for failed in [1, 1, 1, 0] {
        assert_eq!(bench.run_batch([message.build()]).await.unwrap().failed.len(), failed);
    }
    assert_eq!(*archive.copied.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6]);
    let record = bench.record_of(&message).unwrap();
    assert_eq!((record.status, record.attempts, record.parts), (Status::Succeeded, 1, 3));
}
