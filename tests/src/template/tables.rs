//! Tables.

use super::stack::Stack;

/// Attribute that holds when an item expires, in epoch seconds.
const EXPIRY_ATTRIBUTE: &str = "expires_at";

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
        for (variable, key) in [("IKKAI_JOBS_TABLE", "job_id"), ("IKKAI_CONTACTS_TABLE", "user_id")] {
            let told = function.environment(variable);
            if told.is_null() {
                continue;
            }
            let schema = stack.target(told).map(|table| (table.at("/KeySchema"), table.at("/AttributeDefinitions")));
            let wanted_schema = serde_json::json!([{"AttributeName": key, "KeyType": "HASH"}]);
            let wanted_types = serde_json::json!([{"AttributeName": key, "AttributeType": "S"}]);
            if schema != Some((&wanted_schema, &wanted_types)) {
                violations.push(format!("{}: {variable} is not a table with the string key {key}", function.name));
            }
        }
    }
    violations
}
