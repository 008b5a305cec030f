//! The function's own code as the desk, with the operator's own permissions.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_cloudformation::error::DisplayErrorContext;
use dlq_redrive::protocol::Request;
use dlq_redrive::{Invocation, Settings, Workbench};
use ikkai::aws::{ATTEMPT_TIMEOUT, OPERATION_TIMEOUT};
use ikkai::clock::EpochMillis;
use ikkai::config::Reader;
use ikkai::job;

use super::desk::{Desk, DeskError, Reply};
use super::site::Site;

/// How long a part of a run takes at most. Nothing cuts it off here; it is short so that Ctrl-C is answered soon.
const PART: Duration = Duration::from_secs(120);

const DAY: u64 = 86_400;

/// Days that a record outlives its message in the queue, as in the template: the 14 of a dead-letter queue, and 2.
const BEYOND_THE_QUEUE: u64 = 16;

const TIMEOUT: &str = "IKKAI_FUNCTION_TIMEOUT_SECONDS";

/// The function's code in this process.
#[derive(Debug)]
pub struct DirectDesk {
    bench: Workbench,
}

impl DirectDesk {
    /// On the queues and tables that the function has in its configuration; where there is no function, on those of the stack.
    ///
    /// # Errors
    /// The configuration cannot be read, or lacks something.
    pub async fn open(site: &Site, function: Option<&str>) -> Result<Self, DeskError> {
        let mut variables = match function {
            Some(function) => of_function(site, function).await?,
            None => of_stack(|output| site.output(output), |parameter| site.parameter(parameter)),
        };
        variables.retain(|(name, _)| name != TIMEOUT);
        variables.push((TIMEOUT.to_owned(), PART.as_secs().to_string()));
        let settings = settings(variables)?;
        let timeouts =
            TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).operation_timeout(OPERATION_TIMEOUT).build();
        let config = site.config().to_builder().timeout_config(timeouts).build();
        Ok(Self { bench: Workbench::connect(&settings, &config) })
    }
}

#[async_trait]
impl Desk for DirectDesk {
    async fn ask(&self, request: &Request) -> Result<Reply, DeskError> {
        let invocation = Invocation {
            deadline: EpochMillis::from(SystemTime::now()) + PART,
            // No door has authenticated anybody: what the request claims is shown as a claim.
            caller: None,
            request_id: "direct".to_owned(),
        };
        Ok(self.bench.answer(request.to_json(), &invocation).await.into())
    }
}

fn settings(variables: Vec<(String, String)>) -> Result<Settings, DeskError> {
    let mut reader = Reader::from_pairs(variables);
    let settings = Settings::read(&mut reader);
    reader.finish(settings).map_err(|problems| DeskError::Direct { source: Box::new(problems) })
}

