//! The `ikkai` command.

use std::process::ExitCode;

use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    ikkai_cli::command::Ikkai::parse().run().await
}
