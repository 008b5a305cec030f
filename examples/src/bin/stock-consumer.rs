//! The FIFO consumer as a Lambda function, on a queue whose name ends in `.fifo`.

use std::sync::Arc;

use ikkai::consumer::{self, StartupError};
use ikkai_examples::fifo::{DynamoDbShelf, StockHandler};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    consumer::run(async |startup| {
        let table = startup.config.required_text("IKKAI_STOCK_TABLE");
        StockHandler { shelf: Arc::new(DynamoDbShelf { client: aws_sdk_dynamodb::Client::new(&startup.aws), table }) }
    })
    .await
}
