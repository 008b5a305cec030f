//! What is told of runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::request::Action;
use super::verdict::MessageVerdict;
use super::verdict::VerdictCode;

/// How many messages became what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Messages in the dead-letter queue when the run began: more are not touched.
    pub snapshot: u64,
    /// Messages that were looked at; one that comes out twice counts once in each part of the run.
    pub seen: u64,
    /// Messages that meet the filter.
    pub matched: u64,
    /// Put back.
    pub redriven: u64,
    /// How many of those are done by now, as far as was looked.
    pub succeeded_again: u64,
    /// How many of those have failed again, as far as was looked.
    pub failed_again: u64,
    /// Left or done, by verdict.
    pub by_verdict: BTreeMap<VerdictCode, u64>,
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// Not over: ask again with the cursor.
    Continues,
    /// Over.
    Finished,
    /// Over before its time, see [`Stopped`].
    Stopped,
}

/// Why a run stopped before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stopped {
    /// The canary failed.
    CanaryFailed,
    /// The canary had not ended in its time.
    CanaryTimedOut,
    /// More than the allowed share came straight back.
    ComingBack,
    /// The queue that messages go to cannot be sent to.
    TargetUnavailable,
    /// The dead-letter queue or the table does not answer.
    Unavailable,
}

/// Of `redrive`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedriveAnswer {
    /// The run's name.
    pub run_id: String,
    /// Whether it goes on.
    pub state: RunState,
    /// Why it stopped before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// What is going on or went wrong, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether nothing was done, only said.
    pub dry_run: bool,
    /// Whether this is the answer to an earlier request under the same run id, given again.
    pub replayed: bool,
    /// The whole run so far, continuations included.
    pub tally: Tally,
    /// Verdicts of this part; at most a thousand, all of them are in the history.
    pub verdicts: Vec<MessageVerdict>,
    /// For the request that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How long to wait before the request that goes on, in seconds: a canary is at work, or messages are still hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_after_seconds: Option<u64>,
}

/// Of `discard`: as a redrive's, and where the archive is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscardAnswer {
    /// The run.
    #[serde(flatten)]
    pub run: RedriveAnswer,
    /// Bucket and prefix of the archive, `s3://bucket/prefix`.
    pub archive: String,
}

/// Of `history`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Runs, the last first.
    pub runs: Vec<RunSummary>,
    /// Verdicts, where one run was asked for; at most ten thousand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<Vec<MessageVerdict>>,
}

/// What an operator did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    /// Its name.
    pub run_id: String,
    /// What was done: `redrive`, `discard`, `resolve`, `cancel` or `moveTask`.
    pub action: Action,
    /// The queues, by their names in this stack.
    pub queues: Vec<String>,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339; of the last part so far.
    pub updated_at: String,
    /// Whether it goes on.
    pub state: RunState,
    /// Why it stopped before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// Whether nothing was done, only said.
    pub dry_run: bool,
    /// Who, as the door has authenticated them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Who, as the request claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Why.
    pub reason: String,
    /// Which messages were meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Counts.
    pub tally: Tally,
}
