//! A program that polls a queue of `stock.set` jobs. It takes the settings of every consumer from its environment, as a function does, and
//! ends with Ctrl-C after the batch that it is at.

use std::sync::Arc;
use std::time::Duration;

use ikkai::clock::SystemClock;
use ikkai::config::Reader;
use ikkai::consumer::{BatchProcessor, ConsumerSettings};
use ikkai::idempotency::DynamoStore;
use ikkai::observability::logs;
use ikkai::queue::SqsQueue;
use ikkai_examples::fifo::{DynamoDbShelf, StockHandler};
use ikkai_examples::poller::{LONGEST_WAIT, Poller};

/// How long a queue is left alone that does not answer.
const AFTER_A_FAILURE: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Reader::from_env();
    let level = logs::LevelSetting::read(&mut config);
    logs::init(logs::LogSetup::new(level).own_crate("ikkai_examples"));
    let table = config.required_text("IKKAI_STOCK_TABLE");
    let settings = ConsumerSettings::read(&mut config);
    let settings = config.finish(settings)?;

    let aws = ikkai::aws::sdk_config().await;
    let dynamodb = aws_sdk_dynamodb::Client::new(&aws);
    let store = Arc::new(DynamoStore::new(dynamodb.clone(), settings.jobs_table.clone()));
    let queue = Arc::new(SqsQueue::new(aws_sdk_sqs::Client::new(&aws), settings.queue_name.clone()));
    let handler = StockHandler { shelf: Arc::new(DynamoDbShelf { client: dynamodb, table }) };
    let (name, timeout) = (settings.queue_name.clone(), settings.function_timeout);
    let processor = BatchProcessor::new(handler, settings, store, queue.clone(), Arc::new(SystemClock));
    let poller = Poller::new(queue, processor, Arc::new(SystemClock), name, timeout);

    // Between rounds and not in one: a job whose effect has begun is not left in the middle. An empty queue makes that 20 s at most.
    let interrupted = tokio::spawn(tokio::signal::ctrl_c());
    while !interrupted.is_finished() {
        if let Err(error) = poller.round(LONGEST_WAIT, &mut std::io::stdout()).await {
            tracing::error!(error = &error as &dyn std::error::Error, "a round failed");
            tokio::time::sleep(AFTER_A_FAILURE).await;
        }
    }
    Ok(())
}
