//! `ikkai local check`: measures, feature by feature, what an engine does as AWS does.
//!
//! A [`Probe`] makes what it needs in a [`Lab`], does one thing that AWS documents, and says what it saw. Probes know nothing of each
//! other and run side by side. Everything that they make is named `ikkai-check-<run>-…`, written down in the lab's ledger before it is
//! made, and removed when the check ends, however it ends. A difference is a finding, not a failure: the check fails only where
//! something could not be measured.

mod calls;
mod clients;
mod finding;
mod fresh;
mod lab;
mod ledger;
mod messages;
mod place;
mod probe;
mod probes;
mod record;
mod runner;
mod shelf;
mod table;
mod trouble;
mod worker;

pub use clients::{Clients, local_config};
pub use finding::{Finding, Verdict};
pub use fresh::{FreshEngine, FreshError};
pub use lab::Lab;
pub use place::{Place, PlaceError, Target};
pub use probe::{Needs, Probe, all};
pub use record::{Measured, Record};
pub use runner::{Ended, run};
pub use shelf::{ShelfError, keep, page, records};
pub use table::lines;
pub use trouble::Trouble;
pub use worker::{Code, CodeError};

/// The package of the function that probes deploy.
pub const FUNCTION: &str = "check-probe";
