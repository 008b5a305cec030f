//! Test support.

pub mod template;
