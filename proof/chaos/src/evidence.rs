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
    let told = told(stage);
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
        let told = end_of(item).and_then(|end| told.get(&end)).copied().unwrap_or(0);
        deliveries.push(Delivery { id: id.clone(), record: recorded(item)?, told });
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

fn job(posted: &Posted, item: Option<&Item>, effects: u64, told: &BTreeMap<End, u64>) -> Result<Job, Failure> {
    let id = posted.job_id.to_string();
    let success = |end: &End| end.job == id && end.status == "succeeded";
    let told = posted.callback.then(|| told.iter().filter(|(end, _)| success(end)).map(|(_, count)| count).sum());
    Ok(Job { id, kind: posted.kind, heard: posted.heard, record: item.map(recorded).transpose()?, effects, told })
}

fn recorded(item: &Item) -> Result<Recorded, Failure> {
    let unreadable = || format!("a record without a status that is known: {item:?}");
    let status = text(item, "status").and_then(|name| Status::from_name(&name)).ok_or_else(unreadable)?;
    let count = |name: &str| item.get(name).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok());
    let reason = item.get("last_error").and_then(|value| value.as_m().ok()).and_then(|error| text(error, "code"));
    let (attempts, crashes) = (count("attempts").unwrap_or(0), count("crashes").unwrap_or(0));
    Ok(Recorded { status, attempts, crashes, generation: count("generation").unwrap_or(0), reason })
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

/// An end of a job, of which a delivery tells.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    job: String,
    generation: u64,
    status: String,
}

impl End {
    /// Out of an event's or a delivery's members.
    fn read(members: &Value) -> Option<Self> {
        let text = |name: &str| members[name].as_str().map(str::to_owned);
        Some(Self { job: text("jobId")?, generation: members["generation"].as_u64()?, status: text("status")? })
    }
}

/// The end that a delivery tells of.
fn end_of(item: &Item) -> Option<End> {
    End::read(&serde_json::from_str(&text(item, "payload")?).ok()?)
}

/// How often the receiver was told of each end.
fn told(stage: &Stage) -> BTreeMap<End, u64> {
    let mut by_end = BTreeMap::new();
    for end in stage.told().iter().filter_map(End::read) {
        *by_end.entry(end).or_default() += 1;
    }
    by_end
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
