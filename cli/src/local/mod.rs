//! A complete AWS on this machine, without Docker and without an account.

pub mod proxy;
