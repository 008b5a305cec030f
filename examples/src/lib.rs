//! Three ways to use the kit: see `README.md`.

pub mod fifo;
pub mod foreign;
pub mod poller;
