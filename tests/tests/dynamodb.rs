//! The DynamoDB store passes the conformance suite of stores on a real engine.

use std::sync::Arc;

use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
use ikkai::idempotency::DynamoStore;
use ikkai::testing::conformance;

#[tokio::test(flavor = "multi_thread")]
async fn the_dynamodb_store_conforms() {
    let config = ikkai::aws::sdk_config().await;
    let client = aws_sdk_dynamodb::Client::new(&config);
    let table = format!("conformance-{}", uuid::Uuid::new_v4());
    client
        .create_table()
        .table_name(&table)
        .attribute_definitions(AttributeDefinition::builder().attribute_name("job_id").attribute_type(ScalarAttributeType::S).build().unwrap())
        .key_schema(KeySchemaElement::builder().attribute_name("job_id").key_type(KeyType::Hash).build().unwrap())
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await
        .unwrap();
    conformance::suite(Arc::new(DynamoStore::new(client, table)), "engine").await;
}
