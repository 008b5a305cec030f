//! DynamoDB's conditions, transactions and time to live.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, Put, ReturnValuesOnConditionCheckFailure, TimeToLiveSpecification, TimeToLiveStatus, TransactWriteItem,
};
use futures::FutureExt;
use futures::future::join_all;

use crate::local::check::finding::Finding;
use crate::local::check::lab::Lab;
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Doing, Trouble, part};

const GROUP: &str = "records";

pub(super) const PROBES: [Probe; 4] = [
    Probe {
        id: "conditional-race",
        group: GROUP,
        feature: "conditional race",
        aws: "Of writes at the same time under the condition that an item does not exist exactly one succeeds.",
        source: "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html",
        needs: Needs::Nothing,
        run: |lab| race(lab).boxed_local(),
    },
    Probe {
        id: "condition-failure-item",
        group: GROUP,
        feature: "item of a failed condition",
        aws: "With `ReturnValuesOnConditionCheckFailure` the refusal brings the item as it is.",
        source: "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html",
        needs: Needs::Nothing,
        run: |lab| failure_item(lab).boxed_local(),
    },
    Probe {
        id: "transaction-reasons",
        group: GROUP,
        feature: "cancelled transaction",
        aws: "A transaction with a failed condition writes nothing and gives the reasons in the order of its actions.",
        source: "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html",
        needs: Needs::Nothing,
        run: |lab| transaction(lab).boxed_local(),
    },
    Probe {
        id: "time-to-live",
        group: GROUP,
        feature: "time to live",
        aws: "Time to live can be switched on for an attribute; an item that has expired may be read until it is deleted, within days.",
        source: "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html",
        needs: Needs::Nothing,
        run: |lab| time_to_live(lab).boxed_local(),
    },
];

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

async fn race(lab: &Lab) -> Result<Finding, Trouble> {
    const WRITERS: usize = 20;
    let table = lab.table("race").await?;
    let put = |writer: usize| {
        let call =
            lab.clients.dynamodb.put_item().table_name(&table).item("pk", text("one")).item("writer", text(&writer.to_string()));
        call.condition_expression("attribute_not_exists(pk)").send()
    };
    let (mut won, mut refused) = (0, 0);
    for outcome in join_all((0..WRITERS).map(put)).await {
        match outcome {
            Ok(_) => won += 1,
            Err(SdkError::ServiceError(error)) if error.err().is_conditional_check_failed_exception() => refused += 1,
            Err(error) => return Err(error).doing("PutItem"),
        }
    }
    Ok(Finding::judged(
        (won, refused) == (1, WRITERS - 1),
        format!("of {WRITERS} writers at once {won} won, {refused} were refused"),
    ))
}

async fn failure_item(lab: &Lab) -> Result<Finding, Trouble> {
    let table = lab.table("failure-item").await?;
    let put = |owner: &str| {
        let call = lab.clients.dynamodb.put_item().table_name(&table).item("pk", text("one")).item("owner", text(owner));
        let call = call.condition_expression("attribute_not_exists(pk)");
        call.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld).send()
    };
    put("first").await.doing("PutItem")?;
    let item = match put("second").await {
        Ok(_) => return Ok(Finding::differs("the second write under the condition succeeded")),
        Err(SdkError::ServiceError(error)) => match error.err() {
            PutItemError::ConditionalCheckFailedException(refusal) => refusal.item.clone(),
            _ => return Err(SdkError::ServiceError(error)).doing("PutItem"),
        },
        Err(error) => return Err(error).doing("PutItem"),
    };
    let wanted = HashMap::from([("pk".to_owned(), text("one")), ("owner".to_owned(), text("first"))]);
    Ok(match item {
        Some(item) if item == wanted => Finding::as_aws("the refusal brought the item"),
        Some(_) => Finding::differs("the refusal brought another item"),
        None => Finding::differs("the refusal brought no item"),
    })
}

async fn transaction(lab: &Lab) -> Result<Finding, Trouble> {
    let table = lab.table("transaction").await?;
    lab.clients.dynamodb.put_item().table_name(&table).item("pk", text("there")).send().await.doing("PutItem")?;
    let put = |key: &str| {
        let put =
            Put::builder().table_name(&table).item("pk", text(key)).condition_expression("attribute_not_exists(pk)").build();
        put.map(|put| TransactWriteItem::builder().put(put).build())
    };
    let (Ok(new), Ok(there)) = (put("new"), put("there")) else {
        return Err(Trouble::Incomplete { call: "TransactWriteItems", part: "item" });
    };
    let answer = lab.clients.dynamodb.transact_write_items().transact_items(new).transact_items(there).send().await;
    let reasons: Vec<String> = match answer {
        Ok(_) => return Ok(Finding::differs("a transaction with a failed condition succeeded")),
        Err(SdkError::ServiceError(error)) => match error.err() {
            TransactWriteItemsError::TransactionCanceledException(cancelled) => {
                cancelled.cancellation_reasons().iter().map(|reason| reason.code().unwrap_or("no code").to_owned()).collect()
            }
            _ => return Err(SdkError::ServiceError(error)).doing("TransactWriteItems"),
        },
        Err(error) => return Err(error).doing("TransactWriteItems"),
    };
    let written = lab.clients.dynamodb.get_item().table_name(&table).key("pk", text("new")).consistent_read(true).send().await;
    let written = written.doing("GetItem")?.item.is_some();
    let seen = format!("reasons: {}; {} was written", reasons.join(", "), if written { "the other item" } else { "nothing" });
    Ok(Finding::judged(reasons == ["None", "ConditionalCheckFailed"] && !written, seen))
}

async fn time_to_live(lab: &Lab) -> Result<Finding, Trouble> {
    let table = lab.table("ttl").await?;
    let specification = TimeToLiveSpecification::builder().enabled(true).attribute_name("expires_at").build();
    let specification = part(specification.ok(), "UpdateTimeToLive", "specification")?;
    let call = lab.clients.dynamodb.update_time_to_live().table_name(&table).time_to_live_specification(specification);
    call.send().await.doing("UpdateTimeToLive")?;
    let put = lab.clients.dynamodb.put_item().table_name(&table).item("pk", text("old"));
    put.item("expires_at", AttributeValue::N("1000000000".to_owned())).send().await.doing("PutItem")?;
    let described = lab.clients.dynamodb.describe_time_to_live().table_name(&table).send().await.doing("DescribeTimeToLive")?;
    let status = described.time_to_live_description.and_then(|description| description.time_to_live_status);
    let on = matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
    let found = lab.clients.dynamodb.get_item().table_name(&table).key("pk", text("old")).consistent_read(true).send().await;
    let there = found.doing("GetItem")?.item.is_some();
    let status = status.map_or_else(|| "no status".to_owned(), |status| status.as_str().to_owned());
    let item = if there { "an expired item can still be read" } else { "an expired item was gone at once" };
    Ok(Finding::judged(on && there, format!("{status}; {item}")))
}
