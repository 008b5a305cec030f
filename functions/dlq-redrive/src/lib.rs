//! Ikkai's operators' function: what is in the dead-letter queues and why, and how it gets out again.
//!
//! [`protocol`] is what is asked and answered. A [`Workbench`] holds what the actions work with; [`plan()`] says what becomes of a message by the
//! records of its jobs. The `ikkai` command runs the same code with an operator's own permissions where the function is not deployed.

pub mod archive;
mod dead_letter;
pub mod journal;
mod matching;
pub mod move_tasks;
mod plan;
pub mod protocol;
mod queues;
pub mod run;
mod sweep;
mod workbench;

pub use self::dead_letter::{DeadLetter, Place};
pub use self::plan::{Plan, Rules, plan};
pub use self::queues::{StackQueue, StackQueues};
pub use self::sweep::{Sweep, SweepRules};
pub use self::workbench::{Invocation, Limits, Workbench};
