//! Which API a command talks to.

use clap::Args;

use super::Failure;
use crate::local::api::{Api, ApiAddress};
use crate::local::checkout::Checkout;
use crate::local::running::{Keeper, Running, StateFiles};

/// Options of all commands that call the API.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// The API's URL; without it, the local environment of this checkout.
    #[arg(long, env = "IKKAI_API")]
    api: Option<String>,
    /// Who calls; on the local environment any name.
    #[arg(long, default_value = "developer")]
    caller: String,
}

impl Target {
    /// Whether an API was named.
    pub(super) fn is_named(&self) -> bool {
        self.api.is_some()
    }

    pub(super) fn api(&self) -> Result<Api, Failure> {
        let running = running();
        let address = match &self.api {
            Some(url) => ApiAddress::parse(url, running.as_ref().ok().map(|running| running.engine))?,
            None => ApiAddress::parse(&running?.api, None)?,
        };
        Ok(Api::new(address, &self.caller))
    }
}

/// The running environment of this checkout.
pub(super) fn running() -> Result<Running, Failure> {
    let files = StateFiles::of(&Checkout::find()?);
    match (files.keeper(), files.read()) {
        (Keeper::Process(_), Some(running)) => Ok(running),
        (Keeper::Process(_), None) => Err("the local environment is still starting; try again in a moment".into()),
        (Keeper::Nobody, _) => Err("no local environment runs in this checkout; start one with `ikkai local up`".into()),
    }
}
