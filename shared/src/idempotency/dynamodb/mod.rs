//! Records in the DynamoDB table `jobs`: key `job_id` (string), TTL attribute `expires_at` (epoch seconds).

mod codec;
mod expression;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};

use self::codec::{Item, VIEWED, attributes, record, text, view};
use self::expression::Update;
#[cfg(feature = "testing")]
pub(crate) use self::expression::claim as claim_update;
use super::event::Claim;
use super::record::JobRecord;
use super::store::{Created, FirstClaim, Guard, JobStore, Replaced, StoreError};
use super::view::{JobView, JobViews};
use crate::clock::EpochMillis;
use crate::job::JobId;

/// The [`JobStore`] on DynamoDB. Each operation is one request; a condition that does not hold returns the stored item in the same
/// answer, at no extra cost
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html>, `ReturnValuesOnConditionCheckFailure`).
#[derive(Debug, Clone)]
pub struct DynamoStore {
    client: Client,
    table: String,
}

impl DynamoStore {
    /// The attributes that a [view](JobViews) reads of a record. A role that may read these alone needs no more.
    pub const VIEWED: &[&str] = &VIEWED;

    /// A store on `table`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }

    async fn update(&self, job_id: &JobId, update: Update, returned: ReturnValue) -> Result<Outcome, StoreError> {
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("job_id", text(job_id.as_str()))
            .set_update_expression(update.expression())
            .condition_expression(update.condition)
            .set_expression_attribute_names(Some(update.names))
            .set_expression_attribute_values(Some(update.values))
            .return_values(returned)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send();
        match Box::pin(sent).await {
            Ok(answer) => Ok(Outcome::Written(answer.attributes)),
            Err(SdkError::ServiceError(refused)) if refused.err().is_conditional_check_failed_exception() => {
                match refused.into_err() {
                    UpdateItemError::ConditionalCheckFailedException(failed) => Ok(Outcome::Refused(stored(failed.item)?)),
                    _ => Ok(Outcome::Refused(None)),
                }
            }
            Err(error) => Err(store_error("UpdateItem", error)),
        }
    }
}

enum Outcome {
    Written(Option<Item>),
    Refused(Option<Box<JobRecord>>),
}

#[async_trait]
impl JobStore for DynamoStore {
    async fn get(&self, job_id: &JobId) -> Result<Option<JobRecord>, StoreError> {
        let sent =
            self.client.get_item().table_name(&self.table).key("job_id", text(job_id.as_str())).consistent_read(true).send();
        let answer = Box::pin(sent).await.map_err(|error| store_error("GetItem", error))?;
        answer.item.as_ref().map(record).transpose()
    }

    async fn create(&self, record: &JobRecord, now: EpochMillis) -> Result<Created, StoreError> {
        let item: Item = attributes(record).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        // TTL removes items up to two days late, so the condition itself looks at the time.
        let sent = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(job_id) OR expires_at <= :now_seconds")
            .expression_attribute_values(":now_seconds", AttributeValue::N(now.as_i64().div_euclid(1000).to_string()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send();
        match Box::pin(sent).await {
            Ok(_) => Ok(Created::New),
            Err(SdkError::ServiceError(refused)) if refused.err().is_conditional_check_failed_exception() => {
                match refused.into_err() {
                    PutItemError::ConditionalCheckFailedException(failed) => match stored(failed.item)? {
                        Some(found) => Ok(Created::Exists(found)),
                        None => Err(StoreError::Corrupt { attribute: "job_id", problem: "missing from a refused write" }),
                    },
                    _ => Err(StoreError::Corrupt { attribute: "job_id", problem: "missing from a refused write" }),
                }
            }
            Err(error) => Err(store_error("PutItem", error)),
        }
    }

    async fn claim(&self, claim: &Claim, now: EpochMillis) -> Result<FirstClaim, StoreError> {
        match self.update(&claim.job_id, expression::claim(claim, now), ReturnValue::AllNew).await? {
            Outcome::Written(Some(item)) => Ok(FirstClaim::Started(Box::new(record(&item)?))),
            Outcome::Written(None) => {
                Err(StoreError::Corrupt { attribute: "job_id", problem: "missing from the answer to a claim" })
            }
            Outcome::Refused(found) => Ok(FirstClaim::Refused(found)),
        }
    }

    async fn replace(&self, stored: Option<&JobRecord>, next: &JobRecord, guard: &Guard) -> Result<Replaced, StoreError> {
        match self.update(&next.job_id, expression::replace(stored, next, guard), ReturnValue::None).await? {
            Outcome::Written(_) => Ok(Replaced::Written),
            Outcome::Refused(found) => Ok(Replaced::Refused(found)),
        }
    }
}

#[async_trait]
impl JobViews for DynamoStore {
    async fn view(&self, job_id: &JobId, now: EpochMillis) -> Result<Option<JobView>, StoreError> {
        let names = VIEWED.map(|attribute| (format!("#{attribute}"), attribute.to_owned()));
        let sent = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("job_id", text(job_id.as_str()))
            .projection_expression(names.each_ref().map(|(placeholder, _)| placeholder.as_str()).join(", "))
            .set_expression_attribute_names(Some(names.into()))
            .consistent_read(true)
            .send();
        let answer = Box::pin(sent).await.map_err(|error| store_error("GetItem", error))?;
        Ok(answer.item.as_ref().map(view).transpose()?.filter(|view| !view.is_expired(now)))
    }
}

fn stored(item: Option<Item>) -> Result<Option<Box<JobRecord>>, StoreError> {
    Ok(item.as_ref().filter(|item| !item.is_empty()).map(record).transpose()?.map(Box::new))
}

fn store_error<E, R>(operation: &'static str, error: SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    match error.code() {
        Some(
            "ThrottlingException"
            | "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "TransactionConflictException",
        ) => StoreError::Throttled { operation },
        Some("AccessDeniedException" | "UnrecognizedClientException") => StoreError::Denied { operation },
        Some(code @ ("ResourceNotFoundException" | "ValidationException")) => {
            StoreError::Refused { operation, code: code.to_owned() }
        }
        Some(code) => StoreError::Unreachable { operation, code: code.to_owned(), source: Box::new(error) },
        None => StoreError::Unreachable { operation, code: what_happened(&error).to_owned(), source: Box::new(error) },
    }
}

fn what_happened<E, R>(error: &SdkError<E, R>) -> &'static str {
    match error {
        SdkError::ConstructionFailure(_) => "the request could not be built, often for want of credentials",
        SdkError::TimeoutError(_) => "timed out",
        SdkError::DispatchFailure(_) => "no connection",
        SdkError::ResponseError(_) => "no readable answer",
        _ => "no error code",
    }
}
