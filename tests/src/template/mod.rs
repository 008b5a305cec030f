//! What must hold for the deployed stack, as checks over the synthesized template.
//!
//! A check takes a [`Stack`] and returns what violates it, one line each, naming the resource; an empty list means that it holds. That makes
//! each check testable on a stack that was broken on purpose. Checks find their resources by type and by reference, never by name, so a new
//! consumer is covered as soon as it is in the template.

pub mod api;
pub mod buckets;
pub mod cargo_lambda;
mod environment;
pub mod functions;
pub mod mappings;
pub mod operators;
pub mod policy;
pub mod queues;
pub mod roles;
pub mod secrets;
pub mod settings;
mod stack;
mod synthesis;
pub mod tables;
pub mod topics;

pub use stack::{Consumer, Resource, Stack};
pub use synthesis::{Parameters, Synthesis, lint, parameters, refusals, synthesize};
