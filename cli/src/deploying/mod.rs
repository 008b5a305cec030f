//! Puts a stack of the template into an account.

pub mod packaging;
