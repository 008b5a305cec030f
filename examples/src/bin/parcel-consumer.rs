//! The consumer of the carrier's queue as a Lambda function. It is `ikkai::consumer::run` written out, with one step more: the messages
//! become jobs.

use std::sync::Arc;

use ikkai::clock::{EpochMillis, SystemClock};
use ikkai::config::Reader;
use ikkai::consumer::{BatchProcessor, ConsumerSettings, IncomingEvent, Invocation};
use ikkai::idempotency::DynamoStore;
use ikkai::observability::logs;
use ikkai::queue::SqsQueue;
use ikkai_examples::foreign::{ParcelHandler, as_jobs};
use lambda_runtime::{LambdaEvent, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let mut config = Reader::from_env();
    let level = logs::LevelSetting::read(&mut config);
    logs::init(logs::LogSetup::new(level).own_crate("ikkai_examples"));
    let settings = ConsumerSettings::read(&mut config);
    let settings = config.finish(settings)?;

    let aws = ikkai::aws::sdk_config().await;
    let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), settings.jobs_table.clone());
    let queue = SqsQueue::new(aws_sdk_sqs::Client::new(&aws), settings.queue_name.clone());
    let processor = BatchProcessor::new(ParcelHandler, settings, Arc::new(store), Arc::new(queue), Arc::new(SystemClock));
    let processor = Arc::new(processor);
    let service = service_fn(move |event: LambdaEvent<IncomingEvent>| {
        let processor = processor.clone();
        async move {
            let deadline = Some(EpochMillis::from_u64(event.context.deadline));
            let invocation = Invocation { request_id: event.context.request_id.clone(), deadline };
            processor.process(as_jobs(event.payload), &invocation, &mut std::io::stdout()).await
        }
    });
    lambda_runtime::run_concurrent(service).await
}
