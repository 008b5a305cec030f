//! Where the job is that a command is about.

use clap::Args;

use crate::command::ending::Ending;
use crate::command::site::SiteOptions;
use crate::command::target::Target;
use crate::screen::Screen;

/// Options of all commands about one job: the API of the local environment, or a stack.
#[derive(Debug, Args)]
pub(super) struct Place {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    site: SiteOptions,
}

/// The place that was named.
pub(super) enum Named<'a> {
    /// An API on this machine.
    Api(&'a Target),
    /// A stack.
    Stack(&'a SiteOptions),
}

impl Place {
    /// The one place that was named; `Err`: two were, and it was said so. Work on another place than the one that was meant is worse than none.
    pub(super) fn named(&self, screen: &Screen) -> Result<Named<'_>, Ending> {
        match (self.target.is_named(), self.site.is_named()) {
            (true, true) => {
                screen.note(
                    "error: both an API and a stack are named, and a job is in one of them; nothing was done. Leave out `--api` \
                     (IKKAI_API), or `--stack`, `--function` and `--direct` (IKKAI_STACK)",
                );
                Err(Ending::Usage)
            }
            (false, true) => Ok(Named::Stack(&self.site)),
            (_, false) => Ok(Named::Api(&self.target)),
        }
    }
}
