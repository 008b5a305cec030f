//! A consumer as a Lambda function.

use std::sync::Arc;

use aws_config::SdkConfig;
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};

use super::batch::{BatchError, BatchProcessor, IncomingEvent, Invocation};
use super::handler::Handler;
use super::settings::ConsumerSettings;
use crate::clock::{EpochMillis, SystemClock};
use crate::config::{ConfigError, Reader};
use crate::idempotency::DynamoStore;
use crate::observability::logs;
use crate::queue::SqsQueue;

/// What a handler is built from, once, while the function starts.
pub struct Startup {
    /// The environment. Problems are collected; the function reports all of them and does not start.
    pub config: Reader,
    /// For the handler's own AWS clients: clients of one service share their connections.
    pub aws: SdkConfig,
    /// The settings every consumer has. Where one was wrong it holds a placeholder, and the function will not start.
    pub settings: ConsumerSettings,
}

impl std::fmt::Debug for Startup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Startup").finish_non_exhaustive()
    }
}

/// Why a function did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartupError {
    /// Settings are missing or wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The runtime API ended.
    #[error("the Lambda runtime stopped")]
    Runtime(#[source] lambda_runtime::Error),
}

/// Runs the function: logs, settings, clients, warm connections, then batches until Lambda ends the process.
///
/// ```no_run
/// # use ikkai::consumer::{self, Done, Failure, Handler, JobContext, StartupError};
/// # use ikkai::job::{EmailSend, Job};
/// struct Greeter;
///
/// impl Handler for Greeter {
///     type Payload = EmailSend;
///
///     async fn handle(&self, _job: &Job<EmailSend>, _context: &JobContext) -> Result<Done, Failure> {
///         Ok(Done::new())
///     }
/// }
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), StartupError> {
///     consumer::run(async |_startup| Greeter).await
/// }
/// ```
///
/// # Errors
/// When settings are wrong (each problem is logged) or the runtime API ends.
pub async fn run<H: Handler>(make: impl AsyncFnOnce(&mut Startup) -> H) -> Result<(), StartupError> {
    let mut config = Reader::from_env();
    let level = logs::LevelSetting::read(&mut config);
    logs::init(logs::LogSetup::new(level).own_crate(std::any::type_name::<H>()));
    let settings = ConsumerSettings::read(&mut config);
    let aws = crate::aws::sdk_config().await;
    let dynamodb = aws_sdk_dynamodb::Client::new(&aws);
    let sqs = aws_sdk_sqs::Client::new(&aws);
    let queue = Arc::new(SqsQueue::new(sqs.clone(), settings.queue_name.clone()));
    let events = settings.events_queue_name.clone().map(|name| Arc::new(SqsQueue::new(sqs, name)));
    let (warm_up, connections) = (settings.warm_up, settings.batch_concurrency);
    let mut startup = Startup { config, aws, settings };
    // The handler warms its own clients meanwhile.
    let warm_up = async {
        if warm_up {
            let queues: Vec<_> = std::iter::once(queue.as_ref()).chain(events.as_deref()).collect();
            crate::aws::warm_up_clients(&dynamodb, connections, &queues).await;
        }
    };
    let (handler, ()) = futures::future::join(make(&mut startup), warm_up).await;
    let Startup { config, settings, .. } = startup;
    config.warn_of_unread("IKKAI_");
    let settings =
        config.finish(settings).inspect_err(|problems| tracing::error!(error = %problems, "the function cannot start"))?;

    let store = Arc::new(DynamoStore::new(dynamodb, settings.jobs_table.clone()));
    let processor = BatchProcessor::new(handler, settings, store, queue, Arc::new(SystemClock));
    let processor = Arc::new(match events {
        Some(events) => processor.with_events(events),
        None => processor,
    });
    let service = service_fn(move |event: LambdaEvent<IncomingEvent>| {
        let processor = processor.clone();
        async move {
            let invocation = Invocation {
                request_id: event.context.request_id.clone(),
                deadline: Some(EpochMillis::from_u64(event.context.deadline)),
            };
            processor.process(event.payload, &invocation, &mut std::io::stdout()).await
        }
    });
    lambda_runtime::run_concurrent(service).await.map_err(StartupError::Runtime)
}

impl From<BatchError> for Diagnostic {
    fn from(error: BatchError) -> Self {
        Self { error_type: error.error_type().to_owned(), error_message: error.to_string() }
    }
}
