//! Consumers: a handler on a queue.
//!
//! [`run`] is the whole of a function's `main`. [`BatchProcessor`] works on a batch; what its messages hold is read in `body` and `entry`,
//! each job goes through the flat pipeline in `record`, and the table of what SQS is told about its message is in `outcome`.

mod batch;
mod body;
mod budget;
mod circuit;
mod claimed;
mod closing;
mod completion;
mod contents;
mod context;
mod core;
mod entry;
mod failure;
mod handler;
mod identity;
mod lambda;
mod lane;
mod object;
mod outcome;
mod rate;
mod received;
mod record;
mod report;
mod settings;

pub use self::batch::{BatchError, BatchProcessor, IncomingEvent, Invocation};
pub(crate) use self::claimed::Claimed;
pub use self::contents::{MessageContent, contents};
pub use self::context::JobContext;
pub use self::failure::{Classify, Done, Failure, FailureKind};
pub use self::handler::Handler;
pub use self::lambda::{Startup, StartupError, run};
pub use self::object::{ObjectEvent, ObjectVerdict};
pub use self::outcome::Outcome;
pub use self::settings::{ConsumerSettings, FifoAfterDeath};
