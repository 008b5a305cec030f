//! Which stack a command is about.

use clap::Args;

use super::{Failure, target};
use crate::deployment::Deployment;
use crate::operator::Site;

/// Options of all commands that look at a stack with the operator's own permissions.
#[derive(Debug, Args)]
pub(super) struct StackChoice {
    /// The stack's name, in the account and region of the AWS settings; without it, the local environment of this checkout.
    #[arg(long, env = "IKKAI_STACK", value_name = "NAME")]
    stack: Option<String>,
}

impl StackChoice {
    pub(super) async fn deployment(&self) -> Result<Deployment, Failure> {
        let site = match &self.stack {
            Some(stack) => Site::stack(stack).await?,
            None => Site::local(&target::running()?),
        };
        Ok(Deployment::of(site)?)
    }
}
