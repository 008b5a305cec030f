//! The history in the jobs table: an index of immutable keys, then the records they name.

use std::{collections::HashMap, fmt, time::Duration};

use async_trait::async_trait;
use aws_sdk_dynamodb::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
    types::{AttributeValue, KeysAndAttributes},
};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use ikkai::{clock::EpochMillis, idempotency::Status};

use super::{HistoryError, HistoryPage, JobHistory, JobRow, Position, Scope};

/// What is read of a record, and nothing else: neither payload nor private data nor results.
const ATTRIBUTES: [(&str, &str); 11] = [
    ("#job_id", "job_id"),
    ("#account_id", "account_id"),
    ("#type", "type"),
    ("#status", "status"),
    ("#attempts", "attempts"),
    ("#created_at", "created_at"),
    ("#updated_at", "updated_at"),
    ("#died_at", "died_at"),
    ("#last_error", "last_error"),
    ("#business_id", "business_id"),
    ("#expires_at", "expires_at"),
];

/// Keys of one page of the index.
const KEYS_A_PAGE: i32 = 1_000;

/// Most records of one `BatchGetItem` (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html>).
const RECORDS_A_CALL: usize = 100;

/// Such calls at a time. More would only make the table throttle sooner.
const CALLS_AT_A_TIME: usize = 4;

/// How often records that DynamoDB left unread are asked for again, and after what pause first: in all a good second.
const MOST_REPETITIONS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

type Item = HashMap<String, AttributeValue>;

/// Reads jobs through the index `account-created` (hash `account_id`, range `created_at` in epoch milliseconds, keys only), then the records by
/// their keys. The index holds attributes that never change, so no write of a job but its first one costs anything there.
///
/// Records are read as they are, but an index cannot be read so: a job that was accepted in the last moments before the report may be missing
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html>).
#[derive(Clone)]
pub struct DynamoDbHistory {
    client: Client,
    table: String,
    index: String,
}

impl fmt::Debug for DynamoDbHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoDbHistory").field("table", &self.table).field("index", &self.index).finish_non_exhaustive()
    }
}

impl DynamoDbHistory {
    /// The attributes that are read of a record. A role that may read these alone needs no more.
    pub fn attributes() -> impl Iterator<Item = &'static str> {
        ATTRIBUTES.iter().map(|(_, name)| *name)
    }

    /// The history in `table`, by way of `index`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>, index: impl Into<String>) -> Self {
        Self { client, table: table.into(), index: index.into() }
    }

    /// Ids of the page's jobs, in order, and where the next page begins.
    async fn keys(
        &self,
        account_id: &str,
        (first, last): (EpochMillis, EpochMillis),
        after: Option<&Position>,
    ) -> Result<(Vec<String>, Option<Position>), HistoryError> {
        let start = after.map(|position| {
            HashMap::from([
                ("account_id".to_owned(), text(account_id)),
                ("created_at".to_owned(), millis(position.created_at)),
                ("job_id".to_owned(), text(&position.job_id)),
            ])
        });
        let answer = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(&self.index)
            .key_condition_expression("account_id = :account AND created_at BETWEEN :first AND :last")
            .expression_attribute_values(":account", text(account_id))
            .expression_attribute_values(":first", millis(first))
            .expression_attribute_values(":last", millis(last))
            .limit(KEYS_A_PAGE)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| refused(&error))?;
        let job_ids = answer.items().iter().filter_map(|item| text_of(item, "job_id")).collect();
        let next = answer.last_evaluated_key.as_ref().map(position).transpose()?;
        Ok((job_ids, next))
    }

    /// The records of at most a hundred keys. DynamoDB answers as much as it can at once and names the rest.
    async fn records(&self, job_ids: &[String]) -> Result<HashMap<String, Item>, HistoryError> {
        let mut found = HashMap::with_capacity(job_ids.len());
        let mut wanted = self.request(job_ids).map_err(|_| unreadable("request_not_built"))?;
        let mut pause = FIRST_PAUSE;
        for repetition in 0..=MOST_REPETITIONS {
            let answer = self.client.batch_get_item().request_items(&self.table, wanted).send().await;
            let answer = answer.map_err(|error| refused(&error))?;
            for item in answer.responses.into_iter().flatten().flat_map(|(_, items)| items) {
                if let Some(job_id) = text_of(&item, "job_id") {
                    found.insert(job_id, item);
                }
            }
            match answer.unprocessed_keys.and_then(|mut left| left.remove(&self.table)) {
                Some(left) if !left.keys().is_empty() => wanted = left,
                _ => return Ok(found),
            }
            if repetition < MOST_REPETITIONS {
                tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
                pause *= 2;
            }
        }
        Err(HistoryError::Throttled)
    }

    fn request(&self, job_ids: &[String]) -> Result<KeysAndAttributes, aws_sdk_dynamodb::error::BuildError> {
        let keys = job_ids.iter().map(|job_id| HashMap::from([("job_id".to_owned(), text(job_id))]));
        let names = ATTRIBUTES.map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned()));
        KeysAndAttributes::builder()
            .set_keys(Some(keys.collect()))
            .consistent_read(true)
            .projection_expression(ATTRIBUTES.map(|(placeholder, _)| placeholder).join(", "))
            .set_expression_attribute_names(Some(HashMap::from(names)))
            .build()
    }
}

