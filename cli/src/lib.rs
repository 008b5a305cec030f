//! The library behind the `ikkai` command, the demo and the end-to-end tests.
//!
//! - [`local`]: a complete AWS on this machine: engine, fault proxy, function binaries, stack, seed data.
//! - [`command`]: the `ikkai` command.
//! - [`deploying`]: how a stack's code gets there.
//! - [`deployment`], [`doctor`]: a deployed stack, and what is wrong with it.
//! - [`demo`]: `cargo demo`.
//! - [`operator`]: what an operator of a stack works with.
//! - [`progress`], [`screen`], [`json_file`]: what long work tells about itself, how it is shown, and kept.

pub mod command;
mod compiling;
#[cfg(test)]
mod costs;
pub mod demo;
pub mod deploying;
pub mod deployment;
pub mod doctor;
pub mod json_file;
pub mod local;
pub mod operator;
pub mod progress;
pub mod screen;
