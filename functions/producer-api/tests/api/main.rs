//! The API as its clients see it, on memory doubles.

mod accepting;
mod admission;
mod batches;
mod bench;
mod callbacks;
mod callers;
mod charges;
mod costs;
mod doors;
mod later;
mod limits;
mod looking;
mod privacy;
mod properties;
mod replaying;
mod sending;
mod smuggling;
