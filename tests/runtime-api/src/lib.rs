//! A fake Lambda: starts a function's binary as a child process and speaks the Lambda runtime API to it.
//!
//! What only a process can show is tested with it: that a panic leaves the process alive, that a deadline kills it, that nothing survives from one
//! invocation to the next, what is written to standard output, how long init takes and how much memory it needs.
//!
//! The protocol is <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>. The child gets an environment of its own: nothing of the
//! tester's, credentials least of all, reaches it.
//!
//! ```no_run
//! use std::time::Duration;
//! use ikkai_runtime_api::{Deadline, FunctionProcess};
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let function = FunctionProcess::start("target/local/email-consumer", [("IKKAI_WARM_UP", "off")]).await?;
//! let invocation = function.invoke(&json!({"Records": []}), Deadline::In(Duration::from_secs(10))).await;
//! assert_eq!(invocation.response(), json!({"batchItemFailures": []}));
//! assert!(invocation.log_lines.is_empty());
//! # Ok(()) }
//! ```

mod invocation;
mod memory;
mod output;
mod process;
mod server;
#[cfg(test)]
mod tests;

pub use invocation::{Deadline, Event, Invocation, Outcome};
pub use memory::Memory;
pub use process::{FunctionProcess, StartError};
