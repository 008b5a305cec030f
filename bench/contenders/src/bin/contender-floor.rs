//! The barest way to do a job once: the AWS SDK, a conditional put before the work, an update after it, ten jobs side by side.
//!
//! No log, no metric, no backoff, no attempts, no reason of a failure: what has failed or died is tried again when its record's time is over.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_config::BehaviorVersion;
use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use futures::future::join_all;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde::Deserialize;

const LEASE: Duration = Duration::from_secs(40);
const REMEMBERED: Duration = Duration::from_secs(3_600);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    idempotency_key: String,
    payload: Payload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    template_id: String,
}

struct Floor {
    dynamodb: Client,
    table: String,
}

impl Floor {
    async fn work(&self, message: &SqsMessage) -> Result<(), Error> {
        let body: Body = serde_json::from_str(message.body.as_deref().unwrap_or_default())?;
        if !self.begin(&body.idempotency_key).await? {
            return Ok(());
        }
        if body.payload.template_id == "fail" {
            return Err("the provider failed".into());
        }
        self.end(&body.idempotency_key).await
    }

    /// Whether the job is to be done now; it is not where it was done before.
    async fn begin(&self, key: &str) -> Result<bool, Error> {
        let now = since_1970();
        let put = self
            .dynamodb
            .put_item()
            .table_name(&self.table)
            .item("id", AttributeValue::S(key.to_owned()))
            .item("status", AttributeValue::S("running".to_owned()))
            .item("lease_until", millis(now + LEASE))
            .item("expires_at", AttributeValue::N((now + REMEMBERED).as_secs().to_string()))
            .condition_expression("attribute_not_exists(id) OR (#status = :running AND lease_until < :now)")
            .expression_attribute_names("#status", "status")
            .expression_attribute_values(":running", AttributeValue::S("running".to_owned()))
            .expression_attribute_values(":now", millis(now))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match put.send().await.map_err(aws_sdk_dynamodb::error::SdkError::into_service_error) {
            Ok(_) => Ok(true),
            Err(PutItemError::ConditionalCheckFailedException(refused)) => {
                let status = refused.item.as_ref().and_then(|item| item.get("status"));
                if status == Some(&AttributeValue::S("done".to_owned())) { Ok(false) } else { Err("somebody works on it".into()) }
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn end(&self, key: &str) -> Result<(), Error> {
        let update = self
            .dynamodb
            .update_item()
            .table_name(&self.table)
            .key("id", AttributeValue::S(key.to_owned()))
            .update_expression("SET #status = :done")
            .expression_attribute_names("#status", "status")
            .expression_attribute_values(":done", AttributeValue::S("done".to_owned()));
        update.send().await?;
        Ok(())
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn millis(time: Duration) -> AttributeValue {
    AttributeValue::N(time.as_millis().to_string())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let aws = aws_config::load_defaults(BehaviorVersion::v2026_01_12()).await;
    let floor = Floor { dynamodb: Client::new(&aws), table: std::env::var("JOBS_TABLE")? };
    let floor = &floor;
    run(service_fn(move |event: LambdaEvent<SqsEvent>| async move {
        let messages = &event.payload.records;
        let done = join_all(messages.iter().map(|message| floor.work(message))).await;
        let mut response = SqsBatchResponse::default();
        for (message, _) in messages.iter().zip(done).filter(|(_, done)| done.is_err()) {
            response.add_failure(message.message_id.clone().unwrap_or_default());
        }
        Ok::<_, Error>(response)
    }))
    .await
}
