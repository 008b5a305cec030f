//! What operators ask, and what they are answered. Version 1.
//!
//! A request is `{"action": …}` with the members of that action; an answer repeats the action and says `ok`. The JSON Schemas in `schemas/` are
//! made from these types.

mod answer;
mod changes;
mod error;
mod filter;
mod found;
mod looks;
mod queue_status;
mod request;
mod run;
mod schema;
mod verdict;

pub use self::answer::Answer;
pub use self::changes::{Cancel, Discard, MoveOperation, MoveTaskRequest, Redrive, Resolve, ResolveAs};
pub use self::error::{Refusal, RefusalCode};
pub use self::filter::Filter;
pub use self::found::{Cancelled, DeadGroup, Inspection, ListAnswer, RecordSummary, Resolved, SeenMessage};
pub use self::looks::{HistoryRequest, Inspect, List, StatusRequest};
pub use self::queue_status::{Depth, MoveTask, MoveTaskAnswer, QueueStatus, StatusAnswer, StuckJob};
pub use self::request::{Action, Request};
pub use self::run::{DiscardAnswer, History, RedriveAnswer, RunState, RunSummary, Stopped, Tally};
pub use self::schema::{answer_schema, request_schema};
pub use self::verdict::{MessageVerdict, VerdictCode};

/// The version of requests and answers.
pub const VERSION: u32 = 1;
