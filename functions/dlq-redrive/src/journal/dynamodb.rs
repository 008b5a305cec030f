//! The journal in DynamoDB: key `pk`, `sk` (strings), TTL attribute `expires_at` (epoch seconds).

mod item;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use futures::future::try_join_all;
use ikkai::clock::{Clock, EpochMillis};

use self::item::{Item, RUN, lock_of, number, pointer, run_of, run_text, summary_of, text, verdict_pages, verdicts_of};
use super::{Begun, Journal, JournalError, Locked, Run};
use crate::protocol::{MessageVerdict, RunSummary};

/// A lock is over by `until`, whether its item is there or not. It is removed this much later, so that no clock's lead makes it go before.
const LOCK_KEPT_AFTER: Duration = Duration::from_secs(3_600);

/// Keeps runs in the redrive table:
///
/// | `pk` | `sk` | what |
/// |---|---|---|
/// | `run#<run id>` | `run` | the run: `run` (JSON), `parts` (N, what a change insists on), `summary` (JSON), `begun_by` (who made it) |
/// | `run#<run id>` | `verdicts#<page>` | verdicts (JSON), more than 300 KB of them in further items `verdicts#<page>.<n>` |
/// | `queue#<name>` | `run#<began at>#<run id>` | the run's place in the history of a queue |
/// | `queue#<name>` | `lock` | who has the queue: `run_id`, `until` (N, epoch milliseconds) |
///
/// Every item has an end: what happened is kept for the retention, and a lock that a run which died has left goes soon after it is over.
#[derive(Clone)]
pub struct DynamoDbJournal {
    client: Client,
    table: String,
    retention: Duration,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for DynamoDbJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DynamoDbJournal").field("table", &self.table).finish_non_exhaustive()
    }
}

impl DynamoDbJournal {
    /// A journal in `table` that keeps what happened for `retention`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>, retention: Duration, clock: Arc<dyn Clock>) -> Self {
        Self { client, table: table.into(), retention, clock }
    }

    fn expires_at(&self) -> AttributeValue {
        number((self.clock.now() + self.retention).to_seconds_ceil())
    }

    async fn get(&self, run_id: &str, projection: &str) -> Result<Option<Item>, JournalError> {
        let asked = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", text(format!("run#{run_id}")))
            .key("sk", text(RUN))
            .projection_expression("#wanted")
            .expression_attribute_names("#wanted", projection)
            .consistent_read(true)
            .send();
        Ok(Box::pin(asked).await.map_err(|error| failed("GetItem", &error))?.item)
    }

    /// The run's place in the history of each of its queues. Written after the run itself: a place without a run would be a riddle, a run
    /// without its place has done nothing yet, and gets it when it is begun again.
    async fn add_pointers(&self, run: &Run) -> Result<(), JournalError> {
        let puts = run.summary.queues.iter().map(|queue| {
            let put = self.client.put_item().table_name(&self.table);
            let put = put.set_item(Some(pointer(queue, run))).item("expires_at", self.expires_at());
            async move { Box::pin(put.send()).await.map(drop).map_err(|error| failed("PutItem", &error)) }
        });
        try_join_all(puts).await.map(drop)
    }
}