#[async_trait]
impl JobHistory for DynamoDbHistory {
    async fn page(&self, scope: &Scope, after: Option<&Position>) -> Result<HistoryPage, HistoryError> {
        // DynamoDB refuses a BETWEEN whose end lies before its start.
        let Some(bounds) = scope.bounds() else { return Ok(HistoryPage { rows: Vec::new(), next: None }) };
        let (job_ids, next) = self.keys(&scope.account_id, bounds, after).await?;
        let calls: Vec<_> = job_ids.chunks(RECORDS_A_CALL).map(|some| self.records(some).boxed()).collect();
        let records: Vec<HashMap<String, Item>> = futures::stream::iter(calls).buffered(CALLS_AT_A_TIME).try_collect().await?;
        let found = |job_id| records.iter().find_map(|records| records.get(job_id));
        let rows = job_ids.iter().filter_map(found).filter_map(|item| row(item, scope));
        Ok(HistoryPage { rows: rows.collect(), next })
    }
}

/// One job; `None` for a record that has expired, or that is not the account's whatever the index says.
fn row(item: &Item, scope: &Scope) -> Option<JobRow> {
    let expired = number_of(item, "expires_at").is_some_and(|end| end <= scope.as_of.as_i64().div_euclid(1_000));
    if expired || text_of(item, "account_id").is_none_or(|account| account != scope.account_id) {
        return None;
    }
    let status = text_of(item, "status").unwrap_or_default();
    let has_ended = Status::from_name(&status).is_some_and(Status::is_final);
    let ended_at = number_of(item, "died_at").or_else(|| number_of(item, "updated_at"));
    let error = |member: &str| match item.get("last_error") {
        Some(AttributeValue::M(members)) => text_of(members, member),
        _ => None,
    };
    Some(JobRow {
        job_id: text_of(item, "job_id").unwrap_or_default(),
        job_type: text_of(item, "type").unwrap_or_default(),
        attempts: number_of(item, "attempts").and_then(|attempts| u64::try_from(attempts).ok()).unwrap_or(0),
        created_at: EpochMillis::from_i64(number_of(item, "created_at").unwrap_or(0)),
        ended_at: ended_at.filter(|_| has_ended).map(EpochMillis::from_i64),
        error_class: error("class"),
        error_code: error("code"),
        business_id: text_of(item, "business_id"),
        status,
    })
}

fn position(key: &Item) -> Result<Position, HistoryError> {
    match (number_of(key, "created_at"), text_of(key, "job_id")) {
        (Some(created_at), Some(job_id)) => Ok(Position { created_at: EpochMillis::from_i64(created_at), job_id }),
        _ => Err(HistoryError::Refused { code: "the index is not keyed by account_id and created_at".to_owned() }),
    }
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn millis(value: EpochMillis) -> AttributeValue {
    AttributeValue::N(value.as_i64().to_string())
}

fn text_of(item: &Item, name: &str) -> Option<String> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Some(text.clone()),
        _ => None,
    }
}

fn number_of(item: &Item, name: &str) -> Option<i64> {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => digits.parse().ok(),
        _ => None,
    }
}

fn unreadable(code: &str) -> HistoryError {
    HistoryError::Unavailable { code: code.to_owned() }
}

fn outage(code: &str) -> HistoryError {
    HistoryError::Outage { code: code.to_owned() }
}

/// By name rather than by variant: the throttling errors are not all modelled for these operations.
fn refused<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> HistoryError {
    match error.code() {
        Some("ProvisionedThroughputExceededException" | "RequestLimitExceeded" | "ThrottlingException") => {
            HistoryError::Throttled
        }
        Some(
            code
            @ ("AccessDeniedException" | "UnrecognizedClientException" | "ResourceNotFoundException" | "ValidationException"),
        ) => HistoryError::Refused { code: code.to_owned() },
        Some(code @ ("InternalServerError" | "InternalFailure" | "ServiceUnavailable" | "ServiceUnavailableException")) => {
            outage(code)
        }
        Some(code) => unreadable(code),
        None => match error {
            SdkError::TimeoutError(_) => outage("timed out"),
            SdkError::DispatchFailure(_) => outage("no connection"),
            _ => unreadable("no readable answer"),
        },
    }
}
