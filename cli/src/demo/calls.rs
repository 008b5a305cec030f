//! What the functions asked AWS for: in all, and for a normal job.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use http::Request;
use serde::Serialize;
use serde_json::Value;

use super::cost::Usage;
use super::findings::Missed;
use super::job::Job;
use crate::local::loopback::Loopback;
use crate::local::proxy::{Call, Calls, Ending};
use crate::local::signed::sign_request;

/// A normal job, measured while nothing else happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NormalJob {
    /// Its own calls by operation.
    pub(super) calls: BTreeMap<String, usize>,
    /// Calls that started the workers: connections, the queue's address. Once a worker, not once a job.
    pub(super) start_up_calls: usize,
    /// Reads of the jobs table.
    pub(super) reads_of_jobs: u64,
    /// What is paid for.
    pub(super) usage: Usage,
}

impl NormalJob {
    /// Sorts the calls that were made while only this job was there.
    pub(super) async fn measure(job: &Job<'_>, calls: &Calls) -> Result<Self, Missed> {
        let failed = |found: String| Missed { what: "the normal job can be measured".into(), found };
        let queue = job.stack.email_queue();
        let contacts = job.stack.contacts_table();
        let own: Vec<&Call> = calls.calls.iter().filter(|call| is_own(call, job.job_id.as_str(), queue, contacts)).collect();
        let mut usage = count(&own, contacts);
        usage.item_bytes = item_bytes(&item(job).await.map_err(failed)?);
        for (memory, function) in usage.memory_mb.iter_mut().zip([job.stack.producer(), job.stack.email_consumer()]) {
            *memory = memory_mb(job, function).await.map_err(failed)?;
        }
        Ok(Self {
            calls: by_operation(&own),
            start_up_calls: calls.calls.len() - own.len(),
            reads_of_jobs: of(&own, "dynamodb.GetItem").filter(|call| call.target.as_deref() != Some(contacts)).count() as u64,
            usage,
        })
    }
}

/// A call is the job's if it names it, or is about its contact or about the visibility of its message.
fn is_own(call: &Call, job_id: &str, queue: &str, contacts: &str) -> bool {
    let about = |name: &str| call.target.as_deref() == Some(name);
    call.job_ids.iter().any(|id| id == job_id || *id == crate::local::proxy::tag_value(job_id))
        || (call.operation == "dynamodb.GetItem" && about(contacts))
        || (call.operation.starts_with("sqs.ChangeMessageVisibility") && about(queue))
}

fn of<'a>(calls: &'a [&'a Call], operation: &'a str) -> impl Iterator<Item = &'a Call> {
    calls.iter().copied().filter(move |call| call.operation.starts_with(operation))
}

fn count(own: &[&Call], contacts: &str) -> Usage {
    let number = |operation: &str| of(own, operation).count() as u64;
    let sent = of(own, "ses.SendEmail").filter(|call| matches!(call.ending, Ending::Forwarded(200..300)));
    // The producer records and sends; everything else about a job is the consumer's.
    let by_producer = |call: &&Call| call.operation == "dynamodb.PutItem" || call.operation.starts_with("sqs.SendMessage");
    let (produced, consumed): (Vec<&Call>, Vec<&Call>) = own.iter().copied().partition(by_producer);
    Usage {
        writes: number("dynamodb.PutItem") + number("dynamodb.UpdateItem"),
        reads: of(own, "dynamodb.GetItem").filter(|call| call.target.as_deref() == Some(contacts)).count() as u64,
        sends: number("sqs.SendMessage"),
        send_bytes: of(own, "sqs.SendMessage").map(|call| call.request_bytes).max().unwrap_or(0),
        visibility_calls: number("sqs.ChangeMessageVisibility"),
        mails: sent.count() as u64,
        producer_ms: milliseconds(span(&produced)),
        consumer_ms: milliseconds(span(&consumed)),
        ..Usage::default()
    }
}

fn by_operation(own: &[&Call]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in own {
        *counts.entry(call.operation.clone()).or_default() += 1;
    }
    counts
}

