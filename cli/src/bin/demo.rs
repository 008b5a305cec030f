//! `cargo demo`.

use std::process::ExitCode;

use ikkai_cli::demo::{self, Arguments};

fn main() -> ExitCode {
    let arguments = Arguments::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            ikkai_cli::screen::Screen::new(ikkai_cli::screen::Format::Text).error(&error);
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(demo::run(arguments));
    // Interrupted during a build, it does not wait for the compiler.
    runtime.shutdown_background();
    code
}
