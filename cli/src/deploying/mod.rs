//! Puts a stack of the template into an account, and takes it away again.
//!
//! The way of a deployment, each step a module: [`release`] builds the functions with [`cargo_lambda`], looks at each with [`artifact`] and
//! packs it; [`code_bucket`] takes them; [`packaging`] makes the copy of the template that names them; [`parameters`] chooses the values;
//! [`cloudformation`] makes a change set of it, whose [`changes`] are shown, and carries it out. [`data`] is what a deleted stack leaves.

pub mod account;
pub mod artifact;
pub mod cargo_lambda;
pub mod changes;
pub mod cloudformation;
pub mod code_bucket;
pub mod data;
pub mod elf;
pub mod packaging;
pub mod parameters;
pub mod release;
