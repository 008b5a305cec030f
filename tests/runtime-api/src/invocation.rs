//! What a function is asked and what it answers.

use std::process::ExitStatus;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

/// The deadline that a function is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// As Lambda does it: so long after the event was handed over. The process is killed when that time is up.
    In(Duration),
    /// A fixed time in milliseconds since 1970, as some local runtimes send it. Nothing is killed then.
    At(u64),
    /// No deadline at all. Lambda never does this; lambda_runtime ends the process.
    Missing,
}

impl Deadline {
    /// What `cargo lambda watch` sends whatever the time is: ten minutes past midnight on 1970-01-01.
    pub const CARGO_LAMBDA_WATCH: Self = Self::At(600_000);
}

/// An event with everything that Lambda sends along.
#[derive(Debug, Clone)]
pub struct Event {
    /// The payload; usually JSON.
    pub payload: Bytes,
    /// The deadline.
    pub deadline: Deadline,
    /// The invocation's X-Ray header.
    pub trace: Option<String>,
    /// The id of the invocation; unique among those that are open.
    pub request_id: String,
}

impl Event {
    /// An event with a fresh request id and no trace.
    #[must_use]
    pub fn new(payload: impl Into<Bytes>, deadline: Deadline) -> Self {
        Self { payload: payload.into(), deadline, trace: None, request_id: uuid::Uuid::new_v4().to_string() }
    }

    /// The same event with an X-Ray header.
    #[must_use]
    pub fn with_trace(mut self, header: impl Into<String>) -> Self {
        self.trace = Some(header.into());
        self
    }
}

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The function answered, with these bytes.
    Response(Bytes),
    /// The function reported an error.
    Error {
        /// The header `Lambda-Runtime-Function-Error-Type`.
        kind: Option<String>,
        /// The report: JSON with `errorType` and `errorMessage`.
        report: Bytes,
    },
    /// The process ended without an answer.
    Exited(ExitStatus),
    /// The deadline passed, and the process was killed as Lambda would do it.
    TimedOut,
}

/// An invocation that ended.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// How it ended.
    pub outcome: Outcome,
    /// The id that the function was given.
    pub request_id: String,
    /// What the function wrote to standard output from the hand-over of the event to its answer.
    pub log_lines: Vec<String>,
    /// From the hand-over of the event to its answer.
    pub duration: Duration,
}

impl Invocation {
    /// The answer, parsed.
    ///
    /// # Panics
    ///
    /// If the function did not answer, or not with JSON.
    #[must_use]
    pub fn response(&self) -> Value {
        match &self.outcome {
            Outcome::Response(body) => {
                serde_json::from_slice(body).unwrap_or_else(|e| panic!("the answer is not JSON ({e}): {body:?}"))
            }
            other => panic!("expected an answer, got {other:?}; log: {:#?}", self.log_lines),
        }
    }

    /// The error report, parsed.
    ///
    /// # Panics
    ///
    /// If the function did not report an error, or not with JSON.
    #[must_use]
    pub fn error(&self) -> Value {
        match &self.outcome {
            Outcome::Error { report, .. } => {
                serde_json::from_slice(report).unwrap_or_else(|e| panic!("the report is not JSON ({e}): {report:?}"))
            }
            other => panic!("expected an error, got {other:?}; log: {:#?}", self.log_lines),
        }
    }

    /// The log lines, each parsed as JSON.
    ///
    /// # Panics
    ///
    /// If a line is not JSON.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        let parse = |line: &String| serde_json::from_str(line).unwrap_or_else(|e| panic!("not a JSON line ({e}): {line}"));
        self.log_lines.iter().map(parse).collect()
    }
}
