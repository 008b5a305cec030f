//! A scan of the DynamoDB table `jobs`.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::clock::EpochMillis;
use ikkai::idempotency::{Status, StoreError};

use super::{Sign, StuckJobs};
use crate::protocol::StuckJob;

/// What is read of a record, and nothing else: neither payload nor private data.
const ATTRIBUTES: [(&str, &str); 6] = [
    ("#job_id", "job_id"),
    ("#type", "type"),
    ("#status", "status"),
    ("#updated_at", "updated_at"),
    ("#retry_at", "retry_at"),
    ("#lease_until", "lease_until"),
];

const OPERATION: &str = "Scan";

/// Finds stuck jobs by a scan: half a read unit for each 4 KB of the table, whatever it finds
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html>).
#[derive(Debug, Clone)]
pub struct DynamoDbStuckJobs {
    client: Client,
    table: String,
}

impl DynamoDbStuckJobs {
    /// Looks through `table`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

#[async_trait]
impl StuckJobs for DynamoDbStuckJobs {
    async fn stuck(&self, job_types: &[&str], before: EpochMillis, max: usize) -> Result<Vec<StuckJob>, StoreError> {
        let names: HashMap<_, _> =
            ATTRIBUTES.iter().map(|(placeholder, name)| ((*placeholder).to_owned(), (*name).to_owned())).collect();
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let asked = self
                .client
                .scan()
                .table_name(&self.table)
                .projection_expression(ATTRIBUTES.map(|(placeholder, _)| placeholder).join(", "))
                .filter_expression("#status IN (:accepted, :running, :waiting) AND #updated_at < :before")
                .set_expression_attribute_names(Some(names.clone()))
                .expression_attribute_values(":accepted", text(Status::Accepted.as_str()))
                .expression_attribute_values(":running", text(Status::Running.as_str()))
                .expression_attribute_values(":waiting", text(Status::RetryScheduled.as_str()))
                .expression_attribute_values(":before", AttributeValue::N(before.as_i64().to_string()))
                .set_exclusive_start_key(start)
                .send();
            let page = Box::pin(asked).await.map_err(failed)?;
            let signs = page.items().iter().filter_map(sign).filter(|sign| sign.hangs(job_types, before));
            found.extend(signs.map(Sign::tell).take(max - found.len()));
            start = page.last_evaluated_key;
            if start.is_none() || found.len() >= max {
                return Ok(found);
            }
        }
    }
}

fn sign(item: &HashMap<String, AttributeValue>) -> Option<Sign> {
    let text = |name: &str| item.get(name)?.as_s().ok().cloned();
    let millis = |name: &str| item.get(name)?.as_n().ok()?.parse().ok().map(EpochMillis::from_i64);
    Some(Sign {
        job_id: text("job_id")?,
        job_type: text("type")?,
        status: text("status")?,
        updated_at: millis("updated_at")?,
        retry_at: millis("retry_at"),
        lease_until: millis("lease_until"),
    })
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn failed<E, R>(error: SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    match error.code() {
        Some("ThrottlingException" | "ProvisionedThroughputExceededException" | "RequestLimitExceeded") => {
            StoreError::Throttled { operation: OPERATION }
        }
        Some("AccessDeniedException" | "UnrecognizedClientException") => StoreError::Denied { operation: OPERATION },
        Some(code @ ("ResourceNotFoundException" | "ValidationException")) => {
            StoreError::Refused { operation: OPERATION, code: code.to_owned() }
        }
        code => {
            let code = code.unwrap_or("no readable answer").to_owned();
            StoreError::Unreachable { operation: OPERATION, code, source: Box::new(error) }
        }
    }
}
