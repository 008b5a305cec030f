//! Deterministic simulation of Ikkai: the code that is shipped, on AWS in memory, under faults, with an oracle.
//!
//! ```text
//! clients ─▶ producer API ─▶ queue ─▶ mapping ─▶ workers ─▶ provider
//!                │            │  ▲                  │
//!                └──▶ table ◀─┼──┼──────────────────┘
//!                             ▼  │
//!                     dead-letter queue ◀─▶ operators, SQS's own redrive
//! ```
//!
//! One seed is one run. Time is tokio's paused time, chance comes from the seed, nothing looks at the machine: a seed that fails fails again, and
//! can be read as a timeline. [`play`] is one run, [`campaign`] many.

mod actor;
pub mod campaign;
mod clients;
mod fault;
mod handler;
mod interrupted;
mod laws;
mod mapping;
mod mutant;
mod mutated;
mod operators;
mod oracle;
mod plan;
mod provider;
mod run;
mod sandbox;
mod stage;
mod table;
mod troubled_queue;
mod troubled_table;
mod world;

pub use self::fault::{Fault, Tally};
pub use self::mutant::Mutant;
pub use self::run::{Outcome, play};
