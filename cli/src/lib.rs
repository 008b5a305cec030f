//! The library behind the `ikkai` command, the demo and the end-to-end tests.
//!
//! - [`local`]: a complete AWS on this machine: engine, fault proxy, function binaries, stack, seed data.
//! - [`progress`]: what long work tells about itself.

pub mod local;
pub mod progress;
