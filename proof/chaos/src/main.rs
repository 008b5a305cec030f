//! `cargo chaos`.

use std::process::ExitCode;

use clap::Parser;
use ikkai_chaos::Arguments;
use ikkai_cli::screen::{Format, Screen};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let screen = Screen::new(Format::Text);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            screen.error(&error);
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(ikkai_chaos::run(&screen, &arguments));
    // Interrupted during a build, it does not wait for the compiler.
    runtime.shutdown_background();
    code
}
