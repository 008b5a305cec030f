//! The function as Lambda runs it.

use std::sync::Arc;
use std::time::Duration;

use ikkai::clock::{Clock as _, EpochMillis, SystemClock};
use ikkai::config::Reader;
use ikkai::consumer::StartupError;
use ikkai::job::{FieldError, strict_json};
use ikkai::observability::logs;
use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::{Answer, Refusal, RefusalCode};
use crate::settings::Settings;
use crate::workbench::{Invocation, Workbench};

/// A deadline may be this much later than the timeout says: clocks differ.
const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// Runs the function: logs, settings, clients, then requests until Lambda ends the process.
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

    let timeout = settings.function_timeout;
    let bench = Arc::new(Workbench::connect(&settings, &ikkai::aws::sdk_config().await));
    let service = service_fn(move |event: LambdaEvent<Box<RawValue>>| {
        let bench = bench.clone();
        async move {
            let invocation = invocation(&event.context, timeout, SystemClock.now());
            let answer = respond(&bench, event.payload.get(), &invocation).await;
            if bench.metrics.flush_to_stdout(SystemClock.now()).is_err() {
                tracing::warn!("metrics could not be written");
            }
            Ok::<_, Error>(answer)
        }
    });
    lambda_runtime::run_concurrent(service).await.map_err(StartupError::Runtime)
}

/// The runtime takes the event as raw text, so that whatever is in it is read, and refused, here.
async fn respond(bench: &Workbench, event: &str, invocation: &Invocation) -> Value {
    match strict_json::parse(event) {
        Ok(request) => bench.answer(request, invocation).await.fit_to_send().to_json(),
        Err(error) => {
            tracing::warn!(
                request_id = invocation.request_id,
                outcome = "refused",
                error_code = error.code(),
                "request answered"
            );
            let errors = vec![FieldError::new(error.pointer.clone(), error.code(), error.message)];
            Answer::Refused(None, Refusal::fields(RefusalCode::InvalidRequest, errors)).to_json()
        }
    }
}

fn invocation(context: &Context, timeout: Duration, now: EpochMillis) -> Invocation {
    Invocation {
        deadline: deadline(EpochMillis::from_u64(context.deadline), timeout, now),
        caller: caller(context),
        request_id: context.request_id.clone(),
    }
}

/// Some local runtimes send deadlines that are constants or lie in the past; those say nothing.
fn deadline(told: EpochMillis, timeout: Duration, now: EpochMillis) -> EpochMillis {
    if told > now && told <= now + timeout + CLOCK_SKEW { told } else { now + timeout }
}

/// Who invokes, where Lambda knows it: only callers with an Amazon Cognito identity are told to the function
/// (<https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html>). Who else invokes stands in CloudTrail.
fn caller(context: &Context) -> Option<String> {
    let identity = context.identity.as_ref().filter(|identity| !identity.identity_id.is_empty())?;
    Some(format!("cognito:{}:{}", identity.identity_pool_id, identity.identity_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);
    const TIMEOUT: Duration = Duration::from_secs(900);

    #[test]
    fn only_a_deadline_that_can_be_true_is_one() {
        let of = |told: EpochMillis| deadline(told, TIMEOUT, NOW).since(NOW);
        assert_eq!(of(NOW + Duration::from_secs(300)), Duration::from_secs(300));
        assert_eq!(of(NOW + TIMEOUT + Duration::from_secs(2)), TIMEOUT + Duration::from_secs(2));
        for told in [EpochMillis::from_i64(0), NOW, NOW - TIMEOUT, NOW + TIMEOUT * 2, EpochMillis::from_u64(u64::MAX)] {
            assert_eq!(of(told), TIMEOUT, "{told}");
        }
    }

    fn settings() -> Settings {
        let queues = r#"[{"name":"email","type":"email.send","queue":"shop-email","deadLetterQueue":"shop-email-dlq"}]"#;
        let mut reader = Reader::from_pairs([
            ("IKKAI_JOBS_TABLE", "jobs"),
            ("IKKAI_REDRIVE_TABLE", "redrive"),
            ("IKKAI_ARCHIVE_BUCKET", "archive"),
            ("IKKAI_REDRIVE_QUEUES", queues),
        ]);
        let settings = Settings::read(&mut reader);
        reader.finish(settings).unwrap()
    }

    #[tokio::test]
    async fn an_event_that_is_no_request_is_answered_and_nothing_is_asked_of_aws() {
        let aws = aws_config::SdkConfig::builder().behavior_version(aws_config::BehaviorVersion::latest()).build();
        let bench = Workbench::connect(&settings(), &aws);
        let invocation = invocation(&Context::default(), TIMEOUT, NOW);
        for (event, code) in [
            ("", "json_empty"),
            ("{", "json_incomplete"),
            (r#"{"action":"list","action":"status"}"#, "duplicate_member"),
            (r#"{"action":"list","max":1.5}"#, "number_not_integer"),
            ("[]", "wrong_type"),
            (r#"{"Records":[]}"#, "missing_member"),
        ] {
            let answer = respond(&bench, event, &invocation).await;
            assert_eq!((&answer["ok"], &answer["error"]["code"]), (&false.into(), &"invalid_request".into()), "{event}");
            assert_eq!(answer["error"]["errors"][0]["code"], code, "{event}");
        }
    }

    #[test]
    fn only_a_cognito_identity_tells_who_invokes() {
        let mut context = Context::default();
        assert_eq!(invocation(&context, TIMEOUT, NOW).caller, None);
        context.identity = serde_json::from_str(r#"{"cognitoIdentityId":"eu:1","cognitoIdentityPoolId":"eu:pool"}"#).ok();
        assert_eq!(invocation(&context, TIMEOUT, NOW).caller.as_deref(), Some("cognito:eu:pool:eu:1"));
    }
}
