//! Tables.

use ikkai_tests::template::{parameters, rules::tables, synthesize};
use serde_json::json;

use crate::stacks::{holds, notices};

const TABLES: [&str; 3] = ["JobsTable", "ContactsTable", "RedriveTable"];

#[test]
fn expired_items_go_by_the_attribute_that_the_code_writes() {
    let rule = tables::items_expire_by_the_attribute_of_the_code;
    holds(rule);
    for table in TABLES {
        notices(rule, table, |stack| stack.set(table, "/TimeToLiveSpecification/AttributeName", json!("ttl")));
        notices(rule, table, |stack| stack.set(table, "/TimeToLiveSpecification/Enabled", json!(false)));
    }
}

#[test]
fn tables_have_the_keys_of_the_code() {
    let rule = tables::tables_have_the_keys_of_the_code;
    holds(rule);
    notices(rule, "EmailConsumerFunction", |stack| {
        stack.set("ContactsTable", "/KeySchema/0/AttributeName", json!("email"));
    });
    notices(rule, "DlqRedriveFunction", |stack| stack.remove("RedriveTable", "/KeySchema/1"));
    notices(rule, "DlqRedriveFunction", |stack| {
        stack.set("RedriveTable", "/AttributeDefinitions/1/AttributeType", json!("N"));
    });
    notices(rule, "SesFeedbackFunction", |stack| {
        stack.set("ContactsTable", "/AttributeDefinitions/0/AttributeType", json!("N"));
    });
}

#[test]
fn reports_have_an_index_of_keys_that_never_change() {
    let rule = tables::indexes_hold_keys_that_never_change;
    holds(rule);
    let index = "/GlobalSecondaryIndexes/0";
    notices(rule, "ReportConsumerFunction", |stack| stack.remove("JobsTable", "/GlobalSecondaryIndexes"));
    notices(rule, "ReportConsumerFunction", |stack| stack.set("JobsTable", &format!("{index}/IndexName"), json!("by-account")));
    notices(rule, "JobsTable", |stack| stack.set("JobsTable", &format!("{index}/Projection/ProjectionType"), json!("ALL")));
    notices(rule, "JobsTable", |stack| {
        stack.set("JobsTable", &format!("{index}/KeySchema/1/AttributeName"), json!("updated_at"));
    });
    notices(rule, "JobsTable", |stack| stack.set("JobsTable", "/AttributeDefinitions/2/AttributeType", json!("S")));
}

#[test]
fn tables_are_encrypted_and_backed_up_and_those_of_production_refuse_deletion() {
    holds(tables::tables_are_encrypted_and_backed_up);
    for table in TABLES {
        notices(tables::tables_are_encrypted_and_backed_up, table, |stack| stack.remove(table, "/SSESpecification"));
        notices(tables::tables_are_encrypted_and_backed_up, table, |stack| {
            stack.remove(table, "/PointInTimeRecoverySpecification");
        });
    }
    let stages = ["prod", "staging", "dev"];
    let stacks = synthesize(&stages.map(|stage| parameters(&[("Stage", stage)]))).stacks;
    let open: Vec<usize> = stacks.iter().map(|stack| tables::tables_refuse_deletion(stack).len()).collect();
    assert_eq!(open, [0, TABLES.len(), TABLES.len()], "{stages:?}");
}

#[test]
fn an_index_takes_as_many_writes_as_its_table() {
    let rule = tables::indexes_keep_up_with_their_table;
    holds(rule);
    notices(rule, "JobsTable", |stack| stack.set("JobsTable", "/WarmThroughput", json!({"WriteUnitsPerSecond": "8000"})));
    notices(rule, "JobsTable", |stack| {
        stack.set("JobsTable", "/GlobalSecondaryIndexes/0/WarmThroughput", json!({"WriteUnitsPerSecond": "4000"}));
    });
}
