//! The functions' log lines, out of the engine's CloudWatch Logs.

use std::collections::HashSet;
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LogLine {
    /// CloudWatch's id of it.
    pub event_id: String,
    /// When it was taken, milliseconds since 1970.
    pub timestamp: i64,
    /// What the function wrote.
    pub message: String,
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
    seen: HashSet<String>,
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
            seen: HashSet::new(),
        }
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
            lines.extend(page.events.into_iter().filter(|line| self.seen.insert(line.event_id.clone())));
            token = page.next_token;
            if token.is_none() {
                break;
            }
        }
        lines.sort_by_key(|line| line.timestamp);
        if let Some(last) = lines.last() {
            self.from = self.from.max(last.timestamp);
        }
        Ok(lines)
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
