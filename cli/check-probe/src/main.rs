//! The function of `ikkai local check`: it tells a queue what it was given, and answers as its messages ask.
//!
//! It has no settings: each message names the queue for the report and the answer that is wanted. It is deployed for the length of a
//! check alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use check_probe::{Instruction, Report, Wish, answer};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let config = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
    let sqs = aws_sdk_sqs::Client::new(&config);
    let sqs = &sqs;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| async move { handle(sqs, event).await })).await
}

async fn handle(sqs: &aws_sdk_sqs::Client, event: LambdaEvent<Value>) -> Result<Value, Error> {
    let began = SystemTime::now();
    let Some(records) = event.payload["Records"].as_array() else {
        // A request over HTTP.
        return Ok(json!({ "statusCode": 200, "headers": { "content-type": "text/plain" }, "body": "check-probe" }));
    };
    let instructions: Vec<Instruction> = records.iter().filter_map(Instruction::of).collect();
    if let Some(first) = instructions.first() {
        let report = Report {
            began_ms: millis(began),
            deadline_ms: event.context.deadline,
            tags: instructions.iter().map(|instruction| instruction.tag.clone()).collect(),
        };
        sqs.send_message().queue_url(&first.reports).message_body(serde_json::to_string(&report)?).send().await?;
    }
    let longest = instructions.iter().filter_map(|instruction| match instruction.wish {
        Wish::Sleep { ms } => Some(ms),
        _ => None,
    });
    tokio::time::sleep(Duration::from_millis(longest.max().unwrap_or(0))).await;
    answer(&instructions).map_err(Into::into)
}

fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
