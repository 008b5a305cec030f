//! `ikkai job …`: looks at jobs, and calls them off, through the API.

mod cancel;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

pub(super) use self::show::tone;
use super::Failure;
use crate::screen::Screen;

/// Jobs.
#[derive(Debug, Subcommand)]
pub(super) enum Job {
    /// Shows a job: status, attempts, result, reason.
    Show(show::Show),
    /// Calls a job off that is not running and not done.
    Cancel(cancel::Cancel),
}

impl Job {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        match self {
            Self::Show(show) => show.run(screen).await,
            Self::Cancel(cancel) => cancel.run(screen).await,
        }
    }
}