/// The function's environment.
async fn of_function(site: &Site, function: &str) -> Result<Vec<(String, String)>, DeskError> {
    let client = aws_sdk_lambda::Client::new(site.config());
    let configuration = client.get_function_configuration().function_name(function).send().await.map_err(|error| {
        let told = format!("lambda:GetFunctionConfiguration of `{function}`: {}", DisplayErrorContext(&error));
        DeskError::Direct { source: told.into() }
    })?;
    let environment = configuration.environment().and_then(|environment| environment.variables());
    Ok(environment.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The same by the stack's outputs: every type of job whose queues are among them. What has a default in the function has it here too.
fn of_stack<'a>(output: impl Fn(&str) -> Option<&'a str>, parameter: impl Fn(&str) -> Option<&'a str>) -> Vec<(String, String)> {
    let queues: Vec<_> = job::names().filter_map(|job_type| queue(job_type, &output)).collect();
    let days = |name| parameter(name).and_then(|text| text.parse::<u64>().ok());
    let seconds = |days: u64| days.saturating_mul(DAY).to_string();
    let texts = [
        ("IKKAI_REDRIVE_QUEUES", Some(serde_json::Value::Array(queues).to_string())),
        ("IKKAI_JOBS_TABLE", output("JobsTableName").map(ToOwned::to_owned)),
        ("IKKAI_REDRIVE_TABLE", output("RedriveTableName").map(ToOwned::to_owned)),
        ("IKKAI_ARCHIVE_BUCKET", output("ArchiveBucketName").map(ToOwned::to_owned)),
        ("IKKAI_MAX_GENERATIONS", parameter("MaxRedrives").map(ToOwned::to_owned)),
        ("IKKAI_RECORD_RETENTION_SECONDS", days("QueueRetentionDays").map(|days| seconds(days.saturating_add(BEYOND_THE_QUEUE)))),
        ("IKKAI_HISTORY_RETENTION_SECONDS", days("RedriveHistoryDays").map(seconds)),
    ];
    texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
}

fn queue<'a>(job_type: &str, output: impl Fn(&str) -> Option<&'a str>) -> Option<serde_json::Value> {
    let name = job_type.split('.').next()?;
    let prefix = super::site::capitalised(name);
    let (queue, dead_letters) = (output(&format!("{prefix}QueueName"))?, output(&format!("{prefix}DeadLetterQueueName"))?);
    Some(serde_json::json!({ "name": name, "type": job_type, "queue": queue, "deadLetterQueue": dead_letters }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn outputs() -> BTreeMap<&'static str, &'static str> {
        BTreeMap::from([
            ("EmailQueueName", "shop-email"),
            ("EmailDeadLetterQueueName", "shop-email-dlq"),
            ("ImageQueueName", "shop-image"),
            ("ImageDeadLetterQueueName", "shop-image-dlq"),
            ("JobsTableName", "shop-jobs"),
            ("RedriveTableName", "shop-redrive"),
            ("ArchiveBucketName", "shop-archive"),
        ])
    }

    #[test]
    fn a_stacks_outputs_are_enough_to_work_on_it() {
        let outputs = outputs();
        let variables = of_stack(|name| outputs.get(name).copied(), |name| (name == "MaxRedrives").then_some("7"));
        let settings = settings(variables).unwrap();
        let queues: Vec<_> = settings.queues.iter().map(|queue| (queue.name.as_str(), queue.kind.job_type)).collect();
        assert_eq!(queues, [("email", "email.send"), ("image", "image.resize")]);
        assert_eq!(settings.queues[0].dead_letter_queue.as_str(), "shop-email-dlq");
        assert_eq!((settings.redrive_table.as_str(), settings.archive_bucket.as_str()), ("shop-redrive", "shop-archive"));
        assert_eq!(settings.max_generations, 7);
    }

    /// The template's own numbers: what is kept for less is removed under a message that is still there.
    #[test]
    fn a_stack_keeps_records_and_history_for_as_long_as_its_function_would() {
        let template = include_str!("../../../infra/template.yaml");
        for (parameter, setting) in [("QueueRetentionDays", "RecordSeconds"), ("RedriveHistoryDays", "Seconds")] {
            let days: &[u32] = if setting == "Seconds" { &[30, 90, 180, 400, 800, 1200] } else { &[1, 2, 4, 7] };
            for days in days.iter().map(ToString::to_string) {
                let outputs = outputs();
                let variables = of_stack(|name| outputs.get(name).copied(), |name| (name == parameter).then_some(days.as_str()));
                let settings = settings(variables).unwrap();
                let kept = if setting == "Seconds" { settings.history_retention } else { settings.record_retention };
                let written = format!("{setting}: '{}'", kept.as_secs());
                let line = format!("    '{days}': {{");
                assert!(template.lines().any(|text| text.starts_with(&line) && text.contains(&written)), "{line} {written}");
            }
        }
    }

    #[test]
    fn what_a_stack_lacks_is_named() {
        let mut outputs = outputs();
        outputs.remove("RedriveTableName");
        let error = settings(of_stack(|name| outputs.get(name).copied(), |_| None)).unwrap_err();
        let told = crate::screen::chain(&error);
        assert!(told.contains("your own permissions") && told.contains("IKKAI_REDRIVE_TABLE"), "{told}");
    }
}
