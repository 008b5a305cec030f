//! `ikkai deploy` and `ikkai destroy` on a local engine, and `ikkai doctor` on what they leave.

mod faults;
mod page;
mod shell;
mod workshop;
