//! Function processes side by side: Ikkai, the bare SDK, Powertools for AWS Lambda.
//!
//! ```text
//! setup ─▶ rounds: every contender in turn, each in a process of its own ─▶ medians ─▶ rows with ratio and target ─▶ table, JSON, pages
//!                    fake runtime API ◀─ function process ─▶ stub of DynamoDB, SQS and SES
//! ```
//!
//! What `ikkai-bench` measures alone it measures with the same parts.

pub mod artifact;
pub mod columns;
pub mod command;
pub mod measure;
pub mod statistics;

mod contender;
mod cpu;
mod figures;
mod pages;
mod rounds;
mod rows;
mod scenario;
mod setup;
mod silence;
mod sitting;
mod stub;
mod table;
