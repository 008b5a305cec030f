//! Ikkai's operators' function: what is in the dead-letter queues and why, and how it gets out again.
//!
//! [`protocol`] is what is asked and answered. A [`Workbench`] holds what the actions work with; [`plan()`] says what becomes of a message by the
//! records of its jobs. The `ikkai` command runs the same code with an operator's own permissions where the function is not deployed.

mod actions;
mod advice;
mod answering;
pub mod archive;
mod connect;
mod dead_letter;
mod entry;
mod fitting;
pub mod journal;
mod lambda;
mod looking;
mod matching;
pub mod move_tasks;
mod plan;
pub mod protocol;
mod queues;
mod refusals;
pub mod run;
mod settings;
pub mod stuck;
mod sweep;
mod telling;
mod workbench;

pub use self::dead_letter::{DeadLetter, Place};
pub use self::lambda::run as serve;
pub use self::plan::{Plan, Rules, plan};
pub use self::queues::{StackQueue, StackQueues};
pub use self::settings::{QueueSetting, Settings};
pub use self::sweep::{Sweep, SweepRules};
pub use self::workbench::{Invocation, Limits, Workbench};
