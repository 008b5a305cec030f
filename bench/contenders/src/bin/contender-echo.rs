//! Answers every batch at once and does nothing: what the harness and the runtime client take by themselves.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    run(service_fn(async |_event: LambdaEvent<SqsEvent>| Ok::<_, Error>(SqsBatchResponse::default()))).await
}
