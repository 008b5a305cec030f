//! For tests of consumers built on the kit, and of the kit itself (feature `testing`).
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use ikkai::consumer::{Done, Failure, Handler, JobContext};
//! use ikkai::job::{EmailSend, Job};
//! use ikkai::testing::{Bench, MessageBuilder};
//!
//! struct Greeter;
//!
//! impl Handler for Greeter {
//!     type Payload = EmailSend;
//!
//!     async fn handle(&self, _job: &Job<EmailSend>, _context: &JobContext) -> Result<Done, Failure> {
//!         Ok(Done::new())
//!     }
//! }
//!
//! let bench = Bench::new(Greeter);
//! let message = MessageBuilder::email("mail-1");
//! let run = bench.run_batch([message.clone().build()]).await.unwrap();
//! assert!(run.failed.is_empty());
//! assert_eq!(bench.record_of(&message).unwrap().attempts, 1);
//! # });
//! ```
//!
//! For what a consumer says to a service over HTTP there is [`HttpStub`].

mod bench;
mod claim_expressions;
pub mod conformance;
mod http_stub;
mod memory_queue;
mod message;
mod sqs;
mod tokens;
mod tokio_clock;
mod watched_store;

pub use crate::idempotency::MemoryStore;
pub use bench::{BatchRun, Bench, settings};
pub use claim_expressions::{ClaimExpressions, claim_expressions};
pub use http_stub::{Connections, HttpReply, HttpRequest, HttpStub};
pub use memory_queue::{MemoryQueue, QueueCall, QueueFault};
pub use message::MessageBuilder;
pub use sqs::{
    DeadLetterRule, Departure, MemorySqs, MemorySqsQueue, Moment, QueueRules, SqsCall, SqsFault, SqsOperation, StoredMessage,
    Whereabouts,
};
pub use tokens::seed_tokens;
pub use tokio_clock::TokioClock;
pub use watched_store::{StoreCall, StoreFault, WatchedStore};
