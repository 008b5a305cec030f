//! What operators ask, and what they are answered. Version 1.
//!
//! A request is `{"action": …}` with the members of that action; an answer repeats the action and says `ok`. The JSON Schemas in `schemas/` are
//! made from these types.

mod answer;
mod error;
mod filter;
mod request;
mod schema;
mod verdict;

pub use self::answer::{
    Answer, DeadGroup, Depth, DiscardAnswer, History, Inspection, ListAnswer, MoveTask, MoveTaskAnswer, QueueStatus,
    RecordSummary, RedriveAnswer, Resolved, RunState, RunSummary, SeenMessage, StatusAnswer, Stopped, StuckJob, Tally,
};
pub use self::error::{Refusal, RefusalCode};
pub use self::filter::Filter;
pub use self::request::{
    Action, Discard, HistoryRequest, Inspect, List, MoveOperation, MoveTaskRequest, Redrive, Request, Resolve, ResolveAs,
    StatusRequest,
};
pub use self::schema::{answer_schema, request_schema};
pub use self::verdict::{MessageVerdict, VerdictCode};

/// The version of requests and answers.
pub const VERSION: u32 = 1;
