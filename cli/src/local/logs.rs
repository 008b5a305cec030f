//! The functions' log lines, out of the engine's CloudWatch Logs.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use serde::Deserialize;

use super::aws::ACCESS_KEY;
use super::loopback::{Loopback, LoopbackError};
use super::signed::{SigningError, sign_request};

/// Logs could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The engine did not answer.
    #[error("cannot read logs from the engine")]
    Unreachable(#[from] LoopbackError),
    /// The request could not be made.
    #[error("cannot ask for logs")]
    Request(#[from] http::Error),
    /// The request could not be signed.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// The engine's answer is not what CloudWatch Logs says.
    #[error("the engine's log events are not in the expected form")]
    Unexpected(#[from] serde_json::Error),
}

/// A log line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LogLine {
    /// The log stream. The engine makes one for each invocation.
    #[serde(rename = "logStreamName")]
    pub stream: String,
    /// When it was taken, milliseconds since 1970.
    pub timestamp: i64,
    /// What the function wrote.
    pub message: String,
}

impl LogLine {
    /// A line, for whoever wants to show one.
    #[must_use]
    pub fn new(stream: &str, timestamp: i64, message: &str) -> Self {
        Self { stream: stream.to_owned(), timestamp, message: message.to_owned() }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    events: Vec<LogLine>,
    next_token: Option<String>,
}

/// Reads a function's log, each line once.
#[derive(Debug)]
pub struct LogReader {
    engine: SocketAddr,
    group: String,
    http: Loopback,
    from: i64,
    /// The lines of the last millisecond that was read, and how many of each: the next read begins with that millisecond.
    seen: HashMap<LogLine, usize>,
}

impl LogReader {
    /// Reads the log of `function` (its full name) from the beginning.
    #[must_use]
    pub fn new(engine: SocketAddr, function: &str) -> Self {
        Self {
            engine,
            group: format!("/aws/lambda/{function}"),
            http: Loopback::new(Duration::from_secs(10)),
            from: 0,
            seen: HashMap::new(),
        }
    }

    /// Begins with the lines of an instant, in milliseconds since 1970.
    #[must_use]
    pub fn since(mut self, from_ms: i64) -> Self {
        self.from = from_ms;
        self
    }

    /// The lines since the last call. The engine takes the lines of an invocation when the invocation ends.
    ///
    /// # Errors
    /// The engine cannot be reached.
    pub async fn next(&mut self) -> Result<Vec<LogLine>, LogError> {
        let mut lines = Vec::new();
        let mut token = None;
        loop {
            let page = self.page(token).await?;
            lines.extend(page.events);
            token = page.next_token;
            if token.is_none() {
                break;
            }
        }
        lines.sort_by_key(|line| line.timestamp);
        Ok(self.only_new(lines))
    }

    /// Takes away what was returned before, and remembers what may come again. The engine gives events no id.
    fn only_new(&mut self, lines: Vec<LogLine>) -> Vec<LogLine> {
        let mut known = std::mem::take(&mut self.seen);
        let last = lines.last().map_or(self.from, |line| line.timestamp);
        for line in lines.iter().filter(|line| line.timestamp == last) {
            *self.seen.entry(line.clone()).or_default() += 1;
        }
        self.from = last;
        let is_new = |line: &LogLine| match known.get_mut(line) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        lines.into_iter().filter(is_new).collect()
    }

    async fn page(&self, token: Option<String>) -> Result<Page, LogError> {
        let mut query = serde_json::json!({ "logGroupName": self.group, "startTime": self.from });
        if let Some(token) = token {
            query["nextToken"] = token.into();
        }
        let mut request = Request::post("/")
            .header(header::HOST, self.engine.to_string())
            .header(header::CONTENT_TYPE, "application/x-amz-json-1.1")
            .header("x-amz-target", "Logs_20140328.FilterLogEvents")
            .body(Bytes::from(query.to_string()))?;
        sign_request(&mut request, "logs", ACCESS_KEY)?;
        let answer = self.http.send(self.engine, request).await?;
        if !answer.status().is_success() {
            // A function that never ran has no log.
            return Ok(Page { events: Vec::new(), next_token: None });
        }
        Ok(serde_json::from_slice(answer.body())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[(i64, &str)]) -> Vec<LogLine> {
        let line = |(timestamp, message): &(i64, &str)| LogLine {
            stream: "s".into(),
            timestamp: *timestamp,
            message: (*message).into(),
        };
        texts.iter().map(line).collect()
    }

    #[test]
    fn a_line_is_returned_once_even_if_two_are_alike_in_one_millisecond() {
        let mut reader = LogReader::new("127.0.0.1:1".parse().unwrap(), "f");
        assert_eq!(reader.only_new(lines(&[(1, "a"), (2, "b"), (2, "b")])).len(), 3);
        assert_eq!(reader.from, 2);
        assert_eq!(reader.only_new(lines(&[(2, "b"), (2, "b")])), []);
        assert_eq!(reader.only_new(lines(&[(2, "b"), (2, "b"), (2, "b"), (3, "c")])), lines(&[(2, "b"), (3, "c")]));
        assert_eq!(reader.only_new(lines(&[(3, "c")])), []);
    }
}
