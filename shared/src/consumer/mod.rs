//! Consumers: a handler on a queue.
//!
//! [`run`] is the whole of a function's `main`. [`BatchProcessor`] works on a batch; what its messages hold is read in `body` and `entry`,
//! each job goes through the flat pipeline in `record`, and the table of what SQS is told about its message is in `outcome`.
//!
//! A handler says what became of the job; everything else follows from that:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::time::Duration;
//! use ikkai::consumer::{Done, Failure, Handler, JobContext};
//! use ikkai::idempotency::Status;
//! use ikkai::job::{EmailSend, Job};
//! use ikkai::testing::{Bench, MessageBuilder};
//!
//! struct Greeter;
//!
//! impl Handler for Greeter {
//!     type Payload = EmailSend;
//!
//!     async fn handle(&self, job: &Job<EmailSend>, context: &JobContext) -> Result<Done, Failure> {
//!         match job.payload.user_id.as_str() {
//!             "user-without-mail" => Err(Failure::permanent("unknown_user", "the user has no mail address")),
//!             "user-of-a-busy-provider" => Err(Failure::defer("throttled", "the provider says 429", Some(Duration::from_secs(30)))),
//!             _ => {
//!                 // From here on nobody but the provider knows: what is unclear ends `in_doubt`, and not in a second mail.
//!                 context.begin_effect(Duration::from_secs(5)).await?;
//!                 Ok(Done::new())
//!             }
//!         }
//!     }
//! }
//!
//! let bench = Bench::new(Greeter);
//! let message = MessageBuilder::email("mail-1");
//! let run = bench.run_batch([message.clone().build()]).await.unwrap();
//! assert!(run.failed.is_empty(), "SQS may delete it");
//! assert_eq!(bench.record_of(&message).unwrap().status, Status::Succeeded);
//! # });
//! ```

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
