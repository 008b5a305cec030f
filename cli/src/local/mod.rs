//! A complete AWS on this machine, without Docker and without an account.

pub mod api;
pub mod aws;
pub mod build;
pub mod checkout;
pub mod deploy;
pub mod engine;
pub mod environment;
pub mod instance;
mod interpreters;
pub mod logs;
pub mod loopback;
pub mod mailbox;
pub mod objects;
pub mod payments;
pub mod pictures;
pub mod process;
pub mod proxy;
pub mod python;
pub mod queues;
pub mod receiver;
pub mod running;
pub mod secrets;
pub mod seed;
pub mod signed;
pub mod stack;
pub mod topics;
