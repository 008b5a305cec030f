//! What the bare SDK takes for the calls that Ikkai makes and for as many bytes of log, without anything that decides or checks: no state machine,
//! no strict reading of messages, no privacy rules, no circuit, no budget of time. `cargo compare` measures that calls, bytes and log are the same.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_config::BehaviorVersion;
use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use aws_sdk_sqs::types::ChangeMessageVisibilityBatchRequestEntry;
use futures::future::{join, join_all};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde::Deserialize;

const LEASE: Duration = Duration::from_secs(40);
const BACKOFF: Duration = Duration::from_secs(5);
const REMEMBERED: Duration = Duration::from_secs(20 * 86_400);

const CLAIM: &str = "SET #status = :status, #lease_token = :lease_token, #lease_until = :lease_until, #updated_at = :updated_at, \
     #attempts = if_not_exists(#attempts, :zero) + :one, #generation = if_not_exists(#generation, :zero), \
     #crashes = if_not_exists(#crashes, :zero), #created_at = if_not_exists(#created_at, :updated_at), #type = if_not_exists(#type, :type), \
     #caller = if_not_exists(#caller, :caller), #idempotency_key = if_not_exists(#idempotency_key, :idempotency_key), \
     #payload = if_not_exists(#payload, :payload), #payload_digest = if_not_exists(#payload_digest, :payload_digest), \
     #schema_version = if_not_exists(#schema_version, :schema_version), #business_id = if_not_exists(#business_id, :business_id) \
     REMOVE #effect_begun, #accept_token, #send_lease_until, #enqueued_at, #retry_at, #schema_held_since";
const CLAIMABLE: &str = "attribute_not_exists(#job_id) OR ((#status = :accepted OR #status = :waiting) AND \
     (attribute_not_exists(#retry_at) OR #retry_at <= :due) AND #attempts < :max_attempts AND (attribute_not_exists(#payload_digest) \
     OR #payload_digest = :payload_digest) AND (attribute_not_exists(#crashes) OR #crashes = :zero))";
const CLAIM_NAMES: [&str; 22] = [
    "status",
    "lease_token",
    "lease_until",
    "updated_at",
    "attempts",
    "generation",
    "crashes",
    "created_at",
    "type",
    "caller",
    "idempotency_key",
    "payload",
    "payload_digest",
    "schema_version",
    "business_id",
    "effect_begun",
    "accept_token",
    "send_lease_until",
    "enqueued_at",
    "retry_at",
    "schema_held_since",
    "job_id",
];
const DONE: &str = "SET #status = :status, #updated_at = :updated_at, #expires_at = :expires_at REMOVE #lease_until";
const FAILED: &str =
    "SET #status = :status, #updated_at = :updated_at, #last_error = :last_error, #retry_at = :retry_at REMOVE #lease_until";
const OWNED: &str = "#lease_token = :mine AND #status = :was_status";

/// As long as Ikkai's digest of a payload.
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    business_id: String,
    idempotency_key: String,
    payload: serde_json::Value,
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Succeeded,
    Duplicate,
    Failed,
}

struct SameCalls {
    dynamodb: aws_sdk_dynamodb::Client,
    sqs: aws_sdk_sqs::Client,
    table: String,
    queue_url: Option<String>,
    queue_name: String,
    tokens: AtomicU64,
}

impl SameCalls {
    async fn start() -> Result<Self, Error> {
        let aws = aws_config::load_defaults(BehaviorVersion::v2026_01_12()).await;
        let mut started = Self {
            dynamodb: aws_sdk_dynamodb::Client::new(&aws),
            sqs: aws_sdk_sqs::Client::new(&aws),
            table: std::env::var("JOBS_TABLE")?,
            queue_url: None,
            queue_name: std::env::var("QUEUE_NAME")?,
            tokens: AtomicU64::new(0),
        };
        if std::env::var("WARM_UP").is_ok_and(|warm_up| warm_up == "off") {
            return Ok(started);
        }
        // Ten refused calls open ten connections.
        let reads = (0..10).map(|_| started.dynamodb.get_item().table_name(&started.table).key("job_id", text("none")).send());
        join_all(reads).await;
        let found = started.sqs.get_queue_url().queue_name(&started.queue_name).send().await?;
        started.queue_url = found.queue_url;
        Ok(started)
    }

