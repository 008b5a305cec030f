//! The binary of the operators' function.

fn main() {}
