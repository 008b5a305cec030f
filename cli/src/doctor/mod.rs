//! `ikkai doctor`: checks a deployed stack against what the kit counts on.
//!
//! [`gather`] asks AWS and writes down what it learns as [`Facts`]; each rule of [`examine`] is a pure function over them, and
//! makes one [`Finding`]; [`report`] shows them. [`needs`] knows what the role of each function has to allow. A missing
//! permission makes a rule unknown and names the action, and never fails the command.

pub mod facts;
mod finding;
pub mod gather;
pub mod needs;
pub mod report;
mod rules;
mod time;

pub use self::facts::Facts;
pub use self::finding::{Finding, Severity};
pub use self::rules::examine;
pub use self::time::time;
