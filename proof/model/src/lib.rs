//! The job protocol, checked exhaustively.
//!
//! A [`World`](world::World) is a state: the job's record, its messages, workers, requests and operators at a step of their work. [`Protocol::moves`](moves::Protocol::moves)
//! lists everything that can happen next, with crashes, lost answers and leases that end, as often as a [`Scope`](scope::Scope) allows. Whatever changes the record is decided
//! by the library's own [`transition`](ikkai::idempotency::transition()), see [`asking`], and whatever guards a write is the library's own
//! [`Guard`](ikkai::idempotency::Guard).
//!
//! `stateright` judges the properties of states ([`checker`]); that an end can always be reached is judged by a search of its own ([`search`]).
//! A [`Variant`] lacks one rule, and must be found broken.

pub mod asking;
pub mod book;
pub mod checker;
pub mod diagram;
pub mod flaw;
pub mod moves;
pub mod property;
pub mod report;
pub mod scope;
pub mod search;
pub mod times;
pub mod token;
pub mod what;
pub mod why;
pub mod words;
pub mod world;

mod answer;
mod canonical;
mod operator;
mod passing;
mod quick;
mod request;
mod run;
mod variant;
mod worker;

pub use variant::Variant;
