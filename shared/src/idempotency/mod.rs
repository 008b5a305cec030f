//! Idempotency: one record a job, written only under conditions.
//!
//! - [`JobRecord`] is the item, [`Event`] everything that can happen to it, [`transition`] the one place that decides;
//! - [`JobStore`] keeps records; [`MemoryStore`] and [`DynamoStore`] pass the same conformance suite
//!   (`testing::conformance`, with feature `testing`);
//! - [`Ledger`] is what consumers and the producer call: it applies events through a store and knows how a lost answer looks.

mod dynamodb;
mod event;
mod ledger;
mod memory;
mod record;
mod store;
mod transition;
mod view;

pub use dynamodb::DynamoStore;
pub use event::{
    Certainty, Claim, ClaimRules, EffectPolicy, Ending, Event, Failing, Outcome, PutBack, Resolution, Takeover, Verdict,
};
pub use ledger::{Decision, Ledger};
pub use memory::MemoryStore;
pub use record::{ErrorClass, JobRecord, LastError, Status};
pub use store::{Created, FirstClaim, Guard, JobStore, Replaced, StoreError};
pub(crate) use transition::was_put_back;
pub use transition::{NOT_DUE_TOLERANCE, PUT_BACK_MARGIN, Transition, transition};
pub use view::{JobView, JobViews};