#[async_trait]
impl Journal for DynamoDbJournal {
    async fn begin(&self, run: &Run) -> Result<Begun, JournalError> {
        // A repetition of this very write, whose first answer was lost, meets itself.
        let begun_by = ikkai::token::unique().to_string();
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .item("pk", text(format!("run#{}", run.summary.run_id)))
            .item("sk", text(RUN))
            .item("run", text(run_text(run)?))
            .item("summary", text(summary_of(run)?))
            .item("parts", number(run.parts))
            .item("begun_by", text(&begun_by))
            .item("expires_at", self.expires_at())
            .condition_expression("attribute_not_exists(pk)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send();
        let begun = match Box::pin(put).await {
            Ok(_) => Begun::New,
            Err(SdkError::ServiceError(refused)) if refused.err().is_conditional_check_failed_exception() => {
                let PutItemError::ConditionalCheckFailedException(stored) = refused.into_err() else {
                    return Err(corrupt("a refused write names no item"));
                };
                let stored = stored.item.unwrap_or_default();
                match stored.get("begun_by").and_then(|by| by.as_s().ok()) {
                    Some(by) if *by == begun_by => Begun::New,
                    _ => Begun::Exists(Box::new(run_of(&stored)?)),
                }
            }
            Err(error) => return Err(failed("PutItem", &error)),
        };
        match &begun {
            Begun::New => self.add_pointers(run).await?,
            Begun::Exists(found) => self.add_pointers(found).await?,
        }
        Ok(begun)
    }

    async fn save(&self, run: &Run, parts: u32) -> Result<bool, JournalError> {
        let next = run_text(run)?;
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", text(format!("run#{}", run.summary.run_id)))
            .key("sk", text(RUN))
            .update_expression("SET #run = :run, #summary = :summary, #parts = :parts")
            .condition_expression("#parts = :known")
            .expression_attribute_names("#run", "run")
            .expression_attribute_names("#summary", "summary")
            .expression_attribute_names("#parts", "parts")
            .expression_attribute_values(":run", text(&next))
            .expression_attribute_values(":summary", text(summary_of(run)?))
            .expression_attribute_values(":parts", number(run.parts))
            .expression_attribute_values(":known", number(parts))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send();
        match Box::pin(update).await {
            Ok(_) => Ok(true),
            Err(SdkError::ServiceError(refused)) if refused.err().is_conditional_check_failed_exception() => {
                let UpdateItemError::ConditionalCheckFailedException(stored) = refused.into_err() else { return Ok(false) };
                // My own earlier write, whose answer was lost.
                Ok(stored.item.as_ref().and_then(|item| item.get("run")) == Some(&text(next)))
            }
            Err(error) => Err(failed("UpdateItem", &error)),
        }
    }

    async fn find(&self, run_id: &str) -> Result<Option<Run>, JournalError> {
        self.get(run_id, "run").await?.as_ref().map(run_of).transpose()
    }

    async fn add_verdicts(&self, run_id: &str, page: u32, verdicts: &[MessageVerdict]) -> Result<(), JournalError> {
        for item in verdict_pages(run_id, page, verdicts)? {
            let put = self.client.put_item().table_name(&self.table).set_item(Some(item)).item("expires_at", self.expires_at());
            Box::pin(put.send()).await.map_err(|error| failed("PutItem", &error))?;
        }
        Ok(())
    }

    async fn verdicts(&self, run_id: &str, max: usize) -> Result<Vec<MessageVerdict>, JournalError> {
        let mut items = Vec::new();
        let mut start = None;
        loop {
            let asked = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
                .expression_attribute_values(":pk", text(format!("run#{run_id}")))
                .expression_attribute_values(":prefix", text("verdicts#"))
                .consistent_read(true)
                .set_exclusive_start_key(start)
                .send();
            let page = Box::pin(asked).await.map_err(|error| failed("Query", &error))?;
            items.extend(page.items.unwrap_or_default());
            let found = verdicts_of(&items)?;
            start = page.last_evaluated_key;
            if start.is_none() || found.len() >= max {
                return Ok(found.into_iter().take(max).collect());
            }
        }
    }

    async fn history(&self, queue: &str, max: usize) -> Result<Vec<RunSummary>, JournalError> {
        let asked = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
            .expression_attribute_values(":pk", text(format!("queue#{queue}")))
            .expression_attribute_values(":prefix", text("run#"))
            .scan_index_forward(false)
            .limit(i32::try_from(max.max(1)).unwrap_or(i32::MAX))
            .consistent_read(true)
            .send();
        let pointers = Box::pin(asked).await.map_err(|error| failed("Query", &error))?.items.unwrap_or_default();
        let run_ids = pointers.iter().filter_map(|pointer| pointer.get("run_id")?.as_s().ok());
        let runs = try_join_all(run_ids.map(|run_id| self.get(run_id, "summary"))).await?;
        runs.iter().flatten().map(item::read_summary).collect()
    }

    async fn lock(&self, queue: &str, run_id: &str, until: EpochMillis, now: EpochMillis) -> Result<Locked, JournalError> {
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .item("pk", text(format!("queue#{queue}")))
            .item("sk", text("lock"))
            .item("run_id", text(run_id))
            .item("until", number(until))
            .item("expires_at", number((until + LOCK_KEPT_AFTER).to_seconds_ceil()))
            .condition_expression("attribute_not_exists(pk) OR #run_id = :run_id OR #until <= :now")
            .expression_attribute_names("#run_id", "run_id")
            .expression_attribute_names("#until", "until")
            .expression_attribute_values(":run_id", text(run_id))
            .expression_attribute_values(":now", number(now))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send();
        match Box::pin(put).await {
            Ok(_) => Ok(Locked::Yes),
            Err(SdkError::ServiceError(refused)) if refused.err().is_conditional_check_failed_exception() => {
                match refused.into_err() {
                    PutItemError::ConditionalCheckFailedException(stored) => lock_of(&stored.item.unwrap_or_default()),
                    _ => Err(corrupt("a refused write names no item")),
                }
            }
            Err(error) => Err(failed("PutItem", &error)),
        }
    }

    async fn unlock(&self, queue: &str, run_id: &str) -> Result<(), JournalError> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .key("pk", text(format!("queue#{queue}")))
            .key("sk", text("lock"))
            .condition_expression("#run_id = :run_id")
            .expression_attribute_names("#run_id", "run_id")
            .expression_attribute_values(":run_id", text(run_id))
            .send();
        match Box::pin(delete).await {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(()),
            Err(error) => Err(failed("DeleteItem", &error)),
        }
    }
}

fn corrupt(problem: &str) -> JournalError {
    JournalError::Corrupt { problem: problem.to_owned() }
}

fn failed<E: ProvideErrorMetadata, R>(operation: &'static str, error: &SdkError<E, R>) -> JournalError {
    match error.code() {
        Some("AccessDeniedException" | "UnrecognizedClientException") => JournalError::Denied { operation },
        Some(code) => JournalError::Unavailable { operation, code: code.to_owned() },
        None => {
            let code = match error {
                SdkError::TimeoutError(_) => "timed out",
                SdkError::DispatchFailure(_) => "no connection",
                _ => "no readable answer",
            };
            JournalError::Unavailable { operation, code: code.to_owned() }
        }
    }
}
