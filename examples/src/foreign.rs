//! A consumer of somebody else's queue: the carrier's messages become jobs before the kit sees them.
//!
//! The carrier sends `{"event":"parcel.delivered","parcel":"P-1001","sequence":7}` and knows nothing of jobs. [`job_of`] says which job a
//! message is, and the idempotency key in it is what makes a message that the carrier sends twice one job: it is made of what the carrier
//! calls the event by, never of SQS's message id, which is new with every sending. What is not understood goes on as it is, and the kit
//! gives it up with its reason.

use aws_lambda_events::sqs::SqsMessage;
use ikkai::consumer::{Done, Failure, Handler, IncomingEvent, JobContext};
use ikkai::idempotency::EffectPolicy;
use ikkai::job::{Job, JobPayload, ReferenceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the carrier tells. Members that it adds one day do no harm.
#[derive(Debug, Deserialize)]
struct CarrierEvent {
    event: String,
    parcel: String,
    sequence: u64,
}

/// Takes note that a parcel has arrived.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParcelArrived {
    /// The carrier's number.
    pub parcel_id: ReferenceId,
}

impl JobPayload for ParcelArrived {
    const TYPE: &'static str = "parcel.arrived";
    const SCHEMA_VERSION: u32 = 1;
}

/// The event with the carrier's messages as jobs. Messages that are jobs already stay: the kit itself puts a job that waits for long back
/// into its queue as one. `Records` are kept one for one, so that each failure is told of the message that it belongs to.
#[must_use]
pub fn as_jobs(mut event: IncomingEvent) -> IncomingEvent {
    for message in event.records.iter_mut().flatten() {
        translate(message);
    }
    event
}

fn translate(message: &mut SqsMessage) {
    let job = message.body.as_deref().and_then(job_of);
    if job.is_some() {
        message.body = job;
    }
}

/// The job that a message of the carrier's is; `None` for what is none.
#[must_use]
pub fn job_of(body: &str) -> Option<String> {
    let told: CarrierEvent = serde_json::from_str(body).ok()?;
    if told.event != "parcel.delivered" {
        return None;
    }
    let job = json!({
        "type": ParcelArrived::TYPE,
        "schemaVersion": ParcelArrived::SCHEMA_VERSION,
        "idempotencyKey": format!("{}:{}", told.parcel, told.sequence),
        "payload": {"parcelId": told.parcel},
    });
    Some(job.to_string())
}

/// Writes arrivals into the log; a program of your own writes them where they are needed.
#[derive(Debug, Clone, Copy)]
pub struct ParcelHandler;

impl Handler for ParcelHandler {
    type Payload = ParcelArrived;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::RERUN
    }

    async fn handle(&self, job: &Job<ParcelArrived>, _context: &JobContext) -> Result<Done, Failure> {
        tracing::info!(job_id = job.id.as_str(), "a parcel has arrived");
        Ok(Done::with_result(json!({"parcelId": job.payload.parcel_id})))
    }
}

#[cfg(test)]
mod tests {
    use ikkai::consumer::{BatchProcessor, Invocation};
    use ikkai::idempotency::{JobRecord, Status};
    use ikkai::testing::{Bench, MessageBuilder};

    use super::*;

    /// Gives the bench's processor the messages as the function does.
    async fn deliver(bench: &Bench<ParcelHandler>, bodies: &[&str]) -> Vec<String> {
        let messages =
            bodies.iter().enumerate().map(|(index, body)| MessageBuilder::new(&format!("message-{index}"), *body).build());
        let event = IncomingEvent { records: Some(messages.collect()) };
        let processor: &BatchProcessor<ParcelHandler> = &bench.processor;
        let response = processor.process(as_jobs(event), &Invocation::default(), &mut Vec::new()).await.unwrap();
        response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect()
    }

    fn arrived(bench: &Bench<ParcelHandler>) -> Vec<JobRecord> {
        bench.records.all().into_iter().filter(|record| record.status == Status::Succeeded).collect()
    }

    #[tokio::test]
    async fn a_message_that_the_carrier_sends_twice_is_one_job() {
        let bench = Bench::new(ParcelHandler);
        let told = r#"{"event":"parcel.delivered","parcel":"P-1001","sequence":7,"depot":"north"}"#;
        assert!(deliver(&bench, &[told, told]).await.is_empty());
        assert!(deliver(&bench, &[told]).await.is_empty());
        let records = arrived(&bench);
        let [record] = &records[..] else { panic!("one job: {records:?}") };
        assert_eq!((record.attempts, record.result.clone()), (1, Some(json!({"parcelId": "P-1001"}))));
        let other = r#"{"event":"parcel.delivered","parcel":"P-1001","sequence":8}"#;
        deliver(&bench, &[other]).await;
        assert_eq!(arrived(&bench).len(), 2, "another event is another job");
    }

    #[tokio::test]
    async fn what_is_not_understood_is_given_up_alone_and_with_a_reason() {
        let bench = Bench::new(ParcelHandler);
        let good = r#"{"event":"parcel.delivered","parcel":"P-1","sequence":1}"#;
        let failed = deliver(&bench, &[r#"{"event":"parcel.lost","parcel":"P-2","sequence":1}"#, good, "not json"]).await;
        assert_eq!(failed, ["message-0", "message-2"]);
        assert_eq!(arrived(&bench).len(), 1);
        let reasons: Vec<_> = bench.records.all().into_iter().filter_map(|record| record.last_error).collect();
        assert_eq!(reasons.len(), 2, "{reasons:?}");
    }

    #[tokio::test]
    async fn a_job_that_the_kit_put_back_into_the_queue_stays_that_job() {
        let bench = Bench::new(ParcelHandler);
        let told = r#"{"event":"parcel.delivered","parcel":"P-1001","sequence":7}"#;
        let put_back = job_of(told).unwrap();
        assert_eq!(job_of(&put_back), None);
        assert!(deliver(&bench, &[told, &put_back]).await.is_empty());
        assert_eq!(arrived(&bench).len(), 1);
    }
}
