//! Test support.
pub mod runtime_api;
