//! Ikkai.

pub mod job;
