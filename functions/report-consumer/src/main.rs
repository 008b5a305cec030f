//! The report consumer as a Lambda function.

use std::sync::Arc;

use ikkai::consumer::{self, Startup, StartupError};
use report_consumer::{DynamoDbHistory, ReportHandler, ReportSettings, S3ReportStore};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    consumer::run(report_handler).await
}

async fn report_handler(startup: &mut Startup) -> ReportHandler {
    let settings = ReportSettings::read(&mut startup.config);
    let jobs = aws_sdk_dynamodb::Client::new(&startup.aws);
    let history = DynamoDbHistory::new(jobs, &startup.settings.jobs_table, &settings.account_index);
    let store = S3ReportStore::new(aws_sdk_s3::config::Builder::from(&startup.aws), &settings.bucket);
    ReportHandler::new(Arc::new(history), Arc::new(store), &settings)
}
