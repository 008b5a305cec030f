//! What must hold for the deployed stack, as checks over the synthesized template.
//!
//! [`rules`] says what: a rule takes a [`Stack`] and returns what violates it. The rest makes the stacks, and breaks them for tests.

pub mod monitoring;
pub mod policy;
pub mod rules;
mod stack;
mod synthesis;

pub use stack::{Consumer, Resource, Stack};
pub use synthesis::{Parameters, Synthesis, Template, lint, lint_stacks, parameters, refusals, synthesize, synthesize_template};
