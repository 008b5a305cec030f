//! Which stack an operator's command works on, and who does the work.

use clap::Args;

use super::{Failure, target};
use crate::operator::{Desk, DirectDesk, FunctionDesk, Site};
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
    /// Does the work here, with your own permissions, instead of asking the function.
    #[arg(long, global = true)]
    direct: bool,
}

impl SiteOptions {
    /// Whether a stack was named, or who works on it: then a command that can do without works there and nowhere else.
    pub(super) fn is_named(&self) -> bool {
        self.stack.is_some() || self.function.is_some() || self.direct
    }

    /// Finds the stack.
    pub(super) async fn site(&self) -> Result<Site, Failure> {
        match (&self.stack, &self.function) {
            (Some(stack), _) => Ok(Site::stack(stack).await?),
            (None, Some(_)) => Ok(Site::account().await),
            (None, None) => Ok(Site::local(&target::running()?)),
        }
    }

    /// Who answers for it: the function; this process itself where that was asked for, or where the stack has no function.
    pub(super) async fn desk(&self, site: &Site, screen: &Screen) -> Result<Box<dyn Desk>, Failure> {
        let function = self.function.as_deref().or_else(|| site.function());
        match function {
            Some(function) if !self.direct => return Ok(Box::new(FunctionDesk::new(site.config(), function))),
            Some(_) => {}
            None => screen.note("the stack has no operators' function: the work is done here, with your own permissions"),
        }
        Ok(Box::new(DirectDesk::open(site, function).await?))
    }

    /// The same as arguments, for a command that goes on.
    pub(super) fn arguments(&self) -> Vec<String> {
        let options = [("--stack", &self.stack), ("--function", &self.function)];
        let named = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?])).flatten();
        named.chain(self.direct.then(|| "--direct".to_owned())).collect()
    }
}
