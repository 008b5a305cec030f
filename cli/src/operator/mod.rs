//! What an operator of a stack works with: a [`Desk`] that answers requests, wherever it is, and the way of a run from its first part to its end.
//!
//! A desk is the deployed function ([`FunctionDesk`]), or its code in this process ([`DirectDesk`]). Requests and answers are those of [`dlq_redrive::protocol`] in every case, so that
//! `aws lambda invoke` and this command say the same.

mod caller;
mod course;
mod desk;
mod direct;
pub mod figures;
mod function;
mod interrupt;
mod pace;
#[cfg(test)]
pub(crate) mod scripted;
mod site;

pub use self::caller::claimed_by;
pub use self::course::{Course, Outcome, RunRequest, Sight};
pub use self::desk::{Desk, DeskError, Reply};
pub use self::direct::DirectDesk;
pub use self::function::FunctionDesk;
pub use self::interrupt::Interrupt;
pub use self::pace::Pace;
pub use self::site::{Site, SiteError};