/// From the beginning of the first call to the end of the last.
fn span(calls: &[&Call]) -> Duration {
    let first = calls.iter().map(|call| call.at).min();
    let last = calls.iter().map(|call| call.at + call.elapsed.unwrap_or_default()).max();
    match (first, last) {
        (Some(first), Some(last)) => last.duration_since(first).unwrap_or_default(),
        _ => Duration::ZERO,
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The job's record as it lies in the table.
async fn item(job: &Job<'_>) -> Result<HashMap<String, AttributeValue>, String> {
    let client = aws_sdk_dynamodb::Client::new(&job.stage.aws.sdk_config());
    let read = client.get_item().table_name(job.stack.jobs_table());
    let read = read.key("job_id", AttributeValue::S(job.job_id.to_string())).send().await;
    read.map_err(|error| error.to_string())?.item.ok_or_else(|| "its record is not there".to_owned())
}

/// The size of an item as DynamoDB counts it
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>).
fn item_bytes(item: &HashMap<String, AttributeValue>) -> u64 {
    item.iter().map(|(name, value)| name.len() as u64 + value_bytes(value)).sum()
}

fn value_bytes(value: &AttributeValue) -> u64 {
    match value {
        AttributeValue::S(text) => text.len() as u64,
        // One byte for two digits, and one more.
        AttributeValue::N(digits) => digits.len() as u64 / 2 + 1,
        AttributeValue::B(bytes) => bytes.as_ref().len() as u64,
        AttributeValue::M(members) => 3 + item_bytes(members) + members.len() as u64,
        AttributeValue::L(items) => 3 + items.iter().map(|item| 1 + value_bytes(item)).sum::<u64>(),
        _ => 1,
    }
}

/// A function's memory, from its configuration
/// (<https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConfiguration.html>).
async fn memory_mb(job: &Job<'_>, function: &str) -> Result<u32, String> {
    let engine = job.stage.aws.address();
    let mut request = Request::get(format!("/2015-03-31/functions/{function}/configuration"))
        .header(http::header::HOST, engine.to_string())
        .body(Bytes::new())
        .map_err(|error| error.to_string())?;
    sign_request(&mut request, "lambda", super::stage::CALLER).map_err(|error| error.to_string())?;
    let answer = Loopback::new(super::PATIENCE).send(engine, request).await.map_err(|error| error.to_string())?;
    let configuration: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let memory = configuration["MemorySize"].as_u64().and_then(|memory| u32::try_from(memory).ok());
    memory.ok_or_else(|| format!("{function} does not tell its memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_as_large_as_its_names_and_values() {
        let item = HashMap::from([
            ("id".to_owned(), AttributeValue::S("abc".into())),
            ("n".to_owned(), AttributeValue::N("1234".into())),
            ("flag".to_owned(), AttributeValue::Bool(true)),
        ]);
        assert_eq!(item_bytes(&item), (2 + 3) + (1 + 3) + (4 + 1));
        let nested = HashMap::from([("m".to_owned(), AttributeValue::M(item))]);
        assert_eq!(item_bytes(&nested), 1 + 3 + 14 + 3);
    }

    fn call(sequence: u64, operation: &str, target: Option<&str>, job: Option<&str>) -> Call {
        Call {
            sequence,
            // Each call begins 10 ms after the one before it, and takes 5 ms.
            at: std::time::UNIX_EPOCH + Duration::from_millis(10 * sequence),
            connection: 0,
            operation: operation.to_owned(),
            target: target.map(str::to_owned),
            object: None,
            job_ids: job.map(str::to_owned).into_iter().collect(),
            request_bytes: 100 + sequence,
            ending: Ending::Forwarded(200),
            elapsed: Some(Duration::from_millis(5)),
        }
    }

    #[test]
    fn the_calls_of_a_job_are_told_from_those_that_start_workers() {
        let job = "email.send-1";
        let mut calls = vec![
            call(0, "dynamodb.DescribeEndpoints", None, None),
            call(1, "dynamodb.PutItem", Some("jobs"), Some(job)),
            call(2, "sqs.SendMessage", Some("email"), Some(job)),
            call(3, "sqs.GetQueueUrl", Some("email"), None),
            call(4, "dynamodb.UpdateItem", Some("jobs"), Some(job)),
            call(5, "sqs.ChangeMessageVisibilityBatch", Some("email"), None),
            call(6, "dynamodb.GetItem", Some("contacts"), None),
            call(7, "ses.SendEmail", None, Some("email_send-1")),
            call(8, "dynamodb.UpdateItem", Some("jobs"), Some(job)),
        ];
        calls.push(Call { ending: Ending::Refused(503), ..call(9, "ses.SendEmail", None, Some("email_send-1")) });
        let own: Vec<&Call> = calls.iter().filter(|call| is_own(call, job, "email", "contacts")).collect();
        assert_eq!(own.len(), 8);
        let usage = count(&own, "contacts");
        assert_eq!((usage.writes, usage.reads, usage.sends, usage.visibility_calls), (3, 1, 1, 1));
        assert_eq!((usage.mails, usage.send_bytes), (1, 102), "a refused mail is none");
        assert_eq!((usage.producer_ms, usage.consumer_ms), (15.0, 55.0));
        assert_eq!(by_operation(&own)["dynamodb.UpdateItem"], 2);
    }
}
