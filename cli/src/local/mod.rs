//! A complete AWS on this machine, without Docker and without an account.

pub mod checkout;
pub mod engine;
pub mod loopback;
pub mod process;
pub mod proxy;
pub mod python;
