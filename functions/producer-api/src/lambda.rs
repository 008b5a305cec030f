//! The API as a Lambda function.

use std::sync::Arc;
use std::time::Duration;

use ikkai::clock::{Clock as _, EpochMillis, SystemClock};
use ikkai::config::Reader;
use ikkai::consumer::StartupError;
use ikkai::idempotency::DynamoStore;
use ikkai::observability::{Metrics, logs};
use ikkai::queue::{Queue, SqsQueue};
use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use serde_json::value::RawValue;

use crate::api::{Api, Call};
use crate::batch::WRITES_AT_ONCE;
use crate::catalog::Catalog;
use crate::event::EventError;
use crate::response::Response;
use crate::settings::Settings;

/// Time kept back for the answer's way out of the function.
const ANSWER_RESERVE: Duration = Duration::from_millis(300);

/// No invocation takes longer (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>); what claims to is a local runtime's constant.
const LONGEST_INVOCATION: Duration = Duration::from_secs(900);

/// Runs the function: logs, settings, clients, warm connections, then requests until Lambda ends the process.
///
/// # Errors
/// When settings are wrong (each problem is logged) or the runtime API ends. A build with the feature `local-identity` or
/// `local-callbacks` also wants to see that its AWS calls stay on this machine.
pub async fn run() -> Result<(), StartupError> {
    let mut reader = Reader::from_env();
    let level = logs::LevelSetting::read(&mut reader);
    logs::init(logs::LogSetup::new(level).own_crate(module_path!()));
    let settings = Settings::read(&mut reader);
    #[cfg(feature = "local-identity")]
    ikkai::config::demand_local_engine(&mut reader, "local-identity", "trusts every caller");
    #[cfg(feature = "local-callbacks")]
    ikkai::config::demand_local_engine(&mut reader, "local-callbacks", "takes callbacks to this machine");
    reader.warn_of_unread("IKKAI_");
    let settings =
        reader.finish(settings).inspect_err(|problems| tracing::error!(error = %problems, "the function cannot start"))?;

    let aws = ikkai::aws::sdk_config().await;
    let dynamodb = aws_sdk_dynamodb::Client::new(&aws);
    let sqs = aws_sdk_sqs::Client::new(&aws);
    let mut queues = Vec::new();
    let catalog = Catalog::from_settings(&settings, |name| {
        let queue = Arc::new(SqsQueue::new(sqs.clone(), name.clone()));
        queues.push(queue.clone());
        queue as Arc<dyn Queue>
    });
    if settings.warm_up {
        let queues: Vec<&SqsQueue> = queues.iter().map(AsRef::as_ref).collect();
        ikkai::aws::warm_up_clients(&dynamodb, WRITES_AT_ONCE, &queues).await;
    }
    let metrics = Metrics::new(&settings.metrics_namespace, &settings.service);
    let store = Arc::new(DynamoStore::new(dynamodb, settings.jobs_table.clone()));
    let api = Arc::new(Api::new(settings, catalog, store, Arc::new(SystemClock), metrics.clone()));
    let service = service_fn(move |event: LambdaEvent<Box<RawValue>>| {
        let (api, metrics) = (api.clone(), metrics.clone());
        async move {
            let answer = respond(&api, &event).await;
            if metrics.flush_to_stdout(SystemClock.now()).is_err() {
                tracing::warn!("metrics could not be written");
            }
            answer
        }
    });
    lambda_runtime::run_concurrent(service).await.map_err(StartupError::Runtime)
}

/// The runtime takes the event as raw text, so that whatever is in it is read, and refused, here.
async fn respond(api: &Api, event: &LambdaEvent<Box<RawValue>>) -> Result<Response, EventError> {
    let call = Call {
        request_id: event.context.request_id.clone(),
        trace: event.context.xray_trace_id.clone(),
        budget: budget(&event.context),
    };
    let answer = match serde_json::from_str(event.payload.get()) {
        Ok(json) => api.handle(&json, &call).await,
        Err(_) => Err(EventError::Unreadable),
    };
    answer.inspect_err(|error| {
        tracing::error!(request_id = call.request_id, error_code = error.error_type(), error = %error, "invocation refused");
    })
}

/// Some local runtimes send deadlines that are constants or lie in the past; those say nothing.
fn budget(context: &Context) -> Option<Duration> {
    let left = EpochMillis::from_u64(context.deadline).since(SystemClock.now());
    (left > ANSWER_RESERVE && left <= LONGEST_INVOCATION).then(|| left - ANSWER_RESERVE)
}

impl From<EventError> for Diagnostic {
    fn from(error: EventError) -> Self {
        Self { error_type: error.error_type().to_owned(), error_message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_deadline_that_can_be_true_is_a_budget() {
        let of = |deadline: u64| {
            let mut context = Context::default();
            context.deadline = deadline;
            budget(&context)
        };
        let now = u64::try_from(SystemClock.now().as_i64()).unwrap();
        assert_eq!(of(0), None);
        assert_eq!(of(600_000), None);
        assert_eq!(of(u64::MAX), None);
        assert_eq!(of(now.saturating_sub(1_000)), None);
        let budget = of(now + 10_000).unwrap();
        assert!((9_000..=9_700).contains(&budget.as_millis()), "{budget:?}");
    }
}
