//! Looks where jobs stand, again and again, past the proxy.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use ikkai::idempotency::Status;

use crate::Failure;
use crate::book::Book;
use crate::stage::Stage;

/// Items of one call (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html>).
const BATCH: usize = 100;

/// Time between two looks.
const EVERY: Duration = Duration::from_millis(700);

/// Reads the records of jobs that have not ended.
#[derive(Debug)]
pub struct Watch<'a> {
    stage: &'a Stage,
    book: &'a Book,
    client: Client,
}

impl<'a> Watch<'a> {
    /// Watches the jobs of a book.
    #[must_use]
    pub fn new(stage: &'a Stage, book: &'a Book) -> Self {
        Self { stage, book, client: Client::new(&stage.aws.sdk_config()) }
    }

    /// Looks until something goes wrong.
    pub async fn run(&self) -> Failure {
        loop {
            if let Err(failure) = self.look().await {
                // A dead engine explains more than a refused connection.
                return self.stage.aws.check().err().map_or(failure, Failure::from);
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Looks once.
    ///
    /// # Errors
    /// The engine does not answer.
    pub async fn look(&self) -> Result<(), Failure> {
        self.stage.aws.check()?;
        for ids in self.book.open().chunks(BATCH) {
            for (job_id, status) in self.standing(ids).await? {
                self.book.stands(&job_id, status);
            }
        }
        Ok(())
    }

    async fn standing(&self, ids: &[String]) -> Result<Vec<(String, Status)>, Failure> {
        let keys = ids.iter().map(|id| [("job_id".to_owned(), AttributeValue::S(id.clone()))].into());
        let wanted = KeysAndAttributes::builder()
            .set_keys(Some(keys.collect()))
            .consistent_read(true)
            .projection_expression("job_id, #status")
            .expression_attribute_names("#status", "status")
            .build()?;
        let answer = self.client.batch_get_item().request_items(self.stage.stack().jobs_table(), wanted).send().await?;
        let items = answer.responses.unwrap_or_default().into_values().flatten();
        let text = |value: Option<&AttributeValue>| value.and_then(|value| value.as_s().ok()).cloned();
        Ok(items.filter_map(|item| Some((text(item.get("job_id"))?, Status::from_name(&text(item.get("status"))?)?))).collect())
    }
}
