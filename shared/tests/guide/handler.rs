use std::sync::Arc;
use std::time::Duration;

use ikkai::consumer::{Done, Failure, Handler, JobContext};
use ikkai::job::Job;
use ikkai::queue::{OutgoingMessage, Queue, QueueError};
use serde_json::json;

use crate::payload::PartnerNotify;

/// How long the partner's queue may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(3);

/// Puts a notice on the partner's queue.
pub struct NotifyPartner {
    pub partner: Arc<dyn Queue>,
}

impl Handler for NotifyPartner {
    type Payload = PartnerNotify;

    async fn handle(&self, job: &Job<PartnerNotify>, context: &JobContext) -> Result<Done, Failure> {
        let notice = json!({"partnerId": job.payload.partner_id, "eventId": job.payload.event_id}).to_string();
        context.begin_effect(SEND_TIMEOUT).await?;
        let verdict = match self.partner.send(&[OutgoingMessage::new(notice)]).await {
            Ok(mut verdicts) => verdicts.remove(0),
            Err(error) => Err(error),
        };
        match verdict {
            Ok(()) => Ok(Done::new()),
            // An answer that says no: nothing was sent, and trying again will not help.
            Err(error @ QueueError::Refused { .. }) => {
                Err(Failure::permanent("partner_refused", error.to_string()).surely_not_done())
            }
            // No answer: the notice may be there. Somebody has to look; sending it again could be the second one.
            Err(error) => Err(Failure::ambiguous("partner_silent", error.to_string())),
        }
    }
}