    async fn batch(&self, event: &LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let messages = &event.payload.records;
        let request_id = &event.context.request_id;
        let work = join_all(messages.iter().map(|message| self.work(message, request_id)));
        let (outcomes, opened) = join(work, self.change_visibility(messages.iter(), LEASE)).await;
        opened?;
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        let failed: Vec<_> = messages.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == Outcome::Failed).collect();
        if !failed.is_empty() {
            self.change_visibility(failed.iter().map(|(message, _)| *message), BACKOFF).await?;
        }
        metrics(&outcomes)?;
        let mut response = SqsBatchResponse::default();
        for (message, _) in failed {
            response.add_failure(message.message_id.clone().unwrap_or_default());
        }
        Ok(response)
    }

    async fn work(&self, message: &SqsMessage, request_id: &str) -> Result<Outcome, Error> {
        let body: Body = serde_json::from_str(message.body.as_deref().unwrap_or_default())?;
        let job_id = format!("email.send-{:a<26}", body.idempotency_key);
        let token = format!("{:036}", self.tokens.fetch_add(1, Ordering::Relaxed));
        let outcome = if !self.claim(&job_id, &token, &body).await? {
            Outcome::Duplicate
        } else if body.payload["templateId"] == "fail" {
            self.fail(&job_id, &token).await?;
            Outcome::Failed
        } else {
            self.done(&job_id, &token).await?;
            Outcome::Succeeded
        };
        log(outcome, &job_id, message.message_id.as_deref().unwrap_or_default(), request_id)?;
        Ok(outcome)
    }

    async fn claim(&self, job_id: &str, token: &str, body: &Body) -> Result<bool, Error> {
        let now = since_1970();
        let mut claim = self.update(job_id, CLAIM, CLAIMABLE, &CLAIM_NAMES);
        for (name, value) in [
            (":status", text("running")),
            (":lease_token", text(token)),
            (":lease_until", millis(now + LEASE)),
            (":updated_at", millis(now)),
            (":one", AttributeValue::N("1".to_owned())),
            (":zero", AttributeValue::N("0".to_owned())),
            (":type", text("email.send")),
            (":caller", text("direct:email")),
            (":idempotency_key", text(&body.idempotency_key)),
            (":payload", AttributeValue::S(body.payload.to_string())),
            (":payload_digest", text(DIGEST)),
            (":schema_version", AttributeValue::N("1".to_owned())),
            (":business_id", text(&body.business_id)),
            (":accepted", text("accepted")),
            (":waiting", text("retry_scheduled")),
            (":max_attempts", AttributeValue::N("3".to_owned())),
            (":due", millis(now + Duration::from_secs(30))),
        ] {
            claim = claim.expression_attribute_values(name, value);
        }
        let sent = claim.return_values(ReturnValue::AllNew).send();
        match sent.await.map_err(aws_sdk_dynamodb::error::SdkError::into_service_error) {
            Ok(_) => Ok(true),
            Err(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn done(&self, job_id: &str, token: &str) -> Result<(), Error> {
        let now = since_1970();
        let names = ["status", "updated_at", "expires_at", "lease_until", "lease_token"];
        let update = self
            .owned(job_id, token, DONE, &names)
            .expression_attribute_values(":status", text("succeeded"))
            .expression_attribute_values(":updated_at", millis(now))
            .expression_attribute_values(":expires_at", AttributeValue::N((now + REMEMBERED).as_secs().to_string()));
        update.send().await?;
        Ok(())
    }

    async fn fail(&self, job_id: &str, token: &str) -> Result<(), Error> {
        let now = since_1970();
        let error = [("class", "transient"), ("code", "provider_error"), ("message", "the provider failed")];
        let error = error.map(|(name, value)| (name.to_owned(), text(value)));
        let names = ["status", "updated_at", "last_error", "retry_at", "lease_until", "lease_token"];
        let update = self
            .owned(job_id, token, FAILED, &names)
            .expression_attribute_values(":status", text("retry_scheduled"))
            .expression_attribute_values(":updated_at", millis(now))
            .expression_attribute_values(":last_error", AttributeValue::M(error.into()))
            .expression_attribute_values(":retry_at", millis(now + BACKOFF));
        update.send().await?;
        Ok(())
    }

    fn owned(&self, job_id: &str, token: &str, expression: &str, names: &[&str]) -> UpdateItemFluentBuilder {
        self.update(job_id, expression, OWNED, names)
            .expression_attribute_values(":mine", text(token))
            .expression_attribute_values(":was_status", text("running"))
            .return_values(ReturnValue::None)
    }

    fn update(&self, job_id: &str, expression: &str, condition: &str, names: &[&str]) -> UpdateItemFluentBuilder {
        let names = names.iter().map(|name| (format!("#{name}"), (*name).to_owned()));
        self.dynamodb
            .update_item()
            .table_name(&self.table)
            .key("job_id", text(job_id))
            .update_expression(expression)
            .condition_expression(condition)
            .set_expression_attribute_names(Some(names.collect()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    async fn change_visibility(&self, messages: impl Iterator<Item = &SqsMessage>, visible_in: Duration) -> Result<(), Error> {
        let mut call = self.sqs.change_message_visibility_batch().set_queue_url(self.queue_url.clone());
        for (index, message) in messages.enumerate() {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(index.to_string())
                .receipt_handle(message.receipt_handle.as_deref().unwrap_or_default())
                .visibility_timeout(i32::try_from(visible_in.as_secs()).unwrap_or(i32::MAX));
            call = call.entries(entry.build()?);
        }
        call.send().await?;
        Ok(())
    }
}

/// A line as long as Ikkai's.
fn log(outcome: Outcome, job_id: &str, message_id: &str, request_id: &str) -> Result<(), Error> {
    let now = since_1970().as_millis();
    let (level, message, name, rest) = match outcome {
        Outcome::Succeeded => ("INFO", "job succeeded", "succeeded", r#","duration_ms":0"#),
        Outcome::Duplicate => ("INFO", "job duplicate", "duplicate", ""),
        Outcome::Failed => (
            "WARN",
            "job retried",
            "retried",
            r#","duration_ms":0,"error_class":"transient","error_code":"provider_error","error":"the provider failed""#,
        ),
    };
    let attempt = u8::from(outcome != Outcome::Duplicate);
    let line = format!(
        r#"{{"timestamp":"{now:024}","level":"{level}","message":"{message}","job_id":"{job_id}","job_type":"email.send","attempt":{attempt},"message_id":"{message_id}","request_id":"{request_id}","outcome":"{name}"{rest}}}"#
    );
    writeln!(std::io::stdout().lock(), "{line}")?;
    Ok(())
}

/// A line of metrics as long as Ikkai's.
fn metrics(outcomes: &[Outcome]) -> Result<(), Error> {
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    let (succeeded, duplicate, failed) = (count(Outcome::Succeeded), count(Outcome::Duplicate), count(Outcome::Failed));
    let mut metrics = Vec::new();
    let mut metric = |name: &str, unit: &str, values: usize, value: String| {
        if values > 0 {
            metrics.push((format!(r#"{{"Name":"{name}","Unit":"{unit}"}}"#), format!(r#","{name}":{value}"#)));
        }
    };
    let samples = |values: usize| format!("[{}]", vec!["0"; values].join(","));
    let started = succeeded + failed;
    metric("JobsSucceeded", "Count", succeeded, succeeded.to_string());
    metric("JobsDuplicate", "Count", duplicate, duplicate.to_string());
    metric("JobsRetried", "Count", failed, failed.to_string());
    metric("HandlerDuration", "Milliseconds", started, samples(started));
    metric("JobLatency", "Milliseconds", succeeded, samples(succeeded));
    metric("AttemptsUsed", "Count", succeeded, samples(succeeded));
    metric("AttemptsFailed", "None", started, samples(started));
    let (names, values): (Vec<_>, Vec<_>) = metrics.into_iter().unzip();
    let line = format!(
        r#"{{"_aws":{{"Timestamp":{},"CloudWatchMetrics":[{{"Namespace":"Ikkai","Dimensions":[["Service","JobType"]],"Metrics":[{}]}}]}},"Service":"contender-ikkai","JobType":"email.send"{}}}"#,
        since_1970().as_millis(),
        names.join(","),
        values.concat()
    );
    writeln!(std::io::stdout().lock(), "{line}")?;
    Ok(())
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn millis(time: Duration) -> AttributeValue {
    AttributeValue::N(time.as_millis().to_string())
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let contender = SameCalls::start().await?;
    let contender = &contender;
    run(service_fn(move |event: LambdaEvent<SqsEvent>| async move { contender.batch(&event).await })).await
}
