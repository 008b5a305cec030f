//! The function as Lambda runs it.

use std::sync::Arc;

use ikkai::clock::{Clock as _, SystemClock};
use ikkai::config::Reader;
use ikkai::consumer::StartupError;
use ikkai::observability::{Metric, Metrics, logs};
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use tracing::Instrument as _;

use crate::feedback::EMAIL;
use crate::notification::{Notification, SnsEvent};
use crate::settings::Settings;
use crate::suppressor::{Ignored, Outcome, Suppressor};
use crate::tables::DynamoDbTables;

/// Notifications that have to come again. Lambda repeats an invocation that failed, twice unless set otherwise, and then hands the
/// event to the function's destination (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{failed} of {all} notifications failed; the log says why")]
pub struct InvocationError {
    /// How many failed.
    pub failed: usize,
    /// How many there were.
    pub all: usize,
}

impl From<InvocationError> for Diagnostic {
    fn from(error: InvocationError) -> Self {
        Self { error_type: "FeedbackNotTaken".to_owned(), error_message: error.to_string() }
    }
}

/// Runs the function: logs, settings, client, then notifications until Lambda ends the process.
///
/// # Errors
/// When settings are wrong (each problem is logged) or the runtime API ends.
pub async fn run() -> Result<(), StartupError> {
    let mut reader = Reader::from_env();
    let level = logs::LevelSetting::read(&mut reader);
    logs::init(logs::LogSetup::new(level).own_crate(module_path!()));
    let settings = Settings::read(&mut reader);
    reader.warn_of_unread("IKKAI_");
    let settings =
        reader.finish(settings).inspect_err(|problems| tracing::error!(error = %problems, "the function cannot start"))?;

    let client = aws_sdk_dynamodb::Client::new(&ikkai::aws::sdk_config().await);
    let tables = DynamoDbTables::new(client, &settings.jobs_table, &settings.contacts_table);
    let suppressor = Arc::new(Suppressor::new(Arc::new(tables), Arc::new(SystemClock)));
    let metrics = Metrics::new(&settings.metrics_namespace, &settings.service);
    let service = service_fn(move |event: LambdaEvent<SnsEvent>| {
        let (suppressor, metrics) = (suppressor.clone(), metrics.clone());
        async move {
            let span = tracing::info_span!("invocation", request_id = event.context.request_id);
            let taken = process(&suppressor, &metrics, event.payload).instrument(span).await;
            if metrics.flush_to_stdout(SystemClock.now()).is_err() {
                tracing::warn!("metrics could not be written");
            }
            taken
        }
    });
    lambda_runtime::run_concurrent(service).await.map_err(StartupError::Runtime)
}

/// Takes all notifications of an invocation, one after the other.
///
/// # Errors
/// Some of them failed. The others are done, and do no harm when they come again.
pub async fn process(suppressor: &Suppressor, metrics: &Metrics, event: SnsEvent) -> Result<(), InvocationError> {
    let all = event.records.len();
    let mut failed = 0;
    for record in event.records {
        let message_id = record.sns.message_id.as_str();
        let span = tracing::info_span!("notification", job_id = tracing::field::Empty, message_id);
        if !take(suppressor, metrics, &record.sns).instrument(span).await {
            failed += 1;
        }
    }
    if failed == 0 { Ok(()) } else { Err(InvocationError { failed, all }) }
}

/// Takes one notification and logs what came of it. Says whether it is done.
async fn take(suppressor: &Suppressor, metrics: &Metrics, notification: &Notification) -> bool {
    match suppressor.take(notification).await {
        Ok(Outcome::Suppressed) => {
            metrics.count(Metric::ContactsSuppressed, EMAIL, 1);
            tracing::info!(outcome = "suppressed", "contact suppressed");
            true
        }
        Ok(Outcome::Ignored(ignored)) => {
            metrics.count(Metric::FeedbackIgnored, EMAIL, 1);
            log_ignored(ignored);
            true
        }
        Err(error) => {
            tracing::error!(error_code = error.code(), error = %error, "mail feedback failed");
            false
        }
    }
}

/// Deliveries and opens are as many as mails, so the metric counts them and the log stays quiet.
fn log_ignored(ignored: Ignored) {
    let outcome = ignored.as_str();
    if matches!(ignored, Ignored::Passing(_)) {
        tracing::debug!(outcome, "mail feedback ignored");
    } else {
        tracing::info!(outcome, "mail feedback ignored");
    }
}
