//! `cargo demo`.
fn main() {}
