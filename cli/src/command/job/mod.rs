//! `ikkai job …`: looks at jobs, and calls them off: through the API of the local environment, or at the desk of a stack.

mod cancel;
mod desk;
mod place;
mod show;

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::Value;

pub(super) use self::show::tone;
use super::Failure;
use super::ending::Ending;
use super::send::problem;
use crate::screen::{Format, Screen};

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

/// Shows what the API answered instead of a job. An unknown job is nothing that anything could be done to.
fn refused(screen: &Screen, status: u16, body: &Value) -> Ending {
    match screen.format() {
        Format::Json => screen.json(body),
        Format::Text => screen.note(problem(status, body)),
    }
    if status == 404 { Ending::Nothing } else { Ending::Failed }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_that_is_not_there_ends_with_nothing_in_both_formats() {
        let body = json!({"detail": "there is no job `j`"});
        let (screen, memory) = Screen::remembering(Format::Json);
        assert_eq!(refused(&screen, 404, &body), Ending::Nothing);
        assert_eq!(serde_json::from_str::<Value>(&memory.result()).unwrap(), body);
        let (screen, memory) = Screen::remembering(Format::Text);
        assert_eq!(refused(&screen, 404, &body), Ending::Nothing);
        assert_eq!(memory.notes(), "error: there is no job `j` (status 404)");
        assert_eq!(refused(&screen, 503, &body), Ending::Failed);
    }
}
