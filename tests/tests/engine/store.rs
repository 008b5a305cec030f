//! The DynamoDB store passes the conformance suite of stores on the engine's DynamoDB.

use std::sync::Arc;

use ikkai::idempotency::DynamoStore;
use ikkai::testing::conformance;

use crate::harness::on_engine;

#[test]
fn the_dynamodb_store_conforms() {
    on_engine(async |lab| {
        let client = aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config());
        conformance::suite(Arc::new(DynamoStore::new(client, lab.stack.jobs_table())), &lab.key("conformance")).await;
    });
}
