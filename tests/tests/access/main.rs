//! Who may do what, on an engine that asks: it checks signatures and evaluates the policies that the template made.
//!
//! The functions are stand-ins that answer every event: what is looked at here happens before a function runs, or without one.

mod call;
mod door;
mod lab;
mod otherwise;
mod roles;
mod transport;
mod used;
