//! What happened to one job, line by line: its record, its calls through the proxies, the functions' log lines about it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::AttributeValue;
use ikkai_cli::local::logs::LogReader;
use ikkai_cli::local::proxy::Calls;
use serde_json::{Map, Value};

use crate::Failure;
use crate::evidence::Item;
use crate::plan::Door;
use crate::stage::Stage;

/// Tells jobs' timelines. The logs are read once for all of them.
#[derive(Debug)]
pub struct Timelines {
    began: SystemTime,
    lines: Vec<(i64, String)>,
    calls: Vec<Calls>,
}

impl Timelines {
    /// Reads all functions' logs and all doors' journals.
    ///
    /// # Errors
    /// The engine does not tell its logs.
    pub async fn of(stage: &Stage, began: SystemTime) -> Result<Self, Failure> {
        let mut lines = Vec::new();
        for function in stage.stack().functions() {
            let read = LogReader::new(stage.aws.address(), function).next().await?;
            lines.extend(read.into_iter().map(|line| (line.timestamp, format!("{function}: {}", line.message.trim_end()))));
        }
        let calls = [Door::Aws, Door::Payments, Door::Receiver].map(|door| stage.door(door).calls());
        Ok(Self { began, lines, calls: calls.into() })
    }

    /// The lines about a job, in the order of time, each with its seconds since the first job went in; its record comes last.
    #[must_use]
    pub fn about(&self, job_id: &str, item: Option<&Item>) -> Vec<String> {
        let logged = self.lines.iter().filter(|(_, line)| line.contains(job_id)).map(|(at, line)| (*at, line.clone()));
        let called = self.calls.iter().flat_map(|calls| calls.about(job_id)).map(|call| {
            let took = call.elapsed.map_or_else(String::new, |took| format!(" after {:.3} s", took.as_secs_f64()));
            (millis(call.at), format!("call {} on connection {}: {:?}{took}", call.operation, call.connection, call.ending))
        });
        let mut all: Vec<_> = logged.chain(called).collect();
        all.sort_by_key(|(at, _)| *at);
        let began = millis(self.began);
        let mut told: Vec<String> = all.iter().map(|(at, line)| format!("{} {line}", seconds(at - began))).collect();
        told.push(
            item.map_or_else(|| "no record".to_owned(), |item| format!("record {}", json(&AttributeValue::M(item.clone())))),
        );
        told
    }
}

/// Milliseconds since 1970.
fn millis(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn seconds(millis: i64) -> String {
    let time = Duration::from_millis(millis.unsigned_abs());
    format!("{}{:>9.3} s", if millis < 0 { "-" } else { " " }, time.as_secs_f64())
}

/// An attribute as JSON, as far as records go.
fn json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => text.as_str().into(),
        AttributeValue::N(number) => number.parse().map_or_else(|_| number.as_str().into(), Value::Number),
        AttributeValue::Bool(flag) => (*flag).into(),
        AttributeValue::L(items) => items.iter().map(json).collect(),
        AttributeValue::M(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            Value::Object(sorted.into_iter().map(|(name, value)| (name.clone(), json(value))).collect::<Map<_, _>>())
        }
        AttributeValue::Null(_) => Value::Null,
        other => format!("{other:?}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_is_in_the_order_of_time_and_ends_with_the_record() {
        let line = |at: i64, text: &str| (UNIX_EPOCH_PLUS_ONE + at, text.to_owned());
        let lines = vec![line(2_000, "b: job-1 second"), line(500, "a: job-1 first"), line(700, "a: job-2")];
        let timelines = Timelines { began: UNIX_EPOCH + Duration::from_secs(1), lines, calls: Vec::new() };
        let item = Item::from([("attempts".to_owned(), AttributeValue::N("2".to_owned()))]);
        let told = timelines.about("job-1", Some(&item));
        assert_eq!(told, ["     0.500 s a: job-1 first", "     2.000 s b: job-1 second", r#"record {"attempts":2}"#]);
        assert_eq!(timelines.about("job-3", None), ["no record"]);
    }

    const UNIX_EPOCH_PLUS_ONE: i64 = 1_000;
}
