//! `ikkai doctor`: checks a deployed stack.

use std::process::ExitCode;

use aws_config::SdkConfig;
use clap::Args;
use serde_json::Value;

use super::Failure;
use super::dlq::at_least_a_minute;
use super::stack::StackChoice;
use crate::deployment::Deployment;
use crate::doctor::gather::{self, Wishes};
use crate::doctor::report::{self, Counts};
use crate::doctor::{Finding, examine};
use crate::operator::Site;
use crate::screen::{Format, Screen};

/// Options of `doctor`.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    stack: StackChoice,
    /// Also lists what is as it should be.
    #[arg(long)]
    all: bool,
    /// Also looks for jobs that have not moved for so long: 30m, 2h; at least a minute. Reads the whole jobs table: half a read
    /// unit for each 4 KB.
    #[arg(long, value_name = "TIME", value_parser = at_least_a_minute)]
    stuck_after: Option<u64>,
}

impl Doctor {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let deployment = self.stack.deployment().await?;
        let wishes = Wishes { stuck_after_seconds: self.stuck_after };
        let facts = gather::facts(&deployment, wishes, &screen.progress()).await;
        let findings = examine(&facts);
        match screen.format() {
            Format::Json => screen.json(&report::document(&facts, &findings)),
            Format::Text => report::show(screen, &findings, self.all),
        }
        Ok(verdict(&findings))
    }
}

/// Looks at a stack that was just deployed. The report is shown to people; for programs it is returned.
pub(super) async fn examine_deployed(screen: &Screen, config: SdkConfig, stack: &str) -> Result<(Value, ExitCode), Failure> {
    let deployment = Deployment::of(Site::deployed(config, stack).await?)?;
    let facts = gather::facts(&deployment, Wishes { stuck_after_seconds: None }, &screen.progress()).await;
    let findings = examine(&facts);
    if screen.format() == Format::Text {
        report::show(screen, &findings, false);
    }
    Ok((report::document(&facts, &findings), verdict(&findings)))
}

/// One thing that is wrong is enough.
fn verdict(findings: &[Finding]) -> ExitCode {
    if Counts::of(findings).error == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
