//! Reads the table of jobs for itself: an answer that does not depend on the code that wrote it.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::job::JobId;
use serde_json::Value;

use super::super::findings::Missed;
use super::super::scene::{Scene, works};

/// Of a job, what scenes ask for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) job_id: JobId,
    pub(super) status: String,
    pub(super) account_id: Option<String>,
    /// Epoch milliseconds.
    pub(super) created_at: i64,
    pub(super) payload: Value,
}

/// All jobs of a type, or of every type for `""`, by a scan of the whole table.
pub(super) async fn records(scene: &Scene<'_>, job_type: &str) -> Result<Vec<Row>, Missed> {
    let client = aws_sdk_dynamodb::Client::new(&scene.stage.aws.sdk_config());
    let mut pages = client.scan().table_name(scene.stack.jobs_table()).consistent_read(true).into_paginator().items().send();
    let mut rows = Vec::new();
    while let Some(item) = pages.next().await {
        let item = works("the table can be scanned", item)?;
        rows.extend(row(&item).filter(|row| job_type.is_empty() || row.job_id.job_type().as_str() == job_type));
    }
    Ok(rows)
}

fn row(item: &HashMap<String, AttributeValue>) -> Option<Row> {
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok());
    Some(Row {
        job_id: JobId::parse_stored(text("job_id")?).ok()?,
        status: text("status")?.clone(),
        account_id: text("account_id").cloned(),
        created_at: item.get("created_at")?.as_n().ok()?.parse().ok()?,
        payload: text("payload").and_then(|payload| serde_json::from_str(payload).ok()).unwrap_or_default(),
    })
}
