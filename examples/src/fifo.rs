//! A FIFO consumer: the levels of an item are written in the order in which they were sent.
//!
//! What makes it one is its queue, whose name ends in `.fifo`, and the sender, who gives all messages about one item the same message group.
//! The kit does the rest: messages of a group are worked on one after the other and groups side by side; when one fails, those behind it in
//! its group are given back untouched. `IKKAI_FIFO_AFTER_DEATH` says whether a group goes on behind a job that is dead.

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::consumer::{Done, Failure, Handler, JobContext};
use ikkai::idempotency::EffectPolicy;
use ikkai::job::{Job, JobPayload, ReferenceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Says how many of an item there are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StockSet {
    /// The item.
    pub item_id: ReferenceId,
    /// How many there are.
    pub level: u32,
}

impl JobPayload for StockSet {
    const TYPE: &'static str = "stock.set";
    const SCHEMA_VERSION: u32 = 1;
}

/// Where levels are kept.
#[async_trait]
pub trait Shelf: Send + Sync {
    /// Writes the level of an item.
    ///
    /// # Errors
    /// When it was not written, or may not have been.
    async fn set(&self, item_id: &str, level: u32) -> Result<(), ShelfError>;
}

/// A level may not have been written. What the store said is left out: it may name the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the level was not confirmed")]
pub struct ShelfError;

/// Writes levels. The same level written twice is the same level, so an unclear write is made again; the order keeps an older one from
/// coming after a newer one.
pub struct StockHandler {
    /// Where to.
    pub shelf: Arc<dyn Shelf>,
}

impl Handler for StockHandler {
    type Payload = StockSet;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::RERUN
    }

    async fn handle(&self, job: &Job<StockSet>, _context: &JobContext) -> Result<Done, Failure> {
        match self.shelf.set(job.payload.item_id.as_str(), job.payload.level).await {
            Ok(()) => Ok(Done::new()),
            Err(error) => Err(Failure::retry("shelf_unavailable", error.to_string())),
        }
    }
}

/// A shelf in a DynamoDB table whose key is `item_id`.
#[derive(Debug)]
pub struct DynamoDbShelf {
    /// The client.
    pub client: aws_sdk_dynamodb::Client,
    /// The table.
    pub table: String,
}

#[async_trait]
impl Shelf for DynamoDbShelf {
    async fn set(&self, item_id: &str, level: u32) -> Result<(), ShelfError> {
        let put = self.client.put_item().table_name(&self.table);
        let put = put.item("item_id", AttributeValue::S(item_id.to_owned())).item("level", AttributeValue::N(level.to_string()));
        Box::pin(put.send()).await.map(drop).map_err(|_| ShelfError)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use ikkai::consumer::ConsumerSettings;
    use ikkai::queue::QueueName;
    use ikkai::testing::{Bench, MessageBuilder, settings};
    use serde_json::json;

    use super::*;

    /// Keeps what it is told in order, and fails at first for one item.
    #[derive(Default)]
    struct Memory {
        written: Mutex<Vec<(String, u32)>>,
        fails: Mutex<Option<&'static str>>,
    }

    #[async_trait]
    impl Shelf for Memory {
        async fn set(&self, item_id: &str, level: u32) -> Result<(), ShelfError> {
            let mut fails = self.fails.lock().unwrap();
            if *fails == Some(item_id) {
                *fails = None;
                return Err(ShelfError);
            }
            self.written.lock().unwrap().push((item_id.to_owned(), level));
            Ok(())
        }
    }

    impl Memory {
        fn levels_of(&self, item: &str) -> Vec<u32> {
            self.written.lock().unwrap().iter().filter(|(id, _)| id == item).map(|(_, level)| *level).collect()
        }
    }

    fn bench(fails: Option<&'static str>) -> (Arc<Memory>, Bench<StockHandler>) {
        let shelf = Arc::new(Memory { fails: Mutex::new(fails), ..Memory::default() });
        let fifo = ConsumerSettings { queue_name: QueueName::new("stock.fifo"), ..settings() };
        (shelf.clone(), Bench::with(StockHandler { shelf }, fifo))
    }

    fn message(item: &str, level: u32) -> MessageBuilder {
        let name = format!("{item}-{level}");
        let payload = json!({"itemId": item, "level": level});
        MessageBuilder::job(&name, "stock.set", &name, payload).queue("stock.fifo").group(item)
    }

    #[tokio::test]
    async fn levels_of_an_item_are_written_in_order() {
        let (shelf, bench) = bench(None);
        let batch = [message("lamp", 3), message("desk", 9), message("lamp", 2), message("lamp", 1)];
        let run = bench.run_batch(batch.map(|message| message.build())).await.unwrap();
        assert!(run.failed.is_empty());
        assert_eq!((shelf.levels_of("lamp"), shelf.levels_of("desk")), (vec![3, 2, 1], vec![9]));
    }

    #[tokio::test]
    async fn a_failure_holds_back_its_own_item_and_no_newer_level_overtakes() {
        let (shelf, bench) = bench(Some("lamp"));
        let batch = [message("lamp", 3), message("desk", 9), message("lamp", 2)];
        let run = bench.run_batch(batch.each_ref().map(MessageBuilder::build)).await.unwrap();
        assert_eq!(run.failed, ["lamp-3", "lamp-2"]);
        assert_eq!((shelf.levels_of("lamp"), shelf.levels_of("desk")), (vec![], vec![9]));

        let again = [message("lamp", 3), message("lamp", 2)].map(|message| message.received(2).build());
        assert!(bench.run_batch(again).await.unwrap().failed.is_empty());
        assert_eq!(shelf.levels_of("lamp"), [3, 2]);
    }
}
