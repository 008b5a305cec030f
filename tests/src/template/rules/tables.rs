//! Tables.

use serde_json::{Value, json};

use crate::template::stack::{Resource, Stack, listed};

/// Attribute that holds when an item expires, in epoch seconds.
const EXPIRY_ATTRIBUTE: &str = "expires_at";

/// The keys that the code uses, by the variable that names the table.
const KEYS: [(&str, &[&str]); 3] =
    [("IKKAI_JOBS_TABLE", &["job_id"]), ("IKKAI_CONTACTS_TABLE", &["user_id"]), ("IKKAI_REDRIVE_TABLE", &["pk", "sk"])];

/// Every table removes expired items by the attribute that the code writes.
#[must_use]
pub fn items_expire_by_the_attribute_of_the_code(stack: &Stack) -> Vec<String> {
    stack
        .of_type("AWS::DynamoDB::Table")
        .filter(|table| {
            table.at("/TimeToLiveSpecification/AttributeName") != EXPIRY_ATTRIBUTE
                || !table.is_true("/TimeToLiveSpecification/Enabled")
        })
        .map(|table| format!("{}: items do not expire by {EXPIRY_ATTRIBUTE}", table.name))
        .collect()
}

/// Every table is encrypted, backed up and not lost by a replacement.
#[must_use]
pub fn tables_are_encrypted_and_backed_up(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for table in stack.of_type("AWS::DynamoDB::Table") {
        if !table.is_true("/SSESpecification/SSEEnabled") {
            violations.push(format!("{}: not encrypted", table.name));
        }
        if !table.is_true("/PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled") {
            violations.push(format!("{}: no point-in-time recovery", table.name));
        }
    }
    violations
}

/// A table that is warm has warm indexes: one that cannot follow throttles the writes to its table
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html>).
#[must_use]
pub fn indexes_keep_up_with_their_table(stack: &Stack) -> Vec<String> {
    let warm = "/WarmThroughput/WriteUnitsPerSecond";
    let mut violations = Vec::new();
    for table in stack.of_type("AWS::DynamoDB::Table") {
        for index in listed(table.at("/GlobalSecondaryIndexes")) {
            let of_index = index.pointer(warm).unwrap_or(&Value::Null);
            if of_index != table.at(warm) {
                violations.push(format!("{}: takes {} writes a second and its index {of_index}", table.name, table.at(warm)));
            }
        }
    }
    violations
}

/// Every table refuses to be deleted.
#[must_use]
pub fn tables_refuse_deletion(stack: &Stack) -> Vec<String> {
    stack
        .of_type("AWS::DynamoDB::Table")
        .filter(|table| !table.is_true("/DeletionProtectionEnabled"))
        .map(|table| format!("{}: can be deleted", table.name))
        .collect()
}

/// Each table that a function is told of has the key that the code uses.
#[must_use]
pub fn tables_have_the_keys_of_the_code(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        for (variable, key) in KEYS {
            let told = function.environment(variable);
            if told.is_null() {
                continue;
            }
            let kinds = key.iter().zip(["HASH", "RANGE"]);
            let schema: Vec<Value> = kinds.map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind})).collect();
            let has_key = stack.target(told).is_some_and(|table| {
                *table.at("/KeySchema") == json!(schema) && key.iter().all(|name| attribute_type(&table, name) == "S")
            });
            if !has_key {
                violations.push(format!("{}: {variable} is not a table with the string key {key:?}", function.name));
            }
        }
    }
    violations
}

/// Indexes hold keys alone, and keys that never change, so that moving a job along does not write to them; and the index that reports are told
/// of is there.
#[must_use]
pub fn indexes_hold_keys_that_never_change(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for table in stack.of_type("AWS::DynamoDB::Table") {
        for index in listed(table.at("/GlobalSecondaryIndexes")) {
            let of_account = json!([
                {"AttributeName": "account_id", "KeyType": "HASH"},
                {"AttributeName": "created_at", "KeyType": "RANGE"},
            ]);
            let typed = attribute_type(&table, "account_id") == "S" && attribute_type(&table, "created_at") == "N";
            if index["KeySchema"] != of_account || !typed {
                violations.push(format!("{}: an index of other keys than an account's times", table.name));
            }
            if index["Projection"]["ProjectionType"] != "KEYS_ONLY" {
                violations.push(format!("{}: an index of more than keys", table.name));
            }
        }
    }
    for function in stack.of_type("AWS::Lambda::Function") {
        let told = function.environment("IKKAI_ACCOUNT_INDEX");
        let indexes = stack.target(function.environment("IKKAI_JOBS_TABLE")).map(|table| table.at("/GlobalSecondaryIndexes"));
        let is_there = indexes.is_some_and(|indexes| listed(indexes).iter().any(|index| index["IndexName"] == *told));
        if !told.is_null() && !is_there {
            violations.push(format!("{}: is told of an index that is not there", function.name));
        }
    }
    violations
}

fn attribute_type<'a>(table: &Resource<'a>, attribute: &str) -> &'a Value {
    let defined =
        listed(table.at("/AttributeDefinitions")).into_iter().find(|definition| definition["AttributeName"] == attribute);
    defined.map_or(&Value::Null, |definition| &definition["AttributeType"])
}
