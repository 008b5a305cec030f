//! When messages come back: backoff, and the heartbeat that keeps a running job's message and lease alive.

mod backoff;
mod heartbeat;

pub use backoff::{Backoff, MAX_VISIBILITY, visibility_seconds};
pub(crate) use heartbeat::{Heartbeat, Pace};
