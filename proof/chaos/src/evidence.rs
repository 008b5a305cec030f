//! Counts when all is over: the table past the kit's own reader, the providers' books, the queues.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::idempotency::Status;
use serde_json::Value;

use crate::Failure;
use crate::book::{Book, Kind, Posted};
use crate::stage::{CONSUMERS, Stage};
use crate::tally::Tally;
use crate::verdict::{DeadLetter, Delivery, Evidence, Job, Recorded};

/// An item of the table.
pub type Item = HashMap<String, AttributeValue>;

/// The payment's own name of its job.
const JOB_METADATA: &str = "ikkai_job_id";

/// Counts everything.
///
/// # Errors
/// The engine or a provider does not answer, or a record cannot be read.
pub async fn gather(stage: &Stage, book: &Book, tally: &Tally, items: &BTreeMap<String, Item>) -> Result<Evidence, Failure> {
    let payments = payments(stage).await?;
    let told = successes_told(stage);
    let mut jobs = Vec::new();
    let mut posted_ids = std::collections::BTreeSet::new();
    for posted in book.all() {
        let id = posted.job_id.to_string();
        let effects = match posted.kind {
            Kind::Mail => stage.aws.proxy().effects_of(&id),
            Kind::Charge => payments.get(&id).copied().unwrap_or(0),
        };
        jobs.push(job(&posted, items.get(&id), effects, &told)?);
        posted_ids.insert(id);
    }
    let mut deliveries = Vec::new();
    for (id, item) in items.iter().filter(|(id, _)| !posted_ids.contains(*id)) {
        deliveries.push(Delivery { id: id.clone(), record: recorded(item)? });
    }
    let (dead_letters, waiting) = queues(stage).await?;
    Ok(Evidence {
        jobs,
        deliveries,
        mails: stage.aws.mails().await?.len() as u64,
        payments: payments.values().sum(),
        dead_letters,
        waiting,
        faults: tally.counts(),
    })
}

/// The jobs table, item by item.
///
/// # Errors
/// The engine does not answer.
pub async fn items(stage: &Stage) -> Result<BTreeMap<String, Item>, Failure> {
    let client = aws_sdk_dynamodb::Client::new(&stage.aws.sdk_config());
    let scan = client.scan().table_name(stage.stack().jobs_table()).consistent_read(true).into_paginator().items().send();
    let items: Vec<Item> = scan.collect::<Result<_, _>>().await?;
    Ok(items.into_iter().filter_map(|item| Some((text(&item, "job_id")?, item))).collect())
}

fn job(posted: &Posted, item: Option<&Item>, effects: u64, told: &BTreeMap<String, u64>) -> Result<Job, Failure> {
    let id = posted.job_id.to_string();
    let told = posted.callback.then(|| told.get(&id).copied().unwrap_or(0));
    Ok(Job { id, kind: posted.kind, heard: posted.heard, record: item.map(recorded).transpose()?, effects, told })
}

fn recorded(item: &Item) -> Result<Recorded, Failure> {
    let unreadable = || format!("a record without a status that is known: {item:?}");
    let status = text(item, "status").and_then(|name| Status::from_name(&name)).ok_or_else(unreadable)?;
    let count = |name: &str| item.get(name).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok());
    let reason = item.get("last_error").and_then(|value| value.as_m().ok()).and_then(|error| text(error, "code"));
    let (attempts, crashes) = (count("attempts").unwrap_or(0), count("crashes").unwrap_or(0));
    Ok(Recorded { status, attempts, crashes, reason })
}

fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name).and_then(|value| value.as_s().ok()).cloned()
}

/// Payments that moved money, by the job that they name; those that name none are under the empty name.
async fn payments(stage: &Stage) -> Result<BTreeMap<String, u64>, Failure> {
    let mut by_job = BTreeMap::new();
    for payment in stage.payments.payments().await?.iter().filter(|payment| payment["status"] == "succeeded") {
        let job = payment["metadata"][JOB_METADATA].as_str().unwrap_or_default();
        *by_job.entry(job.to_owned()).or_default() += 1;
    }
    Ok(by_job)
}

/// How often the receiver was told of the success of each job.
fn successes_told(stage: &Stage) -> BTreeMap<String, u64> {
    let mut by_job = BTreeMap::new();
    for event in stage.told().iter().filter(|event| event["type"] == "job.succeeded") {
        *by_job.entry(event["jobId"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    by_job
}

async fn queues(stage: &Stage) -> Result<(Vec<DeadLetter>, BTreeMap<String, usize>), Failure> {
    let (mut dead_letters, mut waiting) = (Vec::new(), BTreeMap::new());
    for consumer in CONSUMERS {
        let names = stage.stack().consumer(consumer);
        for message in stage.stack().messages(names.dead_letter_queue).await? {
            let body: Value = serde_json::from_str(&message.body).unwrap_or_default();
            let job = body["jobId"].as_str().map(str::to_owned);
            dead_letters.push(DeadLetter { queue: names.dead_letter_queue.to_owned(), job });
        }
        waiting.insert(names.queue.to_owned(), stage.stack().queue_counts(names.queue).await?.all());
    }
    Ok((dead_letters, waiting))
}
