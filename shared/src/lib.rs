//! Ikkai.
pub mod clock;
pub mod config;
pub mod observability;
