//! Which stack an operator's command works on, and who does the work.

use clap::Args;

use super::{Failure, target};
use crate::operator::{Desk, FunctionDesk, Site};
use crate::screen::Screen;

/// Options of all commands that work on a stack.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SiteOptions {
    /// The stack, in the account and region of your AWS settings; without it, the local environment of this checkout.
    #[arg(long, env = "IKKAI_STACK", value_name = "NAME", global = true)]
    stack: Option<String>,
    /// The operators' function, by name or ARN; without it, the stack's.
    #[arg(long, value_name = "NAME", global = true)]
    function: Option<String>,
}

impl SiteOptions {
    /// Finds the stack.
    pub(super) async fn site(&self) -> Result<Site, Failure> {
        match (&self.stack, &self.function) {
            (Some(stack), _) => Ok(Site::stack(stack).await?),
            (None, Some(_)) => Ok(Site::account().await),
            (None, None) => Ok(Site::local(&target::running()?)),
        }
    }

    /// Who answers for it.
    pub(super) fn desk(&self, site: &Site, _screen: &Screen) -> Result<Box<dyn Desk>, Failure> {
        match self.function.as_deref().or_else(|| site.function()) {
            Some(function) => Ok(Box::new(FunctionDesk::new(site.config(), function))),
            None => Err(format!(
                "the stack `{}` has no operators' function; deploy one, or name it with `--function`",
                site.stack_name().unwrap_or("?")
            )
            .into()),
        }
    }

    /// The same as arguments, for a command that goes on.
    pub(super) fn arguments(&self) -> Vec<String> {
        let options = [("--stack", &self.stack), ("--function", &self.function)];
        options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?])).flatten().collect()
    }
}
