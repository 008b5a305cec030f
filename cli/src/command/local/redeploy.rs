//! `ikkai local redeploy`: one function, built and swapped on the running environment.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Failure;
use crate::command::target;
use crate::local::build::{self, FUNCTIONS};
use crate::local::checkout::Checkout;
use crate::local::redeploy::{Redeployed, function_of, redeploy};
use crate::screen::{Format, Screen, seconds};

/// Options of `redeploy`.
#[derive(Debug, Args)]
pub(in crate::command) struct Redeploy {
    /// The function, by the name of its package.
    #[arg(value_parser = PossibleValuesParser::new(FUNCTIONS))]
    function: String,
    /// A folder of packed functions (`email-consumer.zip` and so on) to take it from; without it, it is built.
    #[arg(long, value_name = "FOLDER")]
    functions: Option<std::path::PathBuf>,
}

impl Redeploy {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let running = target::running()?;
        // Before minutes of building.
        let function = function_of(&running.stack, &self.function)?.to_owned();
        let package = match &self.functions {
            Some(folder) => build::packed_function(folder, &self.function)?,
            None => build::package(&Checkout::find()?, &self.function, &screen.progress()).await?,
        };
        let progress = screen.progress();
        let step = progress.begin(format!("swapping {function}"));
        let redeployed = redeploy(running.engine, running.engine_pid, &running.stack, &package).await?;
        step.done();
        let (swapped, old_workers, took) = match redeployed {
            Redeployed::Unchanged => (false, 0, None),
            Redeployed::Swapped { old_workers, took } => (true, old_workers, Some(took)),
        };
        match (screen.format(), took) {
            (Format::Json, _) => screen.json(&serde_json::json!({
                "function": function,
                "swapped": swapped,
                "oldWorkers": old_workers,
                "tookMs": took.map(|took| took.as_millis()),
                "digest": package.digest,
            })),
            (Format::Text, None) => screen.line(format!("{function} has this code already; nothing was done")),
            (Format::Text, Some(took)) => {
                screen.line(format!("{function}: the new code serves, {} after the upload", seconds(took)));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
