//! When messages come back: backoff, and the heartbeat that keeps a running job's message and lease alive.
//!
//! ```
//! use std::time::Duration;
//! use ikkai::visibility::{Backoff, visibility_seconds};
//!
//! let backoff = Backoff { base: Duration::from_secs(10), cap: Duration::from_secs(900) };
//! // Full jitter: anything between nothing and the ceiling, which doubles.
//! assert_eq!([1, 2, 3, 20].map(|attempt| backoff.ceiling(attempt).as_secs()), [10, 20, 40, 900]);
//! assert_eq!(backoff.delay(3, 0.25), Duration::from_secs(10));
//! // SQS counts whole seconds; a message never comes back before its job is due.
//! assert_eq!(visibility_seconds(Duration::from_millis(1_001)), 2);
//! ```

mod backoff;
mod heartbeat;

pub use backoff::{Backoff, MAX_VISIBILITY, visibility_seconds};
pub(crate) use heartbeat::{Heartbeat, Pace};
