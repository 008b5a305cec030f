//! `cargo compare`: see [`ikkai_compare`].

use std::process::ExitCode;

use clap::Parser as _;
use ikkai_compare::command::{Arguments, run};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // `cargo compare -- --json FILE` arrives with the two hyphens, `cargo compare --json FILE` without.
    let mut arguments: Vec<_> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == "--") {
        arguments.remove(1);
    }
    match run(&Arguments::parse_from(arguments)).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the comparison failed: {error}");
            ExitCode::from(2)
        }
    }
}
